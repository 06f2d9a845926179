//! Deletes: an object is removed at once, or when it has no finalizer left.

use std::sync::Arc;

use serde_json::{Value, json};

use super::kinds::{Kind, Trait};
use super::objects::{InterfaceRef, Objects, Written};
use super::refusal::Refusal;
use super::write::{count, finalizers};

impl Objects {
    pub(super) fn delete(
        &mut self,
        place: InterfaceRef<'_>,
        options: &Value,
    ) -> Result<Written, Refusal> {
        let kind = place.kind;
        let before = self.get(place)?;
        let meta = &before.value["metadata"];
        preconditions(place, meta, &options["preconditions"])?;
        let mut after = Value::clone(&before.value);
        hold(&mut after, options);
        let grace = grace(kind, &after, options);
        let goes = grace == 0 && finalizers(&after).is_empty();
        if goes && !kind.is(Trait::EndsGracefully) {
            self.store.remove(&place.key());
            return Ok(Written::Success(deleted(place, meta)));
        }
        let already = meta["deletionGracePeriodSeconds"].as_u64();
        if already.is_none_or(|already| grace < already) {
            if already.is_none() {
                count(&mut after);
            }
            after["metadata"]["deletionTimestamp"] = json!(self.clock.after(grace));
            after["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
        }
        let after = if after == *before.value {
            before
        } else {
            self.store.put(place.key(), after)
        };
        if goes {
            // An object with a grace period is shown once more when it ends.
            self.store.remove(&place.key());
            return Ok(Written::Object(after.at(self.store.version())));
        }
        Ok(Written::Object(Arc::clone(&after)))
    }
}

fn preconditions(place: InterfaceRef<'_>, meta: &Value, wanted: &Value) -> Result<(), Refusal> {
    for (field, name, then) in [
        ("uid", "UID", "deleted and then recreated"),
        ("resourceVersion", "ResourceVersion", "modified"),
    ] {
        if let Some(asked) = wanted[field].as_str()
            && meta[field] != asked
        {
            let found = meta[field].as_str().unwrap_or_default();
            let why = format!(
                "the {name} in the precondition ({asked}) does not match the {name} in record ({found}). The \
                 object might have been {then}"
            );
            return Err(Refusal::conflict_on_kind(place.kind, place.name, &why));
        }
    }
    Ok(())
}

/// Adds the finalizer of the propagation policy of a delete: dependents are deleted first, later, or never.
fn hold(object: &mut Value, options: &Value) {
    let finalizer = match options["propagationPolicy"].as_str() {
        Some("Foreground") => "foregroundDeletion",
        Some("Orphan") => "orphan",
        _ => return,
    };
    let mut list = finalizers(object);
    if !list.contains(&finalizer) {
        list.push(finalizer);
        object["metadata"]["finalizers"] = json!(list);
    }
}

/// The grace period of a pod. Other objects have none.
fn grace(kind: &Kind, object: &Value, options: &Value) -> u64 {
    let phase = object["status"]["phase"].as_str();
    let ended = matches!(phase, Some("Succeeded" | "Failed"));
    let node = object["spec"]["nodeName"].as_str();
    let bound = node.is_some_and(|node| !node.is_empty());
    if !kind.is(Trait::EndsGracefully) || ended || !bound {
        return 0;
    }
    let asked = options["gracePeriodSeconds"].as_u64();
    asked
        .or_else(|| object["spec"]["terminationGracePeriodSeconds"].as_u64())
        .unwrap_or(30)
}

fn deleted(place: InterfaceRef<'_>, meta: &Value) -> Value {
    let kind = place.kind;
    let mut details = json!({"name": place.name, "kind": kind.plural, "uid": meta["uid"]});
    if !kind.group.is_empty() {
        details["group"] = json!(kind.group);
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
