//! An edit to an address that another owner uses changes nothing until the address is free.
//! Rule: R4.6.

use std::time::Duration;

use mooring_plan::reason::Reason;
use mooring_plan::step::{Step, Write};

use crate::sim::{Sim, address};

/// The message of `Reserved` for an edit that waits.
fn reserved_message(sim: &Sim) -> String {
    sim.expect_not_reserved("partner", Reason::AddressInUse);
    let conditions = &sim.the_ip("partner").status.conditions;
    conditions.reserved.clone().unwrap().message
}

/// Asserts that the pod still has the old address, without a call or a write to the pod.
fn unchanged(sim: &Sim) {
    sim.expect_attached("partner", "a");
    let old = Some(address("203.0.113.10"));
    assert_eq!(sim.the_ip("partner").status.address, old, "{}", sim.story());
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    assert_eq!(sim.counts.gate_writes, 0, "{}", sim.story());
}

#[test]
fn a_new_address_on_an_interface_waits_until_it_is_off() {
    for on in ["eni-n1", "eni-n2"] {
        let mut sim = Sim::attached(&["n1", "n2"]);
        sim.found_on("203.0.113.20", Some(on));
        sim.settle();
        sim.edit("partner", "203.0.113.20");
        sim.settle();
        unchanged(&sim);
        let message = reserved_message(&sim);
        assert!(
            message.contains(on) && message.contains("take-from"),
            "{message}"
        );
        sim.expect_event("IP partner", Reason::AddressInUse);
        sim.found_on("203.0.113.20", None);
        sim.settle();
        sim.expect_attached("partner", "a");
        sim.expect_on("203.0.113.20", Some("eni-n1"));
        sim.expect_on("203.0.113.10", None);
        sim.expect_reserved_only("203.0.113.20");
    }
}

#[test]
fn a_new_address_on_an_interface_is_taken_if_take_from_names_it() {
    for (on, calls) in [("eni-n1", 1), ("eni-n2", 3)] {
        let mut sim = Sim::attached(&["n1", "n2"]);
        sim.found_on("203.0.113.20", Some(on));
        sim.settle();
        sim.edit("partner", "203.0.113.20");
        sim.take_from("partner", on);
        sim.settle();
        sim.expect_attached("partner", "a");
        sim.expect_on("203.0.113.20", Some("eni-n1"));
        sim.expect_on("203.0.113.10", None);
        sim.expect_reserved_only("203.0.113.20");
        assert_eq!(sim.the_ip("partner").take_from, None, "{}", sim.story());
        assert_eq!(sim.counts.calls(), calls, "{}", sim.story());
    }
}

#[test]
fn a_new_address_that_is_primary_changes_nothing() {
    for on in ["n1", "n2"] {
        let mut sim = Sim::attached(&["n1", "n2"]);
        let interface = crate::sim::interface_of(on);
        let primary = sim.ec2.interface_mut(&interface).primary;
        sim.edit("partner", &primary.to_string());
        sim.take_from("partner", interface.as_str());
        sim.settle();
        unchanged(&sim);
        let message = reserved_message(&sim);
        assert!(message.contains(interface.as_str()), "{message}");
        assert!(!message.contains("take-from"), "{message}");
        sim.remove_pod("a");
        sim.delete_ip("partner");
        sim.settle();
        sim.expect_gone("partner");
    }
}

#[test]
fn a_new_address_that_became_primary_after_its_reservation_changes_nothing() {
    let mut sim = Sim::attached(&["n1"]);
    sim.edit("partner", "203.0.113.20");
    sim.step_until(|step| matches!(step, Step::Write(Write::Reserve { .. })));
    sim.new_interface("eni-new", "203.0.113.20");
    sim.now = sim.now.plus(crate::sim::INTERVAL);
    sim.settle();
    unchanged(&sim);
    assert!(
        reserved_message(&sim).contains("eni-new"),
        "{}",
        sim.story()
    );
}

#[test]
fn a_started_edit_is_finished_before_one_to_an_address_in_use() {
    let mut sim = Sim::edited_while_attached(3);
    sim.found_on("203.0.113.30", Some("eni-n1"));
    sim.now = sim.now.plus(crate::sim::INTERVAL);
    let _ = sim.step(0);
    sim.edit("partner", "203.0.113.30");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_on("203.0.113.20", Some("eni-n1"));
    assert!(reserved_message(&sim).contains("eni-n1"), "{}", sim.story());
}

#[test]
fn a_new_address_that_was_assigned_since_the_inventory_changes_nothing() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.found_on("203.0.113.20", Some("eni-n2"));
    sim.edit("partner", "203.0.113.20");
    let edited = sim.counts;
    sim.wait(Duration::from_secs(1));
    unchanged(&sim);
    assert!(reserved_message(&sim).contains("eni-n2"), "{}", sim.story());
    assert_eq!(sim.counts.inventories, edited.inventories + 1);
}
