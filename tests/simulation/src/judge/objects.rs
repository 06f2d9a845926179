//! The fields of objects that the rules use.

use std::net::Ipv4Addr;

use serde_json::Value;

use crate::api_server::{RequestInfo, Verb};

/// The readiness gate of Mooring.
const GATE: &str = "ip.wgtwo.com/attached";

/// The text at this path. Empty if it does not exist.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The address of the IP.
pub(super) fn address(ip: &Value) -> &str {
    text(ip, "/status/address")
}

/// Whether the gate of the pod is `True`.
pub(super) fn reports_attached(pod: &Value) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    conditions.is_some_and(|conditions| {
        conditions.iter().any(|one| {
            one["type"] == GATE && one["status"] == "True" && one["reason"] != "NotRequested"
        })
    })
}

/// The UID of the IP that the pod asks for.
pub(super) fn ip_of(pod: &Value) -> &str {
    pod["metadata"]["annotations"]["ip.wgtwo.com/ip-uid"]
        .as_str()
        .unwrap_or_default()
}

/// Whether the status explains the address on that interface.
#[must_use]
pub fn explains(ip: &Value, address: Ipv4Addr, interface: &str) -> bool {
    let (status, address) = (&ip["status"], address.to_string());
    let at =
        |place: &Value| place["networkInterfaceID"] == interface && place["address"] == *address;
    at(status)
        || status["previous"]
            .as_array()
            .is_some_and(|places| places.iter().any(at))
}

/// Whether the object is gone after this answer, and not only marked as deleted.
pub(super) fn is_end(request: &RequestInfo, answer: &Value) -> bool {
    let deletes = request.verb == Verb::Delete;
    if answer["kind"] == "Status" {
        return deletes;
    }
    let meta = &answer["metadata"];
    let held = meta["finalizers"]
        .as_array()
        .is_some_and(|held| !held.is_empty());
    if held {
        return false;
    }
    if request.resource == "pods" {
        // The answer shows the object before the deletion.
        return deletes && request.body["gracePeriodSeconds"] == 0;
    }
    deletes || !meta["deletionTimestamp"].is_null()
}
