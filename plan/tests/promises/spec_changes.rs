//! A user changes the spec of an IP: which memory becomes invalid, and how many requests follow.
//! Rules: R1.4, R4.6, R5.2.

use std::time::Duration;

use mooring_plan::names::BlockName;
use mooring_plan::step::Step;

use crate::sim::{Fault, Sim, address};

#[test]
fn an_edit_or_a_take_from_alone_ends_the_wait_after_a_call_that_failed() {
    let changes: [fn(&mut Sim); 2] = [
        |sim| sim.take_from("partner", "eni-n2"),
        |sim| sim.allow_reassignment("partner"),
    ];
    for change in changes {
        let mut sim = Sim::reserved(&["n1", "n2"]);
        sim.ec2.default_fault = Some(|_| Fault::Invalid);
        sim.pod("a").on("n1");
        sim.wait(Duration::from_mins(5));
        sim.step_until(|step| matches!(step, Step::Call(_)));
        sim.ec2.default_fault = None;
        change(&mut sim);
        sim.wait(Duration::from_millis(500));
        sim.expect_attached("partner", "a");
    }
}

#[test]
fn without_a_holder_a_changed_address_asks_for_no_additional_look() {
    let mut sim = Sim::reserved(&["n1"]);
    let before = sim.counts.inventories;
    sim.edit("partner", "203.0.113.20");
    sim.wait(Duration::from_secs(1));
    assert_eq!(sim.counts.inventories, before, "{}", sim.story());
}

#[test]
fn a_block_is_known_while_it_is_there() {
    let mut sim = Sim::reserved(&["n1"]);
    let knows = |sim: &Sim, name: &str| {
        let facts = sim.controllers[0].facts();
        facts.knows_block(&BlockName::from(name))
    };
    assert!(knows(&sim, "block"));
    assert!(!knows(&sim, "second"));
    sim.block("second", "198.51.100.0/24");
    sim.deliver(0);
    assert!(knows(&sim, "second"));
}

#[test]
fn an_ip_explains_its_address_and_those_that_may_still_be_somewhere() {
    let mut sim = Sim::attached(&["n1"]);
    sim.edit("partner", "203.0.113.20");
    sim.step_until(|step| matches!(step, Step::Call(_)));
    let ip = sim.the_ip("partner");
    let explains = |last: &str| ip.explains(address(last));
    assert!(explains("203.0.113.20") && explains("203.0.113.10"));
    assert!(!explains("203.0.113.30"));
}
