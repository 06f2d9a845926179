//! S2 and S4: when EC2 executes a call, the present status explains it, and no address is taken from an interface
//! that the status does not explain.

use std::collections::BTreeMap;

use libtest_mimic::Trial;
use mooring_cluster::{AuditEvent, Mutation};
use serde_json::{Value, json};

use crate::harness::judge::rules::{ADDRESS, assign, broken, claim, names, write};

/// A location can be used for a claim while its inventory is younger than this (docs/design/protocol.md, section 1).
/// With `reassign: true` an address may be taken from an interface that got it after that inventory.
const FRESH_MS: u64 = 10_000;

/// S2, S4: a status that was present when EC2 executed the call explains it. `history` has all calls with the
/// addresses of the scene, also those of foreign clients.
pub fn explained(mutation: &Mutation, history: &[Mutation], audit: &[AuditEvent]) {
    let Some(interface) = mutation.network_interface_id.as_deref() else {
        return;
    };
    if mutation.result != "Success" {
        return;
    }
    let statuses = in_force(mutation.unix_ms, audit);
    for address in &mutation.addresses {
        let explains = |interface: &str| {
            let mut statuses = statuses.iter();
            statuses.any(|status| names(status, interface, address))
        };
        assert!(
            explains(interface),
            "S2: no status named {interface} for {address} when this call was executed: {mutation:?}; present: \
             {:?}",
            of(address, &statuses),
        );
        let Some(taken) = mutation.found_on.get(address) else {
            continue;
        };
        assert!(
            explains(taken) || assigned_recently(address, taken, mutation, history),
            "S4: {address} was taken from {taken}, which no status named: {mutation:?}; present: {:?}",
            of(address, &statuses),
        );
    }
}

/// S4: a call that may take the address from another interface is for an IP with `reassign: true`.
pub fn may_steal(mutation: &Mutation, audit: &[AuditEvent]) {
    if mutation.allow_reassignment != Some(true) {
        return;
    }
    for address in &mutation.addresses {
        let says_so = |event: &AuditEvent| {
            event.resource == "ips"
                && event.is_write()
                && event.response["spec"]["reassign"] == true
                && event.response["status"]["address"] == *address
        };
        assert!(
            audit.iter().any(says_so),
            "S4: no IP of {address} ever had reassign: true, and this call could take it from any interface: {mutation:?}"
        );
    }
}

/// The statuses that could be present at a moment: for each IP the last one that was surely written, and those
/// whose write was in progress.
fn in_force(at: u64, audit: &[AuditEvent]) -> Vec<&Value> {
    let millis = |time: jiff::Timestamp| u64::try_from(time.as_millisecond()).unwrap_or_default();
    let mut of_ip: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for event in audit {
        let uid = event.response["metadata"]["uid"].as_str();
        let (true, true, Some(uid)) = (event.resource == "ips", event.is_write(), uid) else {
            continue;
        };
        // The answers to the garbage collector have only metadata.
        let whole = event.response["kind"] != "PartialObjectMetadata";
        if !whole || millis(event.received) > at {
            continue;
        }
        let statuses = of_ip.entry(uid).or_default();
        if millis(event.answered) < at {
            statuses.clear();
        }
        statuses.push(&event.response["status"]);
    }
    of_ip.into_values().flatten().collect()
}

/// The present statuses that contain an address, for the message of a failure.
fn of<'a>(address: &str, statuses: &[&'a Value]) -> Vec<&'a Value> {
    let named = statuses
        .iter()
        .filter(|status| status.to_string().contains(address));
    named.copied().collect()
}

/// With `reassign: true` the last inventory is used: it did not show the address on this interface yet.
fn assigned_recently(
    address: &str,
    interface: &str,
    taken: &Mutation,
    history: &[Mutation],
) -> bool {
    let came = history.iter().rfind(|mutation| {
        mutation.sequence < taken.sequence
            && mutation.action.starts_with("Assign")
            && mutation.result == "Success"
            && mutation.network_interface_id.as_deref() == Some(interface)
            && mutation.addresses.iter().any(|other| other == address)
    });
    taken.allow_reassignment == Some(true)
        && came.is_some_and(|came| taken.unix_ms <= came.unix_ms + FRESH_MS)
}

/// Histories that violate a rule.
pub fn scenes() -> Vec<Trial> {
    let kept: fn() = || {
        let audit = [claim(1), moved(2)];
        explained(&assign(1), &[], &audit);
        explained(&unassign(4), &[], &audit);
        explained(&takes(5, "eni-1"), &[], &audit);
        explained(
            &takes(5, "eni-9"),
            &[by_other(3, "eni-9")],
            &[claim(1), moved(2)],
        );
        may_steal(&takes(5, "eni-1"), &[reassigning(moved(2))]);
        may_steal(&assign(5), &[moved(2)]);
    };
    vec![
        Trial::test(
            "e2e::harness::judge::explained::a_history_that_the_statuses_explain_passes",
            move || {
                kept();
                Ok(())
            },
        ),
        broken(
            "harness::judge::explained::an_address_taken_from_a_foreign_interface_is_found",
            || {
                explained(&takes(5, "eni-9"), &[], &[claim(1), moved(2)]);
            },
        ),
        broken(
            "harness::judge::explained::an_address_taken_from_an_old_foreign_place_is_found",
            || {
                let long_ago = [by_other(3, "eni-9")];
                explained(&takes(60, "eni-9"), &long_ago, &[claim(1), moved(2)]);
            },
        ),
        broken(
            "harness::judge::explained::an_address_taken_without_reassign_is_found",
            || {
                let mut taken = takes(5, "eni-9");
                taken.allow_reassignment = Some(false);
                explained(&taken, &[by_other(3, "eni-9")], &[claim(1), moved(2)]);
            },
        ),
        broken(
            "harness::judge::explained::a_reassigning_call_without_an_ip_that_allows_it_is_found",
            || may_steal(&takes(5, "eni-1"), &[claim(1), moved(2)]),
        ),
        broken(
            "harness::judge::explained::an_unassign_after_the_status_was_cleared_is_found",
            || {
                explained(&unassign(4), &[], &[claim(1), cleared(2)]);
            },
        ),
        broken(
            "harness::judge::explained::an_assign_of_a_former_claim_is_found",
            || {
                explained(&assign(4), &[], &[claim(1), cleared(2)]);
            },
        ),
        broken(
            "harness::judge::explained::a_move_without_the_previous_place_is_found",
            || {
                let mut forgetful = moved(2);
                forgetful.response["status"]["previous"] = json!([]);
                explained(&takes(5, "eni-1"), &[], &[claim(1), forgetful]);
            },
        ),
    ]
}

fn status(second: i64, status: Value) -> AuditEvent {
    let mut event = write(second, "ips", "web", json!({"metadata": {"uid": "ip"}}));
    event.response["status"] = status;
    event
}

/// A claim of the second interface; its status also names the previous place.
fn moved(second: i64) -> AuditEvent {
    let previous = json!([{"address": ADDRESS, "networkInterfaceID": "eni-1"}]);
    let claim = json!({"address": ADDRESS, "networkInterfaceID": "eni-2", "podUID": "two", "node": "b",
        "previous": previous});
    status(second, claim)
}

fn reassigning(mut event: AuditEvent) -> AuditEvent {
    event.response["spec"] = json!({"reassign": true});
    event
}

fn cleared(second: i64) -> AuditEvent {
    status(second, json!({"address": ADDRESS}))
}

fn unassign(second: u64) -> Mutation {
    let mut mutation = assign(second);
    "UnassignPrivateIpAddresses".clone_into(&mut mutation.action);
    mutation
}

/// An Assign to the second interface that took the address from another.
fn takes(second: u64, from: &str) -> Mutation {
    let mut mutation = assign(second);
    mutation.sequence = second;
    mutation.network_interface_id = Some("eni-2".to_owned());
    mutation.allow_reassignment = Some(true);
    mutation.found_on = [(ADDRESS.to_owned(), from.to_owned())].into();
    mutation
}

fn by_other(second: u64, interface: &str) -> Mutation {
    let mut mutation = assign(second);
    mutation.sequence = second;
    mutation.network_interface_id = Some(interface.to_owned());
    mutation
}
