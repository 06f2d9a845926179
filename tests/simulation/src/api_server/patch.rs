//! The three types of patches.

use serde_json::{Map, Value, json};

use super::kinds::Kind;
use super::refusal::Refusal;

/// A patch, by its content type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// RFC 7386.
    Merge,
    /// RFC 6902.
    Json,
    /// Strategic merge patch of Kubernetes: lists are merged by key.
    Strategic,
}

impl PatchKind {
    pub(super) fn of(content_type: &str) -> Option<Self> {
        match content_type {
            "application/merge-patch+json" => Some(Self::Merge),
            "application/json-patch+json" => Some(Self::Json),
            "application/strategic-merge-patch+json" => Some(Self::Strategic),
            _ => None,
        }
    }

    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Merge => "application/merge-patch+json",
            Self::Json => "application/json-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
        }
    }
}

/// The patched object.
pub(super) fn patched(
    kind: &Kind,
    object: &Value,
    how: PatchKind,
    patch: &Value,
) -> Result<Value, Refusal> {
    let mut after = object.clone();
    match how {
        PatchKind::Merge => json_patch::merge(&mut after, patch),
        PatchKind::Strategic if kind.schema.is_some() => {
            return Err(unknown_format());
        }
        PatchKind::Strategic => strategic(&mut after, patch),
        PatchKind::Json => {
            let patch: json_patch::Patch = serde_json::from_value(patch.clone())
                .map_err(|error| Refusal::bad_request(error.to_string()))?;
            json_patch::patch(&mut after, &patch).map_err(|_| {
                let message = "the server rejected our request due to an error in our request";
                Refusal {
                    details: json!({}),
                    ..Refusal::new(422, message)
                }
            })?;
        }
    }
    Ok(after)
}

/// The patch type is not supported.
pub(super) fn unknown_format() -> Refusal {
    let message = "the body of the request was in an unknown format - accepted media types include: \
                   application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
    Refusal::new(415, message)
}

/// The key that identifies the items of a list, for the lists that are merged.
fn merge_key(list: &str) -> Option<&'static str> {
    match list {
        "conditions" | "addresses" => Some("type"),
        "ownerReferences" => Some("uid"),
        "containers" | "initContainers" | "volumes" | "env" => Some("name"),
        "taints" => Some("key"),
        _ => None,
    }
}

fn strategic(object: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let Value::Object(fields) = object else {
        return;
    };
    for (name, value) in patch {
        if name.starts_with('$') {
            continue;
        }
        match value {
            Value::Null => {
                fields.remove(name);
            }
            Value::Object(_) => strategic(fields.entry(name).or_insert(Value::Null), value),
            Value::Array(items) => {
                let before = fields.get(name).and_then(Value::as_array);
                let before = before.cloned().unwrap_or_default();
                let after = match merge_key(name) {
                    Some(key) => merged(before, items, key),
                    None if name == "finalizers" => joined(before, items),
                    None => items.clone(),
                };
                fields.insert(name.clone(), Value::Array(after));
            }
            other => {
                fields.insert(name.clone(), other.clone());
            }
        }
    }
}

fn merged(list: Vec<Value>, items: &[Value], key: &str) -> Vec<Value> {
    let mut changed = Vec::new();
    for item in items.iter().filter(|item| item["$patch"] != "delete") {
        let old = list.iter().find(|old| old[key] == item[key]);
        let mut new = old.cloned().unwrap_or_default();
        strategic(&mut new, item);
        changed.push(new);
    }
    ordered(list, changed, items, |one, other| one[key] == other[key])
}

fn joined(list: Vec<Value>, items: &[Value]) -> Vec<Value> {
    ordered(list, items.to_vec(), items, |one, other| one == other)
}

/// The merged list: the kept items and the items of the patch, each in their own order. New items come before the kept
/// ones.
fn ordered(
    list: Vec<Value>,
    changed: Vec<Value>,
    items: &[Value],
    same: impl Fn(&Value, &Value) -> bool,
) -> Vec<Value> {
    let before = list.clone();
    let place = |item: &Value| before.iter().position(|old| same(old, item));
    let stays = list
        .into_iter()
        .filter(|old| !items.iter().any(|item| same(old, item)));
    let (mut stays, mut after) = (stays.peekable(), Vec::new());
    for item in changed {
        let here = place(&item);
        while let Some(old) = stays.next_if(|old| here.is_some_and(|here| place(old) < Some(here)))
        {
            after.push(old);
        }
        after.push(item);
    }
    after.extend(stays);
    after
}
