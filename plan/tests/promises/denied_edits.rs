//! EC2 does not permit to unassign the old address of an edit: the pod keeps it, and the cause is named.
//! Rules: R5.6, R5.8, R5.9, R5.32.

use std::time::Duration;

use mooring_plan::objects::Condition;
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Call, StatusWrite, Step, Write};

use crate::sim::{Fault, Sim, status_write};

const OLD: &str = "203.0.113.10";
const NEW: &str = "203.0.113.20";
const ACTION: &str = "ec2:UnassignPrivateIpAddresses";

fn denied(call: &Call) -> Fault {
    match call {
        Call::Unassign { .. } => Fault::Denied,
        Call::Assign { .. } => Fault::None,
    }
}

fn denied_to_one(call: &Call) -> Fault {
    if call.address().to_string() == OLD {
        denied(call)
    } else {
        Fault::None
    }
}

fn lost(call: &Call) -> Fault {
    match call {
        Call::Unassign { .. } => Fault::RequestLost,
        Call::Assign { .. } => Fault::None,
    }
}

/// How often the gate of pod "a" was set to `False`.
fn interruptions(sim: &Sim) -> usize {
    let taken = sim.taken.iter();
    let closes = |step: &Step| matches!(step, Step::Write(Write::Gate(gate)) if !gate.status && gate.pod.name == "a");
    taken.filter(|(_, _, step)| closes(step)).count()
}

fn expect_named(sim: &Sim, said: Option<Condition>, action: &str) {
    let said = said.unwrap();
    let named = said.reason == Reason::AccessDenied && said.message.contains(action);
    assert!(!said.status && named, "{said:?}\n{}", sim.story());
}

/// Pod "a" is ready with the old address, and the IP says which action the edit needs.
fn expect_old_kept(sim: &Sim) {
    sim.expect_attached("partner", "a");
    sim.expect_on(OLD, Some("eni-n1"));
    let said = sim.the_ip("partner").status.conditions.reserved.clone();
    expect_named(sim, said, ACTION);
    sim.expect_event("IP partner", Reason::AccessDenied);
}

fn expect_new(sim: &Sim) {
    sim.expect_attached("partner", "a");
    sim.expect_on(NEW, Some("eni-n1"));
    sim.expect_on(OLD, None);
    sim.expect_reserved_only(NEW);
}

/// The edit is claimed, and from now on EC2 serves no inventory.
fn claimed_without_inventories(fault: fn(&Call) -> Fault, describes: Outcome) -> Sim {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.default_fault = Some(fault);
    sim.edit("partner", NEW);
    sim.step_until(status_write(StatusWrite::Claim));
    sim.describe_fails = Some(describes);
    sim
}

#[test]
fn an_edit_that_is_denied_goes_back_to_the_old_address() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.default_fault = Some(denied);
    sim.edit("partner", NEW);
    sim.wait(Duration::from_secs(2));
    expect_old_kept(&sim);
    // Each try writes `False` for the new address, and for the way back.
    assert_eq!(interruptions(&sim), 2, "{}", sim.story());
    sim.wait(Duration::from_secs(57));
    assert_eq!(interruptions(&sim), 2, "{}", sim.story());
    sim.wait(Duration::from_secs(2));
    assert_eq!(interruptions(&sim), 4, "{}", sim.story());
    sim.wait(Duration::from_mins(4));
    assert_eq!(interruptions(&sim), 6, "{}", sim.story());
    expect_old_kept(&sim);
    sim.ec2.default_fault = None;
    sim.settle();
    expect_new(&sim);
}

#[test]
fn it_is_tried_again_after_a_minute_whenever_inventories_come() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ip("other", "203.0.113.30");
    sim.settle();
    sim.ec2.default_fault = Some(denied);
    sim.edit("partner", NEW);
    sim.wait(Duration::from_secs(20));
    // An inventory follows a call that failed, and the next regular one is after the minute.
    sim.ec2.faults.push_back(Fault::Invalid);
    sim.pod("o").on("n1").asks("other");
    sim.wait(Duration::from_secs(39));
    assert_eq!(interruptions(&sim), 2, "{}", sim.story());
    sim.wait(Duration::from_secs(2));
    assert_eq!(interruptions(&sim), 4, "{}", sim.story());
}

#[test]
fn an_edit_that_is_denied_to_its_address_alone_goes_back_as_well() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ip("other", "203.0.113.30");
    sim.pod("o").on("n1").asks("other");
    sim.settle();
    sim.taken.clear();
    sim.ec2.default_fault = Some(denied_to_one);
    sim.edit("partner", NEW);
    sim.wait(Duration::from_secs(2));
    // EC2 serves the others.
    sim.delete_pod("o");
    sim.tell(0);
    sim.remove_pod("o");
    sim.wait(Duration::from_mins(10));
    sim.expect_free("other");
    expect_old_kept(&sim);
    let times = interruptions(&sim);
    assert!((2..=10).contains(&times), "{times}\n{}", sim.story());
    sim.ec2.default_fault = None;
    sim.wait(Duration::from_mins(10));
    sim.expect_attached("partner", "a");
    sim.expect_on(NEW, Some("eni-n1"));
}

#[test]
fn while_another_address_asks_for_the_permission_an_edit_is_not_begun() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ip("other", "203.0.113.30");
    sim.pod("o").on("n1").asks("other");
    sim.settle();
    sim.ec2.default_fault = Some(denied);
    sim.remove_pod("o");
    sim.delete_ip("other");
    sim.wait(Duration::from_secs(10));
    sim.taken.clear();
    sim.edit("partner", NEW);
    sim.wait(Duration::from_secs(50));
    expect_old_kept(&sim);
    assert_eq!(interruptions(&sim), 0, "{}", sim.story());
    // As soon as EC2 permits it to one, all others go on.
    sim.ec2.default_fault = None;
    sim.wait(Duration::from_secs(3));
    sim.expect_on(NEW, Some("eni-n1"));
    sim.expect_attached("partner", "a");
}

#[test]
fn an_edit_that_is_taken_back_while_it_is_denied_costs_nothing() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.default_fault = Some(denied);
    sim.edit("partner", NEW);
    sim.wait(Duration::from_mins(2));
    sim.taken.clear();
    sim.edit("partner", OLD);
    sim.settle();
    sim.expect_attached("partner", "a");
    assert_eq!(interruptions(&sim), 0, "{}", sim.story());
    sim.expect_reserved_only(OLD);
    let conditions = &sim.the_ip("partner").status.conditions;
    assert!(conditions.ready.as_ref().unwrap().status, "{}", sim.story());
}

#[test]
fn an_edit_that_is_taken_back_on_the_way_ends_at_once() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.default_fault = Some(denied);
    sim.edit("partner", NEW);
    sim.step_until(|step| matches!(step, Step::Call(_)));
    sim.edit("partner", OLD);
    sim.wait(Duration::from_millis(500));
    sim.expect_attached("partner", "a");
    let address = sim.the_ip("partner").status.address.unwrap();
    assert_eq!(address.to_string(), OLD, "{}", sim.story());
    assert_eq!(sim.counts.assigns, 0, "{}", sim.story());
}

#[test]
fn after_it_went_back_the_pod_is_ready_without_another_inventory() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.default_fault = Some(denied);
    sim.edit("partner", NEW);
    for _ in 0..2 {
        sim.step_until(status_write(StatusWrite::Claim));
    }
    sim.describe_fails = Some(Outcome::Unknown);
    sim.wait(Duration::from_secs(1));
    sim.expect_attached("partner", "a");
    sim.expect_on(OLD, Some("eni-n1"));
}

#[test]
fn without_an_inventory_after_the_denial_the_claim_stays_and_names_the_action() {
    let mut sim = claimed_without_inventories(denied, Outcome::Unknown);
    sim.wait(Duration::from_secs(5));
    let said = sim.the_ip("partner").status.conditions.attached.clone();
    expect_named(&sim, said, ACTION);
    sim.expect_denied("a", Reason::AccessDenied);
    sim.expect_event("IP partner", Reason::AccessDenied);
    sim.describe_fails = None;
    sim.wait(Duration::from_secs(5));
    expect_old_kept(&sim);
}

#[test]
fn an_edit_says_that_ec2_does_not_answer() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.default_fault = Some(lost);
    sim.edit("partner", NEW);
    sim.wait(Duration::from_secs(5));
    sim.expect_reason("partner", Reason::AttachFailed);
    sim.expect_denied("a", Reason::AttachFailed);
    sim.expect_event("IP partner", Reason::AttachFailed);
    let said = sim.the_ip("partner").status.conditions.attached.clone();
    assert!(said.unwrap().message.contains(ACTION), "{}", sim.story());
    sim.ec2.default_fault = None;
    sim.settle();
    expect_new(&sim);
}

#[test]
fn an_edit_says_that_ec2_serves_no_inventory() {
    let mut sim = claimed_without_inventories(lost, Outcome::Denied);
    sim.wait(Duration::from_secs(5));
    let said = sim.the_ip("partner").status.conditions.attached.clone();
    expect_named(&sim, said, "ec2:DescribeNetworkInterfaces");
    sim.expect_denied("a", Reason::AccessDenied);
}
