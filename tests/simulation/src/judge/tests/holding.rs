//! A holder keeps its address, and no assigned address is released.

use ec2_emulator::wire::Action;
use serde_json::{Value, json};

use super::*;

fn asking(version: u64, uid: &str) -> Entry {
    let annotations = json!({"ip.wgtwo.com/ip": "web", "ip.wgtwo.com/ip-uid": "ip"});
    with(
        pod(version, uid, false),
        "/metadata/annotations",
        annotations,
    )
}

fn going(version: u64, uid: &str) -> Entry {
    let mut meta = asking(version, uid).outcome.unwrap().body["metadata"].clone();
    meta["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    with(asking(version, uid), "/metadata", meta)
}

fn away(version: u64) -> Entry {
    let taints = json!([{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]);
    let spec = json!({"providerID": "aws:///z/i-1", "taints": taints});
    with(
        write(version, "nodes", "a", "", guarded(), node_body()),
        "/spec",
        spec,
    )
}

fn node_body() -> Value {
    Value::clone(&node().outcome.unwrap().body)
}

fn free(version: u64) -> Entry {
    let claim = claim(version, "one", "eni-1", false, none());
    with(claim, "/status/claimed", json!(false))
}

/// A history in which pod "one" holds the address, followed by these events.
fn then(what: impl IntoIterator<Item = Entry>) -> Vec<Entry> {
    let mut history = vec![
        node(),
        asking(2, "one"),
        claim(3, "one", "eni-1", false, none()),
        claim(4, "one", "eni-1", true, none()),
    ];
    history.extend(what);
    history
}

fn taken_by_two(version: u64) -> Entry {
    let before = json!([{"address": ADDRESS, "networkInterfaceID": "eni-1"}]);
    claim(version, "two", "eni-2", false, before)
}

#[test]
fn an_address_that_leaves_a_running_pod_is_found() {
    let history = then([asking(5, "two"), taken_by_two(6)]);
    found(&history, &[], "S5");
    found(&then([free(5)]), &[], "S5");
}

#[test]
fn an_address_can_leave_a_deleted_pod_or_one_without_the_annotation() {
    let ended = with(asking(5, "one"), "/status", json!({"phase": "Failed"}));
    for left in [pod(5, "one", false), ended] {
        found(&then([left, taken_by_two(6)]), &[], "nothing happened");
    }
}

#[test]
fn a_terminating_pod_keeps_its_address_while_its_node_is_healthy() {
    found(&then([going(5, "one"), taken_by_two(6)]), &[], "S5");
    let dead = then([going(5, "one"), away(6), taken_by_two(7)]);
    found(&dead, &[], "nothing happened");
}

#[test]
fn an_address_that_goes_to_a_node_that_is_away_is_found() {
    let history = [
        node(),
        away(2),
        asking(3, "one"),
        free(4),
        claim(20, "one", "eni-1", false, none()),
    ];
    found(&history, &[], "S5");
}

#[test]
fn a_gate_of_a_pod_that_no_record_named_is_found() {
    let again = pod(5, "another-of-that-name", true);
    found(&then([again]), &[], "S1");
}

#[test]
fn an_address_that_is_released_while_assigned_is_found() {
    let history = [
        node(),
        asking(2, "one"),
        claim(3, "one", "eni-1", false, none()),
        free(5),
    ];
    found(&history, &[assign(3, "eni-1", None)], "S5");
    let off = Call {
        action: Action::UnassignPrivateIpAddresses,
        ..assign(4, "eni-1", None)
    };
    let calls = [assign(3, "eni-1", None), off];
    found(&history, &calls, "nothing happened");
}
