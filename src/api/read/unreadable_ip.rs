//! An `IP` whose status cannot be read: reads the parts that are known, and writes a condition that reports it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition as Written, Time};
use kube::core::DynamicObject;
use mooring_plan::names::{IpName, IpUid};
use mooring_plan::objects::{Condition, UnreadableIp, UnreadableReport};
use mooring_plan::reason::Reason;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::version_of;
use crate::api::conditions::{READY, find, put};

/// Reads the known parts. None: the identity cannot be read either.
#[must_use]
pub fn unreadable_ip(object: &DynamicObject, problem: String) -> Option<UnreadableIp> {
    let meta = &object.metadata;
    let report = match object.data.get("status") {
        Some(Value::Object(_)) => find(&conditions(object), READY)
            .filter(|ready| ready.status == "False" && ready.reason == Reason::Invalid.as_str())
            .map_or(UnreadableReport::Nothing, |ready| {
                UnreadableReport::Unreadable(ready.message.clone())
            }),
        _ => UnreadableReport::NotWritable,
    };
    Some(UnreadableIp {
        name: IpName::from(meta.name.as_deref()?),
        uid: IpUid::from(meta.uid.as_deref()?),
        version: version_of(meta).ok()?,
        problem,
        report,
    })
}

/// The merge patch that reports it. It changes only the conditions of the status. None: there is no status.
#[must_use]
pub fn unreadable_ip_patch(object: &DynamicObject, message: &str, now: &Time) -> Option<Value> {
    let mut conditions = conditions(object);
    let ready = Condition {
        status: false,
        reason: Reason::Invalid,
        message: message.to_owned(),
        generation: object.metadata.generation.unwrap_or_default(),
    };
    put(&mut conditions, READY, &ready, now);
    let status = object
        .data
        .get("status")
        .filter(|status| status.is_object());
    status.map(|_| json!({"status": {"conditions": conditions}}))
}

/// The conditions that can be read. The others are lost, which only loses messages.
fn conditions(object: &DynamicObject) -> Vec<Written> {
    let written = object.data.pointer("/status/conditions");
    let written = written.and_then(Value::as_array).into_iter().flatten();
    written
        .filter_map(|condition| Written::deserialize(condition).ok())
        .collect()
}
