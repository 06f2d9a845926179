//! All changes of objects: read the object, check that it is the one that the decision was made for, and write the
//! change, guarded by what was read.

use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use mooring_plan::names::ResourceVersion;
use serde_json::{Value, json};

use super::timeout::with_timeout;
use crate::api::read::{Fields, Reduced};
use crate::controller::error::Failure;

/// The guard of a write.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Guard<'a> {
    /// The UID of the object: an object of the same name with another UID is not changed.
    pub(super) uid: Option<&'a str>,
    /// The version that the decision was made from. None: any version.
    pub(super) version: Option<ResourceVersion>,
}

/// Which part of an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subresource {
    /// Metadata and spec.
    Object,
    /// The status, by a merge.
    Status,
    /// The status, with lists merged by their key.
    StatusByKey,
}

/// How an object was changed.
#[derive(Debug)]
pub(super) enum PatchOutcome {
    /// The change was made, or was not necessary. The present object.
    Done(DynamicObject),
    /// The object does not exist, or another object has its name.
    Gone,
    /// The object has another version than the guard. The present object.
    Changed(DynamicObject),
}

/// Changes an object by the patch that `change` returns. None from `change`: no change is necessary.
pub(super) async fn patch<F: Fields>(
    api: &Api<Reduced<F>>,
    object: &str,
    name: &str,
    guard: Guard<'_>,
    subresource: Subresource,
    change: impl FnOnce(&DynamicObject) -> Result<Option<Value>, serde_json::Error>,
) -> Result<PatchOutcome, Failure> {
    patch_known(None, api, object, name, guard, subresource, change).await
}

/// As [`patch`], but without a read if `known` is given: the parts of the object that `change` needs. They must be of
/// the version in the guard.
pub(super) async fn patch_known<F: Fields>(
    known: Option<DynamicObject>,
    api: &Api<Reduced<F>>,
    object: &str,
    name: &str,
    guard: Guard<'_>,
    subresource: Subresource,
    change: impl FnOnce(&DynamicObject) -> Result<Option<Value>, serde_json::Error>,
) -> Result<PatchOutcome, Failure> {
    let (before, is_whole) = match known {
        Some(known) => (known, false),
        None => match check(api, object, name, guard).await? {
            PatchOutcome::Done(before) => (before, true),
            other => return Ok(other),
        },
    };
    let patch = change(&before).map_err(|source| Failure::Json {
        doing: format!("changing {object}"),
        source,
    })?;
    let Some(patch) = patch else {
        return if is_whole {
            Ok(PatchOutcome::Done(before))
        } else {
            check(api, object, name, guard).await
        };
    };
    let guard = Guard {
        uid: before.metadata.uid.as_deref(),
        ..guard
    };
    send(api, object, name, guard, subresource, patch).await
}

/// Sends a patch with its guard. Reads the object only if the patch was refused.
pub(super) async fn send<F: Fields>(
    api: &Api<Reduced<F>>,
    object: &str,
    name: &str,
    guard: Guard<'_>,
    subresource: Subresource,
    mut patch: Value,
) -> Result<PatchOutcome, Failure> {
    // An object that was known before a restoration from a backup. The API server takes 0 for any version.
    if guard.version == Some(ResourceVersion(0)) {
        return check(api, object, name, guard).await;
    }
    if let Value::Object(patch) = &mut patch {
        let meta = patch.entry("metadata").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            meta.insert("uid".to_owned(), json!(guard.uid));
            if let Some(version) = guard.version {
                meta.insert("resourceVersion".to_owned(), json!(version.to_string()));
            }
        }
    }
    let params = PatchParams::default();
    let doing = || format!("changing {object}");
    let done = match subresource {
        Subresource::Object => {
            with_timeout(doing, api.patch(name, &params, &Patch::Merge(&patch))).await
        }
        Subresource::Status => {
            with_timeout(
                doing,
                api.patch_status(name, &params, &Patch::Merge(&patch)),
            )
            .await
        }
        Subresource::StatusByKey => {
            with_timeout(
                doing,
                api.patch_status(name, &params, &Patch::Strategic(&patch)),
            )
            .await
        }
    };
    match done {
        Ok(after) => Ok(PatchOutcome::Done(after.into())),
        // The API server answers a wrong UID with 409 or 422, as other errors too: read the object to find out.
        Err(failure)
            if failure
                .status()
                .is_some_and(|status| matches!(status.code, 409 | 422)) =>
        {
            match check(api, object, name, guard).await {
                Ok(PatchOutcome::Done(_)) | Err(_) => Err(failure),
                Ok(other) => Ok(other),
            }
        }
        Err(failure) if failure.is_not_found() => Ok(PatchOutcome::Gone),
        Err(failure) => Err(failure),
    }
}

/// Reads the object and compares it with the guard. `Done`: it matches.
async fn check<F: Fields>(
    api: &Api<Reduced<F>>,
    object: &str,
    name: &str,
    guard: Guard<'_>,
) -> Result<PatchOutcome, Failure> {
    let found = with_timeout(|| format!("reading {object}"), api.get_opt(name)).await?;
    let Some(found) = found.map(DynamicObject::from) else {
        return Ok(PatchOutcome::Gone);
    };
    if guard
        .uid
        .is_some_and(|uid| found.metadata.uid.as_deref() != Some(uid))
    {
        return Ok(PatchOutcome::Gone);
    }
    let version = guard.version.map(|version| version.to_string());
    if version.is_some() && version != found.metadata.resource_version {
        return Ok(PatchOutcome::Changed(found));
    }
    Ok(PatchOutcome::Done(found))
}

/// A patch that adds or removes a finalizer. None: no change is necessary.
pub(super) fn finalizers(object: &DynamicObject, finalizer: &str, wanted: bool) -> Option<Value> {
    let present = object.metadata.finalizers.clone().unwrap_or_default();
    if present.iter().any(|entry| entry == finalizer) == wanted {
        return None;
    }
    let mut next: Vec<String> = present
        .into_iter()
        .filter(|entry| entry != finalizer)
        .collect();
    if wanted {
        next.push(finalizer.to_owned());
    }
    Some(json!({"metadata": {"finalizers": next}}))
}

#[cfg(test)]
mod tests {
    use super::finalizers;
    use kube::api::DynamicObject;
    use serde_json::{Value, json};

    fn object(finalizers: &Value) -> DynamicObject {
        let object =
            json!({"apiVersion": "v1", "kind": "X", "metadata": {"finalizers": finalizers}});
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn others_finalizers_stay_and_what_is_so_is_not_written() {
        let (ours, both) = (object(&json!(["ours"])), object(&json!(["theirs", "ours"])));
        let theirs = object(&json!(["theirs"]));
        assert_eq!(finalizers(&both, "ours", true), None);
        assert_eq!(finalizers(&theirs, "ours", false), None);
        assert_eq!(
            finalizers(&theirs, "ours", true),
            Some(json!({"metadata": {"finalizers": ["theirs", "ours"]}}))
        );
        assert_eq!(
            finalizers(&both, "ours", false),
            Some(json!({"metadata": {"finalizers": ["theirs"]}}))
        );
        assert_eq!(
            finalizers(&ours, "ours", false),
            Some(json!({"metadata": {"finalizers": []}}))
        );
    }
}
