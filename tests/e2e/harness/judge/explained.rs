//! S2 and S4: when EC2 executes a call, the current status of the IP explains it. No address is taken from an interface
//! that the status does not explain.

use libtest_mimic::Trial;
use mooring_cluster::{AuditEvent, Mutation};
use serde_json::{Value, json};

use crate::harness::judge::rules::{ADDRESS, assign, broken, claim, names, write};
use crate::harness::judge::writes::Writes;

/// A location can be used for a claim while its inventory is younger than this (docs/design/protocol.md, section 1).
/// With `reassign: true` an address may be taken from an interface that got it after that inventory.
const FRESH_MS: u64 = 10_000;

/// S2, S4: the status at the time when EC2 executed the call explains it. `history` has all calls with the addresses of
/// the scene, including those of foreign clients.
pub fn explained(mutation: &Mutation, history: &[Mutation], writes: &Writes<'_>) {
    let Some(interface) = mutation.network_interface_id.as_deref() else {
        return;
    };
    if mutation.result != "Success" {
        return;
    }
    for address in &mutation.addresses {
        let statuses = in_force(address, mutation.unix_ms, writes);
        let explains = |interface: &str| {
            let mut statuses = statuses.iter();
            statuses.any(|status| names(status, interface, address))
        };
        assert!(
            explains(interface),
            "S2: no status named {interface} for {address} when this call was executed: {mutation:?}; present: \
             {statuses:?}",
        );
        let Some(taken) = mutation.found_on.get(address) else {
            continue;
        };
        assert!(
            explains(taken) || assigned_recently(address, taken, mutation, history),
            "S4: {address} was taken from {taken}, which no status named: {mutation:?}; present: {statuses:?}",
        );
    }
}

/// S4: a call that may take the address from another interface is for an IP with `reassign: true`.
pub fn may_steal(mutation: &Mutation, writes: &Writes<'_>) {
    if mutation.allow_reassignment != Some(true) {
        return;
    }
    for address in &mutation.addresses {
        let says_so = |event: &&AuditEvent| {
            event.response["spec"]["reassign"] == true
                && event.response["status"]["address"] == *address
        };
        assert!(
            writes.of_ips_naming(address).flatten().any(says_so),
            "S4: no IP of {address} ever had reassign: true, and this call could take it from any interface: {mutation:?}"
        );
    }
}

/// The statuses that could be stored at this time: for each IP that ever named the address, the last one that was
/// certainly written, and those whose write was in progress.
fn in_force<'a>(address: &str, at: u64, writes: &Writes<'a>) -> Vec<&'a Value> {
    let millis = |time: jiff::Timestamp| u64::try_from(time.as_millisecond()).unwrap_or_default();
    let stored = |of_ip: &[&'a AuditEvent]| {
        let mut statuses = Vec::new();
        for event in of_ip {
            // The responses to the garbage collector contain only metadata.
            let whole = event.response["kind"] != "PartialObjectMetadata";
            if !whole || millis(event.received) > at {
                continue;
            }
            if millis(event.answered) < at {
                statuses.clear();
            }
            statuses.push(&event.response["status"]);
        }
        statuses
    };
    writes.of_ips_naming(address).flat_map(stored).collect()
}

/// Did the interface get the address so recently that the last inventory may not show it yet? With `reassign: true` a
/// call can then take it.
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
        let writes = Writes::of(&audit);
        explained(&assign(1), &[], &writes);
        explained(&unassign(4), &[], &writes);
        explained(&takes(5, "eni-1"), &[], &writes);
        explained(&takes(5, "eni-9"), &[by_other(3, "eni-9")], &writes);
        may_steal(&takes(5, "eni-1"), &Writes::of(&[reassigning(moved(2))]));
        may_steal(&assign(5), &Writes::of(&[moved(2)]));
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
                explained(&takes(5, "eni-9"), &[], &Writes::of(&[claim(1), moved(2)]));
            },
        ),
        broken(
            "harness::judge::explained::an_address_taken_from_an_old_foreign_place_is_found",
            || {
                let long_ago = [by_other(3, "eni-9")];
                explained(
                    &takes(60, "eni-9"),
                    &long_ago,
                    &Writes::of(&[claim(1), moved(2)]),
                );
            },
        ),
        broken(
            "harness::judge::explained::an_address_taken_without_reassign_is_found",
            || {
                let mut taken = takes(5, "eni-9");
                taken.allow_reassignment = Some(false);
                explained(
                    &taken,
                    &[by_other(3, "eni-9")],
                    &Writes::of(&[claim(1), moved(2)]),
                );
            },
        ),
        broken(
            "harness::judge::explained::a_reassigning_call_without_an_ip_that_allows_it_is_found",
            || may_steal(&takes(5, "eni-1"), &Writes::of(&[claim(1), moved(2)])),
        ),
        broken(
            "harness::judge::explained::an_unassign_after_the_status_was_cleared_is_found",
            || {
                explained(&unassign(4), &[], &Writes::of(&[claim(1), cleared(2)]));
            },
        ),
        broken(
            "harness::judge::explained::an_assign_of_a_former_claim_is_found",
            || {
                explained(&assign(4), &[], &Writes::of(&[claim(1), cleared(2)]));
            },
        ),
        broken(
            "harness::judge::explained::a_move_without_the_previous_place_is_found",
            || {
                let mut forgetful = moved(2);
                forgetful.response["status"]["previous"] = json!([]);
                explained(&takes(5, "eni-1"), &[], &Writes::of(&[claim(1), forgetful]));
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
