//! The proofs from EC2 that are needed before an address is changed, detached or released.
//! Rules: R2.18, R4.6, R4.26, R5.18.

use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::names::InterfaceId;
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{Call, StatusWrite, Step, Write};

use crate::sim::{Sim, address, status_write};

const OLD: &str = "203.0.113.10";
const NEW: &str = "203.0.113.20";

fn is_unassign(step: &Step) -> bool {
    matches!(step, Step::Call(Call::Unassign { .. }))
}

#[test]
fn an_edit_waits_for_a_look_that_began_after_it() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    // The inventory from before the edit is still fresh, and does not show the new address.
    sim.describe_fails = Some(Outcome::Unknown);
    sim.edit("partner", NEW);
    sim.wait(Duration::from_secs(30));
    sim.expect_attached("partner", "a");
    let status = &sim.the_ip("partner").status;
    assert_eq!(status.address, Some(address(OLD)), "{}", sim.story());
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    sim.describe_fails = None;
    sim.settle();
    sim.expect_on(NEW, Some("eni-n1"));
}

#[test]
fn the_claim_on_the_new_address_names_the_interface_that_it_is_taken_from() {
    for (on, named) in [("eni-n1", false), ("eni-n2", true)] {
        let mut sim = Sim::attached(&["n1", "n2"]);
        sim.found_on(NEW, Some(on));
        sim.settle();
        sim.edit("partner", NEW);
        sim.take_from("partner", on);
        sim.step_until(status_write(StatusWrite::Claim));
        let status = &sim.the_ip("partner").status;
        assert_eq!(status.address, Some(address(NEW)), "{}", sim.story());
        let mut previous = status.previous.iter();
        let names = previous
            .any(|entry| entry.address == address(NEW) && entry.interface == InterfaceId::from(on));
        assert_eq!(names, named, "{on}: {:?}", status.previous);
    }
}

/// The address of a deleted pod was just detached. The process does nothing for more than ten seconds, and then the
/// address is on this ENI.
fn found_after_the_detach(on: &str) -> Sim {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.delete_pod("a");
    sim.deliver(0);
    sim.remove_pod("a");
    sim.step_until(is_unassign);
    sim.now = sim.now.plus(Duration::from_millis(10_500));
    sim.taken.clear();
    sim.ec2.remember(sim.now);
    if on == "eni-n1" {
        let late = Call::Assign {
            interface: InterfaceId::from(on),
            address: address(OLD),
            reassign: Reassign::Refuse,
        };
        let _ = sim.ec2.execute(&late, sim.now);
    } else {
        sim.found_on(OLD, Some(on));
    }
    sim
}

#[test]
fn an_address_that_one_look_shows_there_again_is_looked_for_again_and_taken_off() {
    let mut sim = found_after_the_detach("eni-n1");
    sim.step_until(status_write(StatusWrite::Clear));
    let again = sim.taken.iter().filter(|(_, _, step)| is_unassign(step));
    assert_eq!(again.count(), 1, "{}", sim.story());
    sim.settle();
    sim.expect_free("partner");
}

#[test]
fn an_address_that_one_look_shows_on_a_foreign_interface_is_given_up_at_once() {
    let mut sim = found_after_the_detach("eni-n2");
    let inventories = sim.counts.inventories;
    sim.step_until(status_write(StatusWrite::Clear));
    assert!(sim.counts.inventories <= inventories + 1, "{}", sim.story());
    assert!(!sim.taken.iter().any(|(_, _, step)| is_unassign(step)));
}

#[test]
fn a_detached_and_cleared_address_is_not_detached_again_after_a_restart() {
    let mut sim = Sim::attached(&["n1"]);
    sim.delete_pod("a");
    sim.deliver(0);
    sim.remove_pod("a");
    sim.step_until(status_write(StatusWrite::Clear));
    sim.count_from_here();
    sim.delete_ip("partner");
    sim.restart(0);
    sim.settle();
    sim.expect_gone("partner");
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

#[test]
fn without_a_pod_take_from_takes_nothing() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.found_on(OLD, Some("eni-n2"));
    sim.settle();
    sim.take_from("partner", "eni-n2");
    sim.settle();
    sim.expect_on(OLD, Some("eni-n2"));
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

#[test]
fn an_address_that_was_taken_off_where_it_was_is_asked_for_nowhere_else() {
    let mut sim = ended_on_the_way();
    sim.settle();
    sim.expect_free("partner");
    assert_eq!(sim.counts.calls(), 1, "{}", sim.story());
}

/// Pod "b" on n2 has a claim and is deleted while the address is still on n1, where "a" had it.
fn ended_on_the_way() -> Sim {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.delete_pod("a");
    sim.deliver(0);
    sim.remove_pod("a");
    sim.pod("b").on("n2");
    sim.step_until(status_write(StatusWrite::Claim));
    sim.delete_pod("b");
    sim.deliver(0);
    sim.remove_pod("b");
    sim
}

/// The same, and the address was just detached from n1.
fn taken_off_on_the_way() -> Sim {
    let mut sim = ended_on_the_way();
    sim.step_until(is_unassign);
    sim
}

#[test]
fn an_address_that_is_taken_off_twice_where_it_was_is_asked_for_nowhere_else() {
    let mut sim = taken_off_on_the_way();
    sim.now = sim.now.plus(Duration::from_millis(10_500));
    sim.ec2.remember(sim.now);
    let late = Call::Assign {
        interface: InterfaceId::from("eni-n1"),
        address: address(OLD),
        reassign: Reassign::Refuse,
    };
    assert_eq!(sim.ec2.execute(&late, sim.now), Ok(()));
    sim.settle();
    sim.expect_free("partner");
    assert_eq!(sim.counts.calls(), 2, "{}", sim.story());
}

#[test]
fn an_edit_right_after_a_move_costs_two_calls() {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2"]);
    sim.next_revision("b", "n2", 2);
    sim.step_until(|step| matches!(step, Step::Write(Write::Gate(gate)) if gate.status));
    sim.expect_attached("partner", "b");
    sim.count_from_here();
    sim.edit("partner", NEW);
    sim.settle();
    sim.expect_on(OLD, None);
    sim.expect_on(NEW, Some("eni-n2"));
    assert_eq!(sim.counts.calls(), 2, "{}", sim.story());
}
