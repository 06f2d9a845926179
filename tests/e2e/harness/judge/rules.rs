//! The rules for every history, and tests that each rule finds a violation.

use std::collections::BTreeMap;

use jiff::Timestamp;
use libtest_mimic::Trial;
use mooring_cluster::{AuditEvent, Mutation};
use serde_json::{Value, json};

use crate::harness::expectations::{GATE, condition};
use crate::harness::judge::writes::Writes;

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}

/// Does this response mean that the object is gone, not only marked for deletion?
pub fn is_end(event: &AuditEvent) -> bool {
    event.verb == "delete"
        && event.subresource.is_empty()
        && (event.response["kind"] == "Status"
            || event.request["gracePeriodSeconds"] == 0
            || event
                .response
                .pointer("/metadata/deletionGracePeriodSeconds")
                == Some(&0.into()))
}

/// A period in which the gate of a pod was certainly `True`: from the response to the write of `True` until the request
/// that ended it.
pub struct Span {
    pod: String,
    address: String,
    from: Timestamp,
    to: Timestamp,
}

/// S1: at any time at most one gate is `True` for an address. Returns the periods.
pub fn one_holder(audit: &[AuditEvent], namespace: &str) -> Vec<Span> {
    // Pods by UID.
    let mut open: BTreeMap<String, Span> = BTreeMap::new();
    let mut closed = Vec::new();
    // UID of the IP -> its address.
    let mut addresses: BTreeMap<String, String> = BTreeMap::new();
    for event in audit.iter().filter(|event| event.is_write()) {
        if event.resource == "ips" {
            let uid = text(&event.response, "/metadata/uid");
            let address = text(&event.response, "/status/address");
            if let (Some(uid), Some(address)) = (uid, address) {
                addresses.insert(uid.to_owned(), address.to_owned());
            }
        }
        if event.resource != "pods" || event.namespace != namespace {
            continue;
        }
        let uid = text(&event.response, "/metadata/uid");
        let holds = !is_end(event)
            && matches!(condition(&event.response, GATE), Some(("True", reason, _)) if reason != "NotRequested");
        if !holds {
            // The name is enough: another pod with this name can only exist after the end of this pod.
            let ends = |of: &String, span: &Span| {
                event.verb == "deletecollection"
                    || (is_end(event) && span.pod == event.name)
                    || Some(of.as_str()) == uid
            };
            let shut = open.extract_if(.., |of, span| ends(of, span));
            closed.extend(shut.map(|(_, span)| Span {
                to: event.received,
                ..span
            }));
            continue;
        }
        let ip = event.response["metadata"]["annotations"]["ip.wgtwo.com/ip-uid"].as_str();
        let (Some(uid), Some(address)) = (uid, ip.and_then(|ip| addresses.get(ip))) else {
            continue;
        };
        open.entry(uid.to_owned()).or_insert_with(|| Span {
            pod: event.name.clone(),
            address: address.clone(),
            from: event.answered,
            to: Timestamp::MAX,
        });
        let holders: Vec<&str> = open
            .values()
            .filter(|span| span.address == *address)
            .map(|span| span.pod.as_str())
            .collect();
        assert!(
            holders.len() == 1,
            "S1: the gates of {holders:?} are True for {address} at the same time, after {} {} at {}",
            event.verb,
            event.uri,
            event.answered,
        );
    }
    closed.extend(open.into_values());
    closed
}

/// S1: no gate is `True` for an address while EC2 executes a call that moves or detaches it.
pub fn gate_false_before(mutation: &Mutation, spans: &[Span]) {
    let at = i64::try_from(mutation.unix_ms).unwrap_or(i64::MAX);
    let violation = spans.iter().find(|span| {
        mutation.addresses.contains(&span.address)
            && span.from.as_millisecond() < at
            && at < span.to.as_millisecond()
    });
    if let Some(span) = violation {
        panic!(
            "S1: the gate of pod {} was True while this call was executed: {mutation:?}",
            span.pod
        );
    }
}

/// An Assign of addresses that are on the interface already: the call before, for each of them, was the same one. Two
/// active controllers both make it.
pub fn changes_nothing(mutation: &Mutation, history: &[Mutation]) -> bool {
    let is_same = |address: &String| {
        let mut earlier = history.iter().filter(|other| {
            other.sequence < mutation.sequence
                && other.result == "Success"
                && other.addresses.contains(address)
        });
        earlier.next_back().is_some_and(|other| {
            other.action == mutation.action
                && other.network_interface_id == mutation.network_interface_id
        })
    };
    mutation.action == "AssignPrivateIpAddresses" && mutation.addresses.iter().all(is_same)
}

/// S2, S3: before EC2 executed the call, a write of the status of the IP named this interface, and the pod of the
/// claim was bound to the node of the claim.
pub fn claimed_before(mutation: &Mutation, writes: &Writes<'_>) {
    let Some(interface) = mutation.network_interface_id.as_deref() else {
        return;
    };
    for address in &mutation.addresses {
        let explains = |event: &&&AuditEvent| {
            u64::try_from(event.received.as_millisecond()).unwrap_or_default() <= mutation.unix_ms
                && names(&event.response["status"], interface, address)
        };
        let claims = writes.of_ips_naming(address);
        let claims = claims.filter_map(|of_ip| of_ip.iter().rev().find(explains));
        let claim = claims.max_by_key(|claim| claim.received).unwrap_or_else(|| {
            panic!("S3: {mutation:?} was executed, and before it no status named {interface} for {address}")
        });
        let status = &claim.response["status"];
        let is_target = status["networkInterfaceID"] == interface;
        if mutation.action.starts_with("Assign") && is_target {
            bound_there(status, writes);
        }
    }
}

/// Does the status name this interface as the place, or a previous place, of the address?
pub fn names(status: &Value, interface: &str, address: &str) -> bool {
    (status["networkInterfaceID"] == interface && status["address"] == address)
        || status["previous"].as_array().is_some_and(|previous| {
            previous.iter().any(|place| {
                place["networkInterfaceID"] == interface && place["address"] == address
            })
        })
}

/// S2: the pod of a claim was bound to the node of the claim.
fn bound_there(status: &Value, writes: &Writes<'_>) {
    let (Some(uid), Some(node)) = (status["podUID"].as_str(), status["node"].as_str()) else {
        panic!("S2: an Assign with a claim that has no pod or no node: {status}");
    };
    assert!(
        writes.was_bound(uid, node),
        "S2: pod {uid} was never on {node}, which the claim names: {status}"
    );
}

/// If an address was attached, both histories contain it. Without a history the judge finds no violation.
pub fn not_empty(mutations: &[Mutation], audit: &[AuditEvent]) {
    assert!(
        !mutations.is_empty(),
        "an address was attached, and the history of EC2 is empty"
    );
    assert!(
        has_open_gate(audit),
        "an address was attached, and the audit log has no gate that Mooring set to True"
    );
}

/// Does the audit log contain a gate that Mooring set to True?
pub fn has_open_gate(audit: &[AuditEvent]) -> bool {
    let mut events = audit.iter();
    events.any(|event| event.by_mooring() && event.condition(GATE) == Some("True"))
}

/// Histories that violate a rule.
pub fn scenes() -> Vec<Trial> {
    let histories: [(&str, fn()); 7] = [
        ("two_pods_with_a_true_gate_are_found", || {
            one_holder(&[claim(0), gate(1, "one"), gate(2, "two")], "scene");
        }),
        ("a_call_without_a_claim_is_found", || {
            claimed_before(&assign(5), &Writes::of(&[gate(1, "one")]));
        }),
        ("a_claim_after_the_call_is_found", || {
            claimed_before(&assign(5), &Writes::of(&[bound(0), claim(9)]));
        }),
        ("a_call_while_a_gate_is_true_is_found", || {
            let spans = one_holder(&[claim(0), gate(1, "one")], "scene");
            gate_false_before(&assign(5), &spans);
        }),
        (
            "a_gate_of_a_loser_that_is_false_after_the_assign_is_found",
            || {
                let spans = one_holder(&[claim(0), gate(1, "one"), closed(9, "one")], "scene");
                gate_false_before(&assign(5), &spans);
            },
        ),
        ("an_empty_history_of_ec2_is_found", || {
            not_empty(&[], &[claim(0), by_mooring(gate(1, "one"))]);
        }),
        ("an_audit_log_without_mooring_is_found", || {
            not_empty(&[assign(5)], &[claim(0), gate(1, "one")]);
        }),
    ];
    let kept = Trial::test(
        "e2e::harness::judge::rules::a_history_that_keeps_the_rules_passes",
        || {
            let audit = [bound(0), claim(1), by_mooring(gate(7, "one"))];
            claimed_before(&assign(5), &Writes::of(&audit));
            gate_false_before(&assign(5), &one_holder(&audit, "scene"));
            let closed_before = [claim(0), gate(1, "one"), closed(4, "one")];
            gate_false_before(&assign(5), &one_holder(&closed_before, "scene"));
            not_empty(&[assign(5)], &audit);
            let again = Mutation {
                sequence: 2,
                ..assign(5)
            };
            assert!(changes_nothing(&again, &[assign(3)]));
            let off = Mutation {
                action: "UnassignPrivateIpAddresses".to_owned(),
                ..assign(3)
            };
            assert!(!changes_nothing(&again, &[off]));
            assert!(!changes_nothing(&again, &[]));
            Ok(())
        },
    );
    let histories = histories
        .into_iter()
        .map(|(name, check)| broken(&format!("harness::judge::rules::{name}"), check));
    histories.chain([kept]).collect()
}

/// A history in which a rule must find a violation.
pub fn broken(name: &str, check: fn()) -> Trial {
    Trial::test(
        format!("e2e::{name}"),
        move || match std::panic::catch_unwind(check) {
            Err(_) => Ok(()),
            Ok(()) => Err("the rule found no violation".into()),
        },
    )
}

/// The address of these histories.
pub const ADDRESS: &str = "10.0.0.10";

/// A write that was answered with this object.
pub fn write(second: i64, resource: &str, name: &str, response: Value) -> AuditEvent {
    let at = Timestamp::from_second(second).expect("a small number");
    AuditEvent {
        annotations: std::collections::BTreeMap::new(),
        verb: "patch".to_owned(),
        user: String::new(),
        agent: String::new(),
        group: String::new(),
        resource: resource.to_owned(),
        subresource: "status".to_owned(),
        namespace: "scene".to_owned(),
        name: name.to_owned(),
        uri: String::new(),
        code: 200,
        causes: Vec::new(),
        received: at,
        answered: at,
        request: Value::Null,
        response,
    }
}

/// A claim of the first interface.
pub fn claim(second: i64) -> AuditEvent {
    let status =
        json!({"address": ADDRESS, "networkInterfaceID": "eni-1", "podUID": "one", "node": "a"});
    write(
        second,
        "ips",
        "web",
        json!({"metadata": {"uid": "ip"}, "status": status}),
    )
}

fn bound(second: i64) -> AuditEvent {
    let pod = json!({"metadata": {"uid": "one"}, "spec": {"nodeName": "a"}});
    write(second, "pods", "one", pod)
}

fn gate(second: i64, pod: &str) -> AuditEvent {
    let conditions = json!([{"type": GATE, "status": "True", "reason": "Attached"}]);
    let metadata = json!({"uid": pod, "annotations": {"ip.wgtwo.com/ip-uid": "ip"}});
    write(
        second,
        "pods",
        pod,
        json!({"metadata": metadata, "status": {"conditions": conditions}}),
    )
}

fn closed(second: i64, pod: &str) -> AuditEvent {
    let mut event = gate(second, pod);
    event.response["status"]["conditions"][0]["status"] = "False".into();
    event
}

fn by_mooring(event: AuditEvent) -> AuditEvent {
    let user = "system:serviceaccount:mooring-system:mooring".to_owned();
    AuditEvent { user, ..event }
}

/// An Assign to the first interface.
pub fn assign(second: u64) -> Mutation {
    serde_json::from_value(json!({
        "sequence": 1, "unix_ms": second * 1000, "action": "AssignPrivateIpAddresses",
        "network_interface_id": "eni-1", "addresses": [ADDRESS], "result": "Success",
    }))
    .expect("this is a mutation")
}
