//! S3: a guarded write has exactly the version that it was decided from.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::Broken;
use super::objects::text;
use crate::api_server::{Entry, Verb};
use crate::decisions::Decided;
use crate::replicas::is_ours;

/// Process, resource, namespace and name.
type Object<'a> = (&'a str, &'a str, &'a str, &'a str);

/// The version that the write is guarded by.
fn guard(entry: &Entry) -> Option<&str> {
    let body: &Value = &entry.request.body;
    let pointer = match entry.request.verb {
        Verb::Patch | Verb::Update => "/metadata/resourceVersion",
        Verb::Delete => "/preconditions/resourceVersion",
        _ => return None,
    };
    Some(text(body, pointer)).filter(|version| !version.is_empty())
}

/// The writer, and the object that it wrote.
fn object(entry: &Entry) -> Object<'_> {
    let request = &entry.request;
    (
        &request.user,
        &request.resource,
        &request.namespace,
        &request.name,
    )
}

/// The last decision about the object until then.
fn last<'a>(
    decided: &BTreeMap<Object<'a>, Vec<&'a Decided>>,
    object: Object<'a>,
    by: Duration,
) -> Option<&'a Decided> {
    let of = decided.get(&object)?;
    let count = of.partition_point(|decided| decided.at <= by);
    of.get(count.checked_sub(1)?).copied()
}

/// Checks every guarded write that was sent, with any outcome: its version is the one that it was decided from, or the
/// one after the previous write in the same step.
pub(super) fn from_what_was_decided(history: &[Entry], decided: &[Decided]) -> Result<(), Broken> {
    let mut by_object: BTreeMap<Object<'_>, Vec<&Decided>> = BTreeMap::new();
    for one in decided {
        let object: Object<'_> = (&one.user, &one.resource, &one.namespace, &one.name);
        by_object.entry(object).or_default().push(one);
    }
    // The version after the last write of each object by each process, and when that write was sent.
    let mut left: BTreeMap<Object<'_>, (Duration, &str)> = BTreeMap::new();
    for entry in history {
        let request = &entry.request;
        if !is_ours(&request.user) || request.resource == "leases" || !request.verb.writes() {
            continue;
        }
        let object = object(entry);
        if let Some(version) = guard(entry) {
            let from = last(&by_object, object, entry.arrived);
            let same_step = left.get(&object).is_some_and(|(sent, left)| {
                from.is_some_and(|from| *sent >= from.at) && *left == version
            });
            if from.is_none_or(|from| from.version != version) && !same_step {
                return Err(Broken {
                    at: entry.arrived,
                    sentence: format!(
                        "S3: {}'s {} of {} {} is guarded by version {version}, and was decided from {}",
                        request.user,
                        request.verb,
                        request.resource,
                        request.name,
                        from.map_or("none", |from| &from.version),
                    ),
                });
            }
        }
        let done = entry.outcome.as_ref().filter(|done| done.code < 300);
        if let Some(done) = done {
            let version = text(&done.body, "/metadata/resourceVersion");
            left.insert(object, (entry.arrived, version));
        }
    }
    Ok(())
}
