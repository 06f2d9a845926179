//! The effect of a create or an update on an object.

use serde_json::{Map, Value, json};

use super::kinds::{Kind, Trait};
use super::refusal::Refusal;
use super::schema;

/// The fields that only the server sets.
const SERVER_FIELDS: [&str; 5] = [
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
];

/// The part of an object that an update changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Everything except the status, if the kind has the subresource `status`.
    Object,
    Status,
}

/// A new object, before it has a version.
pub(super) fn created(kind: &Kind, mut object: Value, uid: &str, now: &str) -> Value {
    object["apiVersion"] = json!(kind.api_version());
    object["kind"] = json!(kind.name);
    let meta = &mut object["metadata"];
    for name in SERVER_FIELDS {
        remove(meta, name);
    }
    meta["uid"] = json!(uid);
    meta["creationTimestamp"] = json!(now);
    if kind.is(Trait::Generation) {
        meta["generation"] = json!(1);
    }
    // A kubelet registers its node together with its status.
    if kind.is(Trait::Status) && kind.plural != "nodes" {
        remove(&mut object, "status");
    }
    if kind.plural == "pods" {
        object["status"] = json!({"phase": "Pending"});
        let spec = &mut object["spec"];
        if spec["terminationGracePeriodSeconds"].is_null() {
            spec["terminationGracePeriodSeconds"] = json!(30);
        }
    }
    if let Some(schema) = kind.schema {
        schema::tidy(&mut object, schema);
    }
    tidy(&mut object);
    object
}

/// The object after an update to `wanted`. Its version is not changed yet.
pub(super) fn updated(
    kind: &Kind,
    before: &Value,
    wanted: Value,
    part: Part,
) -> Result<Value, Refusal> {
    let name = before["metadata"]["name"].as_str().unwrap_or_default();
    let uid = &wanted["metadata"]["uid"];
    if !uid.is_null() && *uid != before["metadata"]["uid"] {
        let why = format!("Invalid value: {uid}: field is immutable");
        return Err(Refusal::invalid(kind, name, "metadata.uid", &why));
    }
    let mut after = match part {
        Part::Object => whole(kind, before, wanted)?,
        Part::Status => status(kind, before, wanted),
    };
    for field in ["apiVersion", "kind"] {
        after[field] = before[field].clone();
    }
    for field in SERVER_FIELDS
        .into_iter()
        .chain(["name", "namespace", "resourceVersion"])
    {
        copy(&before["metadata"], &mut after["metadata"], field);
    }
    if let Some(schema) = kind.schema {
        schema::tidy(&mut after, schema);
    }
    tidy(&mut after);
    no_new_finalizers(kind, name, before, &after)?;
    if kind.is(Trait::Generation) && part == Part::Object && specified(before) != specified(&after)
    {
        count(&mut after);
    }
    Ok(after)
}

fn whole(kind: &Kind, before: &Value, mut wanted: Value) -> Result<Value, Refusal> {
    if kind.is(Trait::Status) {
        copy(before, &mut wanted, "status");
    }
    if kind.plural == "pods" && before["spec"]["nodeName"] != wanted["spec"]["nodeName"] {
        let name = before["metadata"]["name"].as_str().unwrap_or_default();
        let why = "Forbidden: pod updates may not change fields other than \
                   `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
                   `spec.tolerations` (only additions to existing tolerations),\
                   `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
        return Err(Refusal::invalid(kind, name, "spec", why));
    }
    Ok(wanted)
}

fn status(kind: &Kind, before: &Value, wanted: Value) -> Value {
    if kind.schema.is_some() {
        let mut after = before.clone();
        copy(&wanted, &mut after, "status");
        return after;
    }
    // For built-in kinds, labels and annotations can be written together with the status.
    let mut after = wanted;
    copy(before, &mut after, "spec");
    copy(
        &before["metadata"],
        &mut after["metadata"],
        "ownerReferences",
    );
    after
}

fn no_new_finalizers(
    kind: &Kind,
    name: &str,
    before: &Value,
    after: &Value,
) -> Result<(), Refusal> {
    if before["metadata"]["deletionTimestamp"].is_null() {
        return Ok(());
    }
    let old = finalizers(before);
    let new: Vec<_> = finalizers(after)
        .into_iter()
        .filter(|finalizer| !old.contains(finalizer))
        .collect();
    if new.is_empty() {
        return Ok(());
    }
    let list: Vec<_> = new
        .iter()
        .map(|finalizer| format!("{finalizer:?}"))
        .collect();
    let why = format!(
        "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \
         []string{{{}}}",
        list.join(", ")
    );
    Err(Refusal::invalid(kind, name, "metadata.finalizers", &why))
}

/// The finalizers of an object that is being deleted.
pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    let list = object["metadata"]["finalizers"].as_array();
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Increases the generation.
pub(super) fn count(object: &mut Value) {
    let generation = &mut object["metadata"]["generation"];
    if let Some(number) = generation.as_u64() {
        *generation = json!(number + 1);
    }
}

/// The fields whose changes increase the generation.
fn specified(object: &Value) -> Map<String, Value> {
    let fields = object.as_object().into_iter().flatten();
    fields
        .filter(|(name, _)| !matches!(name.as_str(), "metadata" | "status"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Removes empty maps and lists of the metadata.
fn tidy(object: &mut Value) {
    remove(&mut object["metadata"], "managedFields");
    if let Value::Object(meta) = &mut object["metadata"] {
        meta.retain(|_, value| match value {
            Value::Null => false,
            Value::Array(items) => !items.is_empty(),
            Value::Object(fields) => {
                fields.retain(|_, value| !value.is_null());
                !fields.is_empty()
            }
            _ => true,
        });
    }
}

fn copy(from: &Value, to: &mut Value, field: &str) {
    match from.get(field) {
        Some(value) => to[field] = value.clone(),
        None => remove(to, field),
    }
}

fn remove(object: &mut Value, field: &str) {
    if let Value::Object(fields) = object {
        fields.remove(field);
    }
}
