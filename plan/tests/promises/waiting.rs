//! What a pod that waits is told, and what is remembered once it waits no more.

use mooring_plan::names::Millis;
use mooring_plan::reason::Reason;

use crate::sim::{INTERVAL, Sim, interface_of};

fn told(sim: &Sim, pod: &str, reason: Reason) -> bool {
    sim.rules.heard(pod, reason)
}

#[test]
fn a_pod_without_a_node_is_told_where_no_node_could_carry_the_address() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.pod("a");
    sim.settle();
    assert!(told(&sim, "a", Reason::NoEligibleNode));
}

#[test]
fn a_pod_that_the_scheduler_has_not_come_to_is_told_nothing() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a");
    sim.settle();
    assert!(!told(&sim, "a", Reason::NoEligibleNode));
}

#[test]
fn a_pod_without_a_node_is_told_nothing_while_another_holds_the_address() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1");
    sim.settle();
    sim.ec2.remember(sim.now);
    sim.ec2.interfaces.remove(&interface_of("n1"));
    sim.pod("b");
    sim.wait(INTERVAL);
    sim.wait(INTERVAL);
    assert!(!told(&sim, "b", Reason::NoEligibleNode), "{}", sim.story());
}

#[test]
fn after_a_move_on_the_same_interface_no_earlier_place_is_remembered() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.pod("b").on("n1").replica_set("rs2", 2, "dep");
    sim.containers_ready("b");
    sim.settle();
    sim.expect_attached("partner", "b");
    assert_eq!(sim.the_ip("partner").status.previous, []);
}

#[test]
fn a_revision_that_was_scaled_down_keeps_no_other_waiting() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.replica_set("rs1", 1, "dep", 0);
    sim.pod("b").on("n1").replica_set("rs2", 2, "dep");
    sim.wait(Millis::seconds(10));
    sim.expect_attached("partner", "b");
}
