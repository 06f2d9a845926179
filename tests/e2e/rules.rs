//! The rules that every history has to keep, and that they catch a history that does not.

use std::collections::BTreeMap;

use jiff::Timestamp;
use libtest_mimic::Trial;
use mooring_cluster::{AuditEvent, Mutation};
use serde_json::{Value, json};

use crate::promises::{GATE, condition};

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}

/// The object is gone with this answer, not only told to go.
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

/// A pod's gate said True, from the answer to the write that opened it to the request that closed it: for so long
/// at least.
pub struct Span {
    pod: String,
    address: String,
    from: Timestamp,
    to: Timestamp,
}

/// S1: at any time at most one pod says True for an address. When each did.
pub fn one_holder(audit: &[AuditEvent], namespace: &str) -> Vec<Span> {
    // Pods by UID.
    let mut open: BTreeMap<String, Span> = BTreeMap::new();
    let mut closed = Vec::new();
    // IP's UID -> its address.
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
            // The name is enough for an end: another pod of that name cannot have come before this one went.
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
            "S1: {address} is said to be attached by {holders:?} at once, after {} {} at {}",
            event.verb,
            event.uri,
            event.answered,
        );
    }
    closed.extend(open.into_values());
    closed
}

/// S1: nobody says that an address is attached while EC2 is told to move it or to take it off.
pub fn silenced_before(mutation: &Mutation, spans: &[Span]) {
    let at = i64::try_from(mutation.unix_ms).unwrap_or(i64::MAX);
    let liar = spans.iter().find(|span| {
        mutation.addresses.contains(&span.address)
            && span.from.as_millisecond() < at
            && at < span.to.as_millisecond()
    });
    if let Some(span) = liar {
        panic!(
            "S1: pod {} said True all the while that this was executed: {mutation:?}",
            span.pod
        );
    }
}

/// S2, S3: the status of the IP whose address it is named this interface in a write begun before EC2 executed
/// the call, and a claim's pod was bound to the claim's node.
pub fn claimed_before(mutation: &Mutation, audit: &[AuditEvent]) {
    let Some(interface) = mutation.network_interface_id.as_deref() else {
        return;
    };
    for address in &mutation.addresses {
        let explains = |event: &&AuditEvent| {
            event.resource == "ips"
                && event.is_write()
                && u64::try_from(event.received.as_millisecond()).unwrap_or_default()
                    <= mutation.unix_ms
                && names(&event.response["status"], interface, address)
        };
        let claim = audit.iter().rev().find(explains).unwrap_or_else(|| {
            panic!("S3: {mutation:?} was executed, and no status named {interface} for {address} before")
        });
        let status = &claim.response["status"];
        let is_target = status["networkInterfaceID"] == interface;
        if mutation.action.starts_with("Assign") && is_target {
            bound_there(status, audit);
        }
    }
}

/// Whether a status explains the address on that interface.
pub fn names(status: &Value, interface: &str, address: &str) -> bool {
    (status["networkInterfaceID"] == interface && status["address"] == address)
        || status["previous"].as_array().is_some_and(|previous| {
            previous.iter().any(|place| {
                place["networkInterfaceID"] == interface && place["address"] == address
            })
        })
}

/// S2: the pod that a claim names was bound to the node that it names.
fn bound_there(status: &Value, audit: &[AuditEvent]) {
    let (Some(uid), Some(node)) = (status["podUID"].as_str(), status["node"].as_str()) else {
        panic!("S2: an Assign under a claim without pod or node: {status}");
    };
    let bound = audit.iter().any(|event| {
        event.resource == "pods"
            && event.is_write()
            && text(&event.response, "/metadata/uid") == Some(uid)
            && text(&event.response, "/spec/nodeName") == Some(node)
    });
    assert!(
        bound,
        "S2: pod {uid} was never seen on {node}, which the claim names: {status}"
    );
}

/// Where something was attached, both histories tell of it: a judge without a history finds nothing.
pub fn not_empty(mutations: &[Mutation], audit: &[AuditEvent]) {
    assert!(
        !mutations.is_empty(),
        "something was attached, and EC2's history is empty"
    );
    assert!(
        audit
            .iter()
            .any(|event| event.by_mooring() && event.condition(GATE) == Some("True")),
        "something was attached, and the audit log shows no gate that Mooring opened"
    );
}

/// Histories that break a rule are found to.
pub fn scenes() -> Vec<Trial> {
    let histories: [(&str, fn()); 7] = [
        ("two_pods_that_say_true_at_once_are_found", || {
            one_holder(&[claim(0), gate(1, "one"), gate(2, "two")], "scene");
        }),
        ("a_call_without_a_claim_is_found", || {
            claimed_before(&assign(5), &[gate(1, "one")]);
        }),
        ("a_claim_after_the_call_is_found", || {
            claimed_before(&assign(5), &[bound(0), claim(9)]);
        }),
        ("a_call_behind_an_open_gate_is_found", || {
            let spans = one_holder(&[claim(0), gate(1, "one")], "scene");
            silenced_before(&assign(5), &spans);
        }),
        (
            "a_loser_that_is_told_after_the_winners_assign_is_found",
            || {
                let spans = one_holder(&[claim(0), gate(1, "one"), closed(9, "one")], "scene");
                silenced_before(&assign(5), &spans);
            },
        ),
        ("an_empty_history_of_ec2_is_found", || {
            not_empty(&[], &[claim(0), by_mooring(gate(1, "one"))]);
        }),
        ("an_audit_log_without_mooring_is_found", || {
            not_empty(&[assign(5)], &[claim(0), gate(1, "one")]);
        }),
    ];
    let kept = Trial::test("e2e::rules::a_history_that_keeps_the_rules_passes", || {
        let audit = [bound(0), claim(1), by_mooring(gate(7, "one"))];
        claimed_before(&assign(5), &audit);
        silenced_before(&assign(5), &one_holder(&audit, "scene"));
        let told = [claim(0), gate(1, "one"), closed(4, "one")];
        silenced_before(&assign(5), &one_holder(&told, "scene"));
        not_empty(&[assign(5)], &audit);
        Ok(())
    });
    let histories = histories
        .into_iter()
        .map(|(name, play)| broken(&format!("rules::{name}"), play));
    histories.chain([kept]).collect()
}

/// A planted history in which a rule has to find something.
pub fn broken(name: &str, play: fn()) -> Trial {
    Trial::test(
        format!("e2e::{name}"),
        move || match std::panic::catch_unwind(play) {
            Err(_) => Ok(()),
            Ok(()) => Err("nothing was found".into()),
        },
    )
}

/// The address of the planted histories.
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
