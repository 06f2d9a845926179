//! Drift: an address that is not at its recorded place is restored if it is free, and never taken from another owner.
//! Rules: R1.15, R1.18, R4.8, R4.20, R4.23, R4.26, R4.27.

use std::time::Duration;

use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Step, Write};

use crate::sim::{Sim, interface_of};

fn attached() -> Sim {
    Sim::attached(&["n1", "n2"])
}

#[test]
fn a_manually_unassigned_address_is_assigned_again() {
    let mut sim = attached();
    sim.found_on("203.0.113.10", None);
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_event("IP partner", Reason::DriftRepaired);
    sim.expect_cost(1, 2, 2);
}

#[test]
fn one_inventory_without_the_address_moves_nothing() {
    let mut sim = attached();
    sim.found_on("203.0.113.10", None);
    let due = sim.now.plus(Duration::from_mins(1));
    while sim.now < due && sim.counts.inventories == 0 {
        sim.wait(Duration::from_millis(100));
    }
    sim.found_on("203.0.113.10", Some("eni-n1"));
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_cost(0, 0, 0);
}

#[test]
fn an_address_that_was_moved_to_a_foreign_interface_is_not_moved_back() {
    let mut sim = attached();
    sim.found_on("203.0.113.10", Some("eni-n2"));
    sim.settle();
    sim.expect_on("203.0.113.10", Some("eni-n2"));
    sim.expect_reason("partner", Reason::AddressInUse);
    sim.expect_denied("a", Reason::AddressInUse);
    let first = sim.taken.iter().find_map(|(_, _, step)| match step {
        Step::Write(Write::Gate(gate)) if !gate.status => Some(gate.reason),
        _ => None,
    });
    assert_eq!(first, Some(Reason::AddressInUse), "{}", sim.story());
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    // The user repairs it with `take-from`.
    sim.take_from("partner", "eni-n2");
    sim.settle();
    sim.expect_attached("partner", "a");
    assert_eq!(sim.the_ip("partner").take_from, None);
}

#[test]
fn one_inventory_with_the_address_on_a_foreign_interface_is_enough_to_leave_it() {
    let mut sim = Sim::reserved(&["n1", "n2", "n3"]);
    sim.allow_reassignment("partner");
    sim.settle();
    sim.pod("a").on("n1");
    sim.step_until(|step| matches!(step, Step::Write(Write::Gate(_))));
    sim.found_on("203.0.113.10", Some("eni-n3"));
    let seen = sim.counts.inventories;
    while sim.counts.inventories == seen {
        sim.wait(Duration::from_secs(1));
    }
    // The address is moved before the second inventory, while the own write still counts.
    sim.pod("b").on("n2");
    sim.remove_annotation("a");
    sim.settle();
    sim.expect_on("203.0.113.10", Some("eni-n3"));
    sim.expect_reason("partner", Reason::AddressInUse);
}

#[test]
fn the_address_returns_when_the_foreign_interface_releases_it() {
    let mut sim = attached();
    sim.found_on("203.0.113.10", Some("eni-n2"));
    sim.settle();
    sim.found_on("203.0.113.10", None);
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn an_address_on_a_recent_place_is_taken_from_there() {
    for reassign in [false, true] {
        let mut sim = attached();
        if reassign {
            sim.allow_reassignment("partner");
        }
        sim.delete_pod("a");
        let _ = sim.step(0);
        sim.remove_pod("a");
        sim.pod("b").on("n2");
        sim.wait(Duration::from_secs(2));
        sim.expect_attached("partner", "b");
        sim.found_on("203.0.113.10", Some("eni-n1"));
        sim.settle();
        sim.expect_attached("partner", "b");
        sim.expect_on("203.0.113.10", Some("eni-n2"));
    }
}

#[test]
fn an_interface_on_another_instance_is_another_place() {
    let mut sim = attached();
    sim.interface("eni-new", "n1");
    sim.ec2.remember(sim.now);
    sim.ec2.attach(&interface_of("n1"), &"i-n2".into());
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_on("203.0.113.10", Some("eni-new"));
    sim.expect_event("IP partner", Reason::DriftRepaired);
    assert!(!sim.rules.reported("IP partner", Reason::AddressInUse));
}

#[test]
fn a_deleted_interface_is_replaced_by_the_other() {
    let mut sim = attached();
    sim.interface("eni-new", "n1");
    sim.ec2.remember(sim.now);
    sim.ec2.delete_interface(&interface_of("n1"));
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_on("203.0.113.10", Some("eni-new"));
}

#[test]
fn without_another_interface_a_deleted_one_is_reported() {
    let mut sim = attached();
    sim.ec2.remember(sim.now);
    sim.ec2.delete_interface(&interface_of("n1"));
    sim.settle();
    sim.expect_reason("partner", Reason::NoEligibleNode);
    assert!(
        !sim.the_pod("a").gate.as_ref().unwrap().status,
        "{}",
        sim.story()
    );
    sim.interface("eni-new", "n1");
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn a_free_address_on_a_foreign_interface_is_not_taken() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.node("n2");
    sim.found_on("203.0.113.10", Some("eni-n2"));
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_reason("partner", Reason::AddressInUse);
    sim.expect_event("IP partner", Reason::AddressInUse);
    assert_eq!(sim.counts.calls(), 0);
    assert_eq!(sim.the_ip("partner").status.claim, None, "{}", sim.story());
    sim.take_from("partner", "eni-n2");
    sim.settle();
    sim.expect_attached("partner", "a");
    assert_eq!(sim.the_ip("partner").take_from, None, "{}", sim.story());
}

#[test]
fn take_from_survives_a_crash_before_its_use() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.node("n2");
    sim.found_on("203.0.113.10", Some("eni-n2"));
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_reason("partner", Reason::AddressInUse);
    sim.take_from("partner", "eni-n2");
    // The new process knows all objects, but no location of an address yet.
    sim.describe_fails = Some(Outcome::Unknown);
    sim.restart(0);
    sim.settle();
    sim.describe_fails = None;
    sim.settle();
    sim.expect_attached("partner", "a");
    assert_eq!(sim.the_ip("partner").take_from, None, "{}", sim.story());
}

#[test]
fn take_from_an_interface_without_the_address_is_removed() {
    let mut sim = attached();
    sim.take_from("partner", "eni-n2");
    sim.settle();
    sim.expect_attached("partner", "a");
    assert_eq!(sim.the_ip("partner").take_from, None);
    assert_eq!(sim.counts.calls(), 0);
}

#[test]
fn after_a_restore_the_address_is_adopted_at_the_place_of_the_claim() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("a").on("n1");
    // The backup has the claim, and was made before EC2 was called.
    sim.step_until(|step| matches!(step, Step::Write(Write::Status { .. })));
    assert!(sim.the_ip("partner").status.claim.is_some());
    sim.found_on("203.0.113.10", Some("eni-n1"));
    sim.restart(0);
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_on("203.0.113.10", Some("eni-n1"));
    assert!(!sim.rules.reported("IP partner", Reason::AddressInUse));
}

#[test]
fn with_eight_possible_places_there_is_no_claim_until_one_is_empty() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    for n in 0..12 {
        sim.node(&format!("n{n}"));
    }
    sim.pod("p0").on("n0");
    sim.settle();
    // Inventories fail for a shorter time than the last one is fresh.
    sim.describe_fails = Some(Outcome::Unknown);
    for n in 1..12 {
        sim.pod(&format!("p{n}")).on(&format!("n{n}"));
        sim.remove_pod(&format!("p{}", n - 1));
        sim.wait(Duration::from_millis(200));
    }
    sim.expect_event("IP partner", Reason::PreviousFull);
    assert_eq!(
        sim.the_ip("partner").status.previous.len(),
        8,
        "{}",
        sim.story()
    );
    sim.describe_fails = None;
    sim.settle();
    sim.expect_attached("partner", "p11");
}

#[test]
fn the_holder_is_denied_before_the_call_whatever_a_watch_shows() {
    let mut sim = attached();
    // Another process takes over; its watch shows the pod before its gate was `True`.
    let shown = sim.the_pod("a").clone();
    sim.change_pod("a", |pod| pod.gate = None);
    sim.restart(0);
    sim.deliver(0);
    sim.controllers[0]
        .stuck
        .insert(mooring_plan::facts::Kind::Pod);
    sim.change_pod("a", |pod| pod.gate = shown.gate);
    sim.found_on("203.0.113.10", None);
    // `sim/rules.rs` asserts at every call that the condition is `False`.
    sim.step_until(|step| matches!(step, mooring_plan::step::Step::Call(_)));
}

#[test]
fn a_new_leader_takes_a_late_describe_for_no_drift() {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2"]);
    sim.ec2.lag = Duration::from_secs(4);
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_secs(2));
    sim.expect_attached("partner", "b");
    sim.restart(0);
    sim.count_from_here();
    sim.wait(Duration::from_mins(3));
    sim.expect_attached("partner", "b");
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

#[test]
fn a_new_leader_repairs_a_drift_in_a_quarter_of_a_minute() {
    let mut sim = attached();
    sim.restart(0);
    sim.found_on("203.0.113.10", None);
    sim.wait(Duration::from_secs(15));
    sim.expect_attached("partner", "a");
    sim.expect_on("203.0.113.10", Some("eni-n1"));
}
