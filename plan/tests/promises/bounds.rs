//! EC2 exceeds the assumed bounds: this is detected, and the result is safe.
//! Rules: R5.23 to R5.27, R6.6.

use std::time::Duration;

use mooring_plan::facts::Contradiction;
use mooring_plan::reason::Reason;
use mooring_plan::step::Step;

use crate::sim::{Sim, address, interface_of};

const ADDRESS: &str = "203.0.113.10";

/// The contradictions between an inventory that begins now and earlier answers of EC2.
fn contradictions(sim: &Sim) -> Vec<Contradiction> {
    let facts = sim.controllers[0].facts();
    let subnets = facts.subnets_wanted();
    let list = sim.ec2.describe(sim.now);
    let found = subnets
        .iter()
        .flat_map(|subnet| facts.contradictions(subnet, &list, sim.now));
    found.collect()
}

/// The address is assigned, and a Describe does not show it yet.
fn assigned_unseen(lag: u64) -> Sim {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("a").on("n1");
    sim.step_until(|step| matches!(step, Step::Call(_)));
    sim.ec2.lag = Duration::from_secs(lag);
    sim
}

#[test]
fn a_describe_lag_of_more_than_ten_seconds_is_reported() {
    let mut sim = assigned_unseen(30);
    sim.wait(Duration::from_secs(10));
    assert_eq!(contradictions(&sim), [], "{}", sim.story());
    sim.now = sim.now.plus(Duration::from_millis(500));
    let expected = [Contradiction {
        address: address(ADDRESS),
        answered: Some(interface_of("n1")),
        shown: None,
    }];
    assert_eq!(contradictions(&sim), expected, "{}", sim.story());
}

#[test]
fn a_shorter_describe_lag_is_not_reported() {
    let mut sim = assigned_unseen(9);
    for _ in 0..30 {
        sim.wait(Duration::from_secs(1));
        assert_eq!(contradictions(&sim), [], "{}", sim.story());
    }
}

#[test]
fn a_much_later_foreign_move_contradicts_nothing() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.found_on(ADDRESS, Some("eni-n2"));
    assert_eq!(contradictions(&sim), [], "{}", sim.story());
    sim.found_on(ADDRESS, None);
    assert_eq!(contradictions(&sim), [], "{}", sim.story());
}

#[test]
fn a_holder_waits_during_an_excessive_describe_lag() {
    let mut sim = assigned_unseen(45);
    sim.wait(Duration::from_mins(2));
    sim.expect_on(ADDRESS, Some("eni-n1"));
    sim.ec2.lag = Duration::ZERO;
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn the_effect_of_a_very_late_call_is_reported_and_can_be_undone() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.pod("b").on("n2");
    sim.remove_pod("a");
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.found_on(ADDRESS, Some("eni-n1"));
    sim.settle();
    sim.expect_on(ADDRESS, Some("eni-n1"));
    sim.expect_denied("b", Reason::AddressInUse);
    sim.expect_event("IP partner", Reason::AddressInUse);
    sim.take_from("partner", "eni-n1");
    sim.settle();
    sim.expect_attached("partner", "b");
}
