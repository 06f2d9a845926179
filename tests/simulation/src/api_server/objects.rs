//! Writes of one object: when they are done, and when they are refused.

use std::sync::Arc;

use serde_json::{Value, json};

use super::clock::Clock;
use super::kinds::{Kind, Trait};
use super::patch::{PatchKind, patched};
use super::refusal::Refusal;
use super::store::{Key, Object, Store};
use super::write::{Part, count, created, finalizers, updated};

/// What a write answers with.
#[derive(Debug)]
pub(super) enum Written {
    /// It was made.
    Created(Arc<Object>),
    /// As it is now, or was last.
    Object(Arc<Object>),
    /// It is done, and there is no object to show.
    Success(Value),
}

/// The objects, and where new identities come from.
#[derive(Debug)]
pub(super) struct Objects {
    pub(super) store: Store,
    pub(super) clock: Clock,
    /// Never goes back, unlike versions: no UID is given twice.
    identities: u64,
}

/// Which object a request is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) kind: &'static Kind,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

impl Place<'_> {
    fn key(&self) -> Key {
        Key::new(self.kind, self.namespace, self.name)
    }
}

impl Objects {
    pub(super) const fn new(clock: Clock) -> Self {
        Self {
            store: Store::new(),
            clock,
            identities: 0,
        }
    }

    pub(super) fn get(&self, place: Place<'_>) -> Result<Arc<Object>, Refusal> {
        let found = self.store.get(&place.key());
        found
            .cloned()
            .ok_or_else(|| Refusal::not_found(place.kind, place.name))
    }

    pub(super) fn create(
        &mut self,
        kind: &'static Kind,
        namespace: &str,
        mut object: Value,
    ) -> Result<Written, Refusal> {
        let version = object["metadata"]["resourceVersion"].as_str();
        if version.is_some_and(|version| !version.is_empty()) {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Refusal::new(500, message));
        }
        self.identities += 1;
        let name = if let Some(name) = object["metadata"]["name"].as_str() {
            name.to_owned()
        } else {
            let prefix = object["metadata"]["generateName"].as_str();
            let prefix = prefix.ok_or_else(|| {
                let why = "Required value: name or generateName is required";
                Refusal::invalid(kind, "", "metadata.name", why)
            })?;
            format!("{prefix}{:05}", self.identities)
        };
        object["metadata"]["name"] = json!(name);
        if kind.is(Trait::Namespaced) {
            object["metadata"]["namespace"] = json!(namespace);
        }
        let key = Key::new(kind, namespace, &name);
        if self.store.get(&key).is_some() {
            return Err(Refusal::already_exists(kind, &name));
        }
        let uid = format!("00000000-0000-4000-8000-{:012x}", self.identities);
        let object = created(kind, object, &uid, &self.clock.now());
        Ok(Written::Created(self.store.put(key, object)))
    }

    pub(super) fn replace(
        &mut self,
        place: Place<'_>,
        part: Part,
        object: Value,
    ) -> Result<Written, Refusal> {
        let (kind, name) = (place.kind, place.name);
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let (uid, version) = (text("uid"), text("resourceVersion"));
        let Some(before) = self.store.get(&place.key()).cloned() else {
            if !kind.is(Trait::MadeByPut) {
                return Err(Refusal::not_found(kind, name));
            }
            if !uid.is_empty() {
                return Err(mismatch(kind, name, uid, ""));
            }
            return self.create(kind, place.namespace, object);
        };
        let current = before.value["metadata"]["uid"].as_str().unwrap_or_default();
        if !uid.is_empty() && uid != current {
            return Err(mismatch(kind, name, uid, current));
        }
        if version.is_empty() && kind.is(Trait::VersionNeeded) {
            let why = "Invalid value: 0: must be specified for an update";
            return Err(Refusal::invalid(
                kind,
                name,
                "metadata.resourceVersion",
                why,
            ));
        }
        self.update(place, part, &before, object)
    }

    pub(super) fn patch(
        &mut self,
        place: Place<'_>,
        part: Part,
        how: PatchKind,
        patch: &Value,
    ) -> Result<Written, Refusal> {
        let before = self.get(place)?;
        let object = patched(place.kind, &before.value, how, patch)?;
        self.update(place, part, &before, object)
    }

    /// Assigns a pod to a node, as a scheduler does.
    pub(super) fn bind(&mut self, place: Place<'_>, binding: &Value) -> Result<Written, Refusal> {
        let before = self.get(place)?;
        let mut pod = before.value.clone();
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            let why = format!(
                "pod {} is being deleted, cannot be assigned to a host",
                place.name
            );
            return Err(Refusal::conflict(place.kind, place.name, &why));
        }
        if let Some(node) = pod["spec"]["nodeName"].as_str() {
            let why = format!("pod {} is already assigned to node \"{node}\"", place.name);
            return Err(Refusal::conflict(place.kind, place.name, &why));
        }
        pod["spec"]["nodeName"] = binding["target"]["name"].clone();
        count(&mut pod);
        let scheduled = json!({"status": {"conditions": [{
            "type": "PodScheduled", "status": "True", "lastTransitionTime": self.clock.now(),
        }]}});
        let pod = patched(place.kind, &pod, PatchKind::Strategic, &scheduled)?;
        self.store.put(place.key(), pod);
        Ok(Written::Success(json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
        })))
    }

    fn update(
        &mut self,
        place: Place<'_>,
        part: Part,
        before: &Arc<Object>,
        object: Value,
    ) -> Result<Written, Refusal> {
        let version = object["metadata"]["resourceVersion"].as_str();
        if version.is_some_and(|version| {
            !version.is_empty() && before.value["metadata"]["resourceVersion"] != version
        }) {
            return Err(Refusal::stale(place.kind, place.name));
        }
        let after = updated(place.kind, &before.value, object, part)?;
        if after == before.value {
            return Ok(Written::Object(Arc::clone(before)));
        }
        let meta = &after["metadata"];
        let ending = !meta["deletionTimestamp"].is_null()
            && meta["deletionGracePeriodSeconds"]
                .as_u64()
                .unwrap_or_default()
                == 0;
        if ending && finalizers(&after).is_empty() && !finalizers(&before.value).is_empty() {
            // The last one that held it let go: shown is what was asked for, which never was stored.
            self.store.remove(&place.key());
            return Ok(Written::Object(Object::new(after)));
        }
        Ok(Written::Object(self.store.put(place.key(), after)))
    }

    pub(super) fn delete(&mut self, place: Place<'_>, options: &Value) -> Result<Written, Refusal> {
        let (kind, name) = (place.kind, place.name);
        let before = self.get(place)?;
        let meta = &before.value["metadata"];
        for (field, wanted) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
            if let Some(asked) = options["preconditions"][field].as_str()
                && meta[field] != asked
            {
                let found = meta[field].as_str().unwrap_or_default();
                let why = format!(
                    "the {wanted} in the precondition ({asked}) does not match the {wanted} in record ({found}). \
                     The object might have been deleted and then recreated"
                );
                return Err(Refusal::conflict(kind, name, &why));
            }
        }
        let mut after = before.value.clone();
        let held = match options["propagationPolicy"].as_str() {
            Some("Foreground") => Some("foregroundDeletion"),
            Some("Orphan") => Some("orphan"),
            _ => None,
        };
        if let Some(held) = held
            && !finalizers(&after).contains(&held)
        {
            let mut list: Vec<Value> = finalizers(&after).into_iter().map(Value::from).collect();
            list.push(json!(held));
            after["metadata"]["finalizers"] = json!(list);
        }
        let grace = grace(kind, &after, options);
        if grace == 0 && finalizers(&after).is_empty() {
            self.store.remove(&place.key());
            if kind.is(Trait::EndsGracefully) {
                return Ok(Written::Object(before));
            }
            let mut details = json!({"name": name, "kind": kind.plural, "uid": meta["uid"]});
            if !kind.group.is_empty() {
                details["group"] = json!(kind.group);
            }
            return Ok(Written::Success(json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
            })));
        }
        let already = meta["deletionGracePeriodSeconds"].as_u64();
        if already.is_none_or(|already| grace < already) {
            if already.is_none() {
                count(&mut after);
            }
            after["metadata"]["deletionTimestamp"] = json!(self.clock.after(grace));
            after["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
        }
        if after == before.value {
            return Ok(Written::Object(before));
        }
        Ok(Written::Object(self.store.put(place.key(), after)))
    }
}

/// How long a pod may take to end; everything else ends at once.
fn grace(kind: &Kind, object: &Value, options: &Value) -> u64 {
    let ended = matches!(
        object["status"]["phase"].as_str(),
        Some("Succeeded" | "Failed")
    );
    let bound = object["spec"]["nodeName"]
        .as_str()
        .is_some_and(|node| !node.is_empty());
    if !kind.is(Trait::EndsGracefully) || ended || !bound {
        return 0;
    }
    let asked = options["gracePeriodSeconds"].as_u64();
    asked
        .or_else(|| object["spec"]["terminationGracePeriodSeconds"].as_u64())
        .unwrap_or(30)
}

fn mismatch(kind: &Kind, name: &str, asked: &str, found: &str) -> Refusal {
    let why =
        format!("Precondition failed: UID in precondition: {asked}, UID in object meta: {found}");
    Refusal::conflict(kind, name, &why)
}
