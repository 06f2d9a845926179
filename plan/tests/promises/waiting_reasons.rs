//! The reason that a waiting pod gets: the obstacle for which it does not have the address, in words for its user.
//! Rules: R3.31, R3.32.

use std::time::Duration;

use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{GateWrite, Step, Write};
use mooring_plan::time::Instant;

use crate::sim::{Fault, Sim};

pub const HOUR: Duration = Duration::from_hours(1);

pub fn world() -> Sim {
    Sim::reserved(&["n1", "n2"])
}

/// The gate writes of a pod, with their times.
pub fn reported<'a>(sim: &'a Sim, pod: &str) -> Vec<(Instant, &'a GateWrite)> {
    let of = sim.taken.iter().filter_map(|(at, _, step)| match step {
        Step::Write(Write::Gate(gate)) if gate.pod.name == pod => Some((*at, gate)),
        _ => None,
    });
    of.collect()
}

/// Asserts that the pod got this reason once, between two and three seconds, with these words, and also as an Event.
fn expect_gate_reason(sim: &Sim, pod: &str, from: Instant, reason: Reason, words: &str) {
    let reported = reported(sim, pod);
    let [(at, gate)] = reported[..] else {
        panic!("{reported:?}\n{}", sim.story());
    };
    let late = at.since(from).as_millis();
    assert!(
        (2000..3000).contains(&late),
        "after {late}\n{}",
        sim.story()
    );
    assert!(
        !gate.status && gate.reason == reason && gate.message.contains(words),
        "{gate:?}\n{}",
        sim.story()
    );
    sim.expect_denied(pod, reason);
    sim.expect_event(pod, reason);
}

/// A pod on n1 asks for the address, and an hour passes.
fn an_hour_of_waiting(sim: &mut Sim) -> Instant {
    let from = sim.now;
    sim.pod("a").on("n1");
    sim.wait(HOUR);
    from
}

#[test]
fn the_address_is_foreign() {
    let mut sim = world();
    sim.found_on("203.0.113.10", Some("eni-n2"));
    sim.wait(Duration::from_secs(130));
    let from = an_hour_of_waiting(&mut sim);
    expect_gate_reason(&sim, "a", from, Reason::AddressInUse, "eni-n2");
    sim.found_on("203.0.113.10", None);
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn a_missing_permission_is_shown_on_pod_and_ip() {
    let mut sim = world();
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    let from = an_hour_of_waiting(&mut sim);
    let words = "ec2:AssignPrivateIpAddresses";
    expect_gate_reason(&sim, "a", from, Reason::AccessDenied, words);
    sim.expect_reason("partner", Reason::AccessDenied);
}

#[test]
fn throttling_is_shown_on_pod_and_ip() {
    let mut sim = world();
    sim.ec2.default_fault = Some(|_| Fault::Throttled);
    let from = an_hour_of_waiting(&mut sim);
    let words = "ec2:AssignPrivateIpAddresses";
    expect_gate_reason(&sim, "a", from, Reason::Throttled, words);
    sim.expect_reason("partner", Reason::Throttled);
}

#[test]
fn a_silent_ec2_is_shown_on_pod_and_ip() {
    let mut sim = world();
    sim.ec2.default_fault = Some(|_| Fault::RequestLost);
    let from = an_hour_of_waiting(&mut sim);
    expect_gate_reason(&sim, "a", from, Reason::AttachFailed, "does not answer");
    sim.expect_reason("partner", Reason::AttachFailed);
}

#[test]
fn another_ip_tests_whether_ec2_serves_again() {
    let mut sim = world();
    sim.ip("other", "203.0.113.20");
    sim.settle();
    sim.ec2.default_fault = Some(|_| Fault::Throttled);
    sim.pod("b").on("n2").asks("other");
    sim.wait(Duration::from_secs(30));
    let from = an_hour_of_waiting(&mut sim);
    expect_gate_reason(&sim, "a", from, Reason::Throttled, "one request at a time");
}

#[test]
fn the_location_of_the_address_is_unknown() {
    for (outcome, reason) in [
        (Outcome::Denied, Reason::AccessDenied),
        (Outcome::Throttled, Reason::Throttled),
        (Outcome::Unknown, Reason::AttachFailed),
    ] {
        let mut sim = world();
        sim.describe_fails = Some(outcome);
        sim.wait(Duration::from_secs(130));
        let from = an_hour_of_waiting(&mut sim);
        let words = "ec2:DescribeNetworkInterfaces";
        expect_gate_reason(&sim, "a", from, reason, words);
        sim.expect_reason("partner", reason);
    }
}

/// The causes for which no inventory comes, and the reason that the next pod gets.
const NO_INVENTORY: [(Outcome, Reason); 3] = [
    (Outcome::Denied, Reason::AccessDenied),
    (Outcome::Throttled, Reason::Throttled),
    (Outcome::Unknown, Reason::AttachFailed),
];

/// Pod "first" has the address, and its location has not been known for some time.
fn held_at_an_unknown_location(outcome: Outcome) -> Sim {
    let mut sim = world();
    sim.next_revision("first", "n2", 1);
    sim.settle();
    sim.describe_fails = Some(outcome);
    sim.wait(Duration::from_secs(130));
    sim
}

#[test]
fn a_rollout_waits_for_the_location_of_the_address() {
    for (outcome, reason) in NO_INVENTORY {
        let mut sim = held_at_an_unknown_location(outcome);
        let from = sim.now;
        sim.next_revision("next", "n1", 2);
        sim.wait(HOUR);
        let words = "ec2:DescribeNetworkInterfaces";
        expect_gate_reason(&sim, "next", from, reason, words);
        sim.expect_attached("partner", "first");
        sim.describe_fails = None;
        sim.settle();
        sim.expect_attached("partner", "next");
    }
}

#[test]
fn the_next_pod_waits_for_the_location_of_the_address_that_nobody_has() {
    for (outcome, reason) in NO_INVENTORY {
        let mut sim = held_at_an_unknown_location(outcome);
        sim.delete_pod("first");
        sim.deliver(0);
        sim.remove_pod("first");
        let from = sim.now;
        sim.pod("next").on("n1").of_replica_set("rs1", 1, "dep");
        sim.wait(HOUR);
        let words = "ec2:DescribeNetworkInterfaces";
        expect_gate_reason(&sim, "next", from, reason, words);
        sim.expect_reason("partner", reason);
        sim.describe_fails = None;
        sim.settle();
        sim.expect_attached("partner", "next");
    }
}

#[test]
fn the_interface_of_the_node_is_full() {
    let mut sim = world();
    for last in 100..109 {
        sim.found_on(&format!("203.0.113.{last}"), Some("eni-n1"));
    }
    sim.settle();
    let from = an_hour_of_waiting(&mut sim);
    expect_gate_reason(&sim, "a", from, Reason::NodeFull, "eni-n1");
}

#[test]
fn the_node_is_away() {
    let mut sim = world();
    sim.node_unreachable("n1");
    let from = an_hour_of_waiting(&mut sim);
    expect_gate_reason(&sim, "a", from, Reason::NoEligibleNode, "n1");
}

#[test]
fn the_block_is_exhausted() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.block("small", "203.0.113.64/31");
    for name in ["x", "y", "z"] {
        sim.ip_of_block(name, "small");
        sim.settle();
    }
    let from = sim.now;
    sim.pod("a").on("n1").asks("z");
    sim.wait(HOUR);
    expect_gate_reason(&sim, "a", from, Reason::BlockExhausted, "small");
}

#[test]
fn another_pod_holds_the_address() {
    let mut sim = world();
    sim.pod("first").on("n2");
    sim.settle();
    let from = an_hour_of_waiting(&mut sim);
    let words = "default/first";
    expect_gate_reason(&sim, "a", from, Reason::ClaimedByOther, words);
}

#[test]
fn the_previous_pod_still_runs() {
    let mut sim = world();
    sim.pod("first").on("n2").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.delete_pod("first");
    let from = sim.now;
    sim.pod("a").on("n1").of_replica_set("rs1", 1, "dep");
    sim.wait(HOUR);
    let words = "default/first has the address and is being deleted";
    expect_gate_reason(&sim, "a", from, Reason::ClaimedByOther, words);
    sim.remove_pod("first");
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn the_ip_is_being_deleted() {
    let mut sim = world();
    sim.pod("first").on("n2");
    sim.settle();
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(10));
    sim.ec2.default_fault = Some(|_| Fault::Throttled);
    sim.delete_ip("partner");
    sim.wait(HOUR);
    sim.expect_denied("a", Reason::IPDeleted);
}

#[test]
fn the_pod_was_admitted_for_an_earlier_ip_of_that_name() {
    let mut sim = world();
    let from = sim.now;
    sim.pod("a").on("n1");
    sim.change_pod("a", |pod| pod.ip = Some("gone".into()));
    sim.wait(HOUR);
    let words = "admitted for an earlier IP partner that was deleted: delete the pod";
    expect_gate_reason(&sim, "a", from, Reason::StalePod, words);
}

#[test]
fn the_block_has_no_node_and_the_label_for_an_autoscaler_is_named() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    let from = sim.now;
    sim.pod("a");
    sim.wait(HOUR);
    let words = "the label ip.wgtwo.com.node-restriction.kubernetes.io/block on its node template";
    expect_gate_reason(&sim, "a", from, Reason::NoEligibleNode, words);
}

#[test]
fn no_message_to_a_pod_contains_a_number() {
    let mut sim = Sim::attached(&["n1"]);
    sim.change_pod("a", |pod| pod.ended = true);
    sim.settle();
    sim.expect_denied("a", Reason::Detaching);
    let message = reported(&sim, "a").last().unwrap().1.message.clone();
    assert_eq!(message, "IP partner is detached from this pod");
}
