//! The reasons that a waiting pod gets, and what is remembered after the wait.
//! Rules: R3.16 to R3.18.

use std::time::Duration;

use mooring_plan::reason::Reason;
use mooring_plan::step::{Read, Step, Write};

use crate::sim::{INTERVAL, Sim, interface_of};

fn reported(sim: &Sim, pod: &str, reason: Reason) -> bool {
    sim.rules.reported(pod, reason)
}

#[test]
fn a_pod_without_a_node_gets_a_reason_if_no_node_is_eligible() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.pod("a");
    sim.settle();
    assert!(reported(&sim, "a", Reason::NoEligibleNode));
}

#[test]
fn a_pod_that_is_not_scheduled_yet_gets_no_reason() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a");
    sim.settle();
    assert!(!reported(&sim, "a", Reason::NoEligibleNode));
}

#[test]
fn a_pod_without_a_node_gets_no_reason_while_there_is_a_holder() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.remember(sim.now);
    sim.ec2.delete_interface(&interface_of("n1"));
    sim.pod("b");
    sim.wait(INTERVAL);
    sim.wait(INTERVAL);
    assert!(
        !reported(&sim, "b", Reason::NoEligibleNode),
        "{}",
        sim.story()
    );
}

#[test]
fn after_a_move_on_the_same_interface_no_earlier_place_is_remembered() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.next_revision("b", "n1", 2);
    sim.settle();
    sim.expect_attached("partner", "b");
    assert_eq!(sim.the_ip("partner").status.previous, []);
}

#[test]
fn a_scaled_down_revision_delays_no_other() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.replica_set("rs1", 1, "dep", 0);
    sim.pod("b").on("n1").replica_set("rs2", 2, "dep");
    sim.wait(Duration::from_secs(10));
    sim.expect_attached("partner", "b");
}

/// Number of reads of `ReplicaSets` since the last call.
fn replica_set_reads(sim: &mut Sim) -> usize {
    let taken = std::mem::take(&mut sim.taken);
    let reading = |step: &Step| matches!(step, Step::Read(Read::ReplicaSets(..)));
    taken.iter().filter(|(_, _, step)| reading(step)).count()
}

#[test]
fn no_read_between_the_binding_of_a_pod_and_its_claim() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").replica_set("rs1", 1, "dep");
    sim.wait(Duration::from_secs(10));
    assert_eq!(replica_set_reads(&mut sim), 1, "while it waits for a node");
    sim.change_pod("a", |pod| pod.node = Some("n1".into()));
    sim.step_until(|step| matches!(step, Step::Write(Write::Status { .. })));
    let steps: Vec<_> = sim.taken.iter().map(|(_, _, step)| step).collect();
    assert_eq!(steps.len(), 1, "{steps:?}");
}

#[test]
fn waiting_pods_of_a_deployment_share_one_read() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").replica_set("rs1", 1, "dep");
    sim.pod("b").replica_set("rs2", 2, "dep");
    sim.wait(Duration::from_secs(10));
    assert_eq!(replica_set_reads(&mut sim), 1);
}

#[test]
fn ended_and_deleted_pods_cause_no_read() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").replica_set("rs1", 1, "one");
    sim.change_pod("a", |pod| pod.ended = true);
    sim.pod("b").replica_set("rs2", 1, "two");
    sim.delete_pod("b");
    sim.wait(Duration::from_secs(10));
    assert_eq!(replica_set_reads(&mut sim), 0);
}

#[test]
fn the_older_of_two_ready_pods_of_the_new_revision_gets_it() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    for pod in ["b", "c"] {
        sim.pod(pod).on("n1").replica_set("rs2", 2, "dep");
    }
    sim.containers_ready("c");
    sim.containers_ready("b");
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn a_pod_of_a_deleted_replica_set_is_its_own_workload() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.kube.replica_sets.clear();
    sim.settle();
    sim.expect_attached("partner", "a");
}
