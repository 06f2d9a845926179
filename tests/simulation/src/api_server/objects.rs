//! Writes of one object: when they are executed, and when they are refused.

use std::sync::Arc;

use serde_json::{Value, json};

use super::clock::Clock;
use super::kinds::{Kind, Trait};
use super::patch::{PatchKind, patched};
use super::refusal::Refusal;
use super::store::{Key, Object, Store};
use super::write::{Part, created, finalizers, updated};

/// The answer to a write.
#[derive(Debug)]
pub(super) enum Written {
    /// The object was created.
    Created(Arc<Object>),
    /// The present object, or its last version.
    Object(Arc<Object>),
    /// Success without an object.
    Success(Value),
}

/// The objects, and the source of new UIDs.
#[derive(Debug)]
pub(super) struct Objects {
    pub(super) store: Store,
    pub(super) clock: Clock,
    /// Whether a foreign webhook reverts the present update.
    pub(super) reverted: bool,
    /// The counter for UIDs. Unlike versions it is never set back, so that no UID is used twice.
    identities: u64,
}

/// The object of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct InterfaceRef<'a> {
    pub(super) kind: &'static Kind,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

impl InterfaceRef<'_> {
    pub(super) fn key(&self) -> Key {
        Key::new(self.kind, self.namespace, self.name)
    }
}

impl Objects {
    pub(super) const fn new(clock: Clock) -> Self {
        Self {
            store: Store::new(),
            clock,
            reverted: false,
            identities: 0,
        }
    }

    pub(super) fn get(&self, place: InterfaceRef<'_>) -> Result<Arc<Object>, Refusal> {
        let found = self.store.get(&place.key());
        found
            .cloned()
            .ok_or_else(|| Refusal::not_found(place.kind, place.name))
    }

    pub(super) fn create(
        &mut self,
        kind: &'static Kind,
        namespace: &str,
        object: Value,
    ) -> Result<Written, Refusal> {
        let version = object["metadata"]["resourceVersion"].as_str();
        if version.is_some_and(|version| !version.is_empty()) {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Refusal {
                reason: "",
                ..Refusal::new(500, message)
            });
        }
        self.make(kind, namespace, object)
    }

    fn make(
        &mut self,
        kind: &'static Kind,
        namespace: &str,
        mut object: Value,
    ) -> Result<Written, Refusal> {
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
        place: InterfaceRef<'_>,
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
                return Err(mismatch(place, uid, ""));
            }
            return self.make(kind, place.namespace, object);
        };
        let current = before.value["metadata"]["uid"].as_str().unwrap_or_default();
        if !uid.is_empty() && uid != current {
            return Err(mismatch(place, uid, current));
        }
        if version.is_empty() && kind.is(Trait::VersionNeeded) {
            let why = "Invalid value: 0: must be specified for an update";
            return Err(Refusal::invalid_resource(
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
        place: InterfaceRef<'_>,
        part: Part,
        how: PatchKind,
        patch: &Value,
    ) -> Result<Written, Refusal> {
        let before = self.get(place)?;
        let object = patched(place.kind, &before.value, how, patch)?;
        self.update(place, part, &before, object)
    }

    /// Assigns a pod to a node, as a scheduler does.
    pub(super) fn bind(
        &mut self,
        place: InterfaceRef<'_>,
        binding: &Value,
    ) -> Result<Written, Refusal> {
        let before = self.get(place)?;
        let mut pod = Value::clone(&before.value);
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            let why = format!(
                "pod {} is being deleted, cannot be assigned to a host",
                place.name
            );
            return Err(Refusal::conflict_on("pods/binding", place.name, &why));
        }
        if let Some(node) = pod["spec"]["nodeName"].as_str() {
            let why = format!("pod {} is already assigned to node \"{node}\"", place.name);
            return Err(Refusal::conflict_on("pods/binding", place.name, &why));
        }
        pod["spec"]["nodeName"] = binding["target"]["name"].clone();
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
        place: InterfaceRef<'_>,
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
        if self.reverted || after == *before.value {
            return Ok(Written::Object(Arc::clone(before)));
        }
        let meta = &after["metadata"];
        let ending = !meta["deletionTimestamp"].is_null()
            && meta["deletionGracePeriodSeconds"]
                .as_u64()
                .unwrap_or_default()
                == 0;
        if ending && finalizers(&after).is_empty() && !finalizers(&before.value).is_empty() {
            // The last finalizer was removed: the answer is the requested object, which was never stored.
            self.store.remove(&place.key());
            return Ok(Written::Object(Object::new(after)));
        }
        Ok(Written::Object(self.store.put(place.key(), after)))
    }
}

fn mismatch(place: InterfaceRef<'_>, asked: &str, found: &str) -> Refusal {
    let InterfaceRef {
        kind,
        namespace,
        name,
    } = place;
    let group = if kind.schema.is_some() {
        kind.group
    } else {
        ""
    };
    let path = [group, kind.plural, namespace, name];
    let path: Vec<&str> = path.into_iter().filter(|part| !part.is_empty()).collect();
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {asked}, UID in object meta: {found}",
        path.join("/")
    );
    Refusal::conflict(kind, name, &why)
}
