//! If a block uses the node part, a pod becomes ready only after its node passes packets for this claim; a pod that
//! works stays ready.
//! Rules: R4.31, R4.36, R4.37, R4.40.

use std::time::Duration;

use mooring_plan::names::NodeName;
use mooring_plan::objects::{Condition, DataPath};
use mooring_plan::reason::Reason;
use mooring_plan::step::{Step, Write};

use crate::sim::Sim;

/// A reserved IP in a block that uses the node part. No node has a node part yet.
pub fn asking(nodes: &[&str]) -> Sim {
    let mut sim = Sim::reserved(nodes);
    set_data_path(&mut sim, DataPath::NodePart);
    sim.settle();
    sim.count_from_here();
    sim
}

/// The same, with node parts, and pod "a" on the first node has the address and is ready.
pub fn programmed(nodes: &[&str]) -> Sim {
    let mut sim = asking(nodes);
    for node in nodes {
        sim.kube.start_node_part(&NodeName::from(*node));
    }
    sim.pod("a").on(nodes[0]);
    sim.settle();
    sim.expect_attached("partner", "a");
    sim
}

fn set_data_path(sim: &mut Sim, data_path: DataPath) {
    sim.change_block("block", |block| {
        block.spec.as_mut().unwrap().data_path = data_path;
    });
}

pub fn start(sim: &mut Sim, node: &str) {
    sim.kube.start_node_part(&NodeName::from(node));
    sim.kube.bump();
}

pub fn stop(sim: &mut Sim, node: &str) {
    sim.kube.stop_node_part(&NodeName::from(node));
}

fn condition(sim: &Sim) -> Option<Condition> {
    sim.the_ip("partner").status.conditions.programmed.clone()
}

pub fn ready(sim: &Sim) -> Condition {
    sim.the_ip("partner")
        .status
        .conditions
        .ready
        .clone()
        .unwrap()
}

/// The address is recorded for the pod, and the pod is not ready: its node has not programmed it.
pub fn expect_not_programmed(sim: &Sim, pod: &str) {
    let claim = sim.the_ip("partner").status.claim.clone().unwrap();
    assert!(claim.recorded(), "{}", sim.story());
    assert_eq!(claim.uid, sim.the_pod(pod).uid, "{}", sim.story());
    assert!(!sim.the_pod(pod).reports_attached(), "{}", sim.story());
    let reported = condition(sim).unwrap();
    assert_eq!(
        (reported.status, reported.reason),
        (false, Reason::NotProgrammed),
        "{}",
        sim.story()
    );
    assert_eq!(ready(sim).reason, Reason::NotProgrammed, "{}", sim.story());
}

#[test]
fn a_pod_is_ready_when_its_node_has_programmed_the_address() {
    let sim = programmed(&["n1"]);
    let reported = condition(&sim).unwrap();
    assert!(reported.status, "{reported:?}");
    assert_eq!(reported.reason, Reason::Programmed);
    assert!(ready(&sim).status, "{}", sim.story());
}

#[test]
fn a_healthy_attach_costs_one_call_three_status_writes_and_one_gate_write() {
    let mut sim = programmed(&["n1"]);
    sim.expect_cost(1, 3, 1);
}

#[test]
fn without_the_node_part_the_pod_waits_and_its_reason_names_the_node() {
    let mut sim = asking(&["n1"]);
    sim.pod("a").on("n1");
    sim.settle();
    expect_not_programmed(&sim, "a");
    sim.expect_denied("a", Reason::NotProgrammed);
    sim.expect_event("a", Reason::NotProgrammed);
    assert!(ready(&sim).message.contains("node n1"), "{:?}", ready(&sim));
    start(&mut sim, "n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    assert!(ready(&sim).status, "{}", sim.story());
}

#[test]
fn a_pod_that_waits_for_less_than_two_seconds_costs_no_additional_write() {
    let mut sim = asking(&["n1"]);
    sim.pod("a").on("n1");
    sim.step_until(|step| matches!(step, Step::Write(Write::Status { .. })));
    sim.wait(Duration::from_millis(500));
    start(&mut sim, "n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_cost(1, 3, 1);
}

#[test]
fn a_ready_pod_stays_ready_without_node_part_or_report() {
    let mut sim = programmed(&["n1"]);
    sim.count_from_here();
    stop(&mut sim, "n1");
    sim.settle();
    sim.kube.node_reports.clear();
    sim.kube.bump();
    sim.settle();
    sim.restart(0);
    sim.settle();
    sim.expect_attached("partner", "a");
    assert!(condition(&sim).unwrap().status, "{}", sim.story());
    sim.expect_cost(0, 0, 0);
}

#[test]
fn a_move_waits_for_the_new_node() {
    let mut sim = programmed(&["n1", "n2"]);
    stop(&mut sim, "n2");
    sim.pod("b").on("n2");
    sim.delete_pod("a");
    sim.remove_pod("a");
    sim.settle();
    sim.expect_on("203.0.113.10", Some("eni-n2"));
    expect_not_programmed(&sim, "b");
    start(&mut sim, "n2");
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn an_unreadable_block_opens_no_gate_before_the_node_part_reports() {
    let mut sim = asking(&["n1"]);
    sim.pod("a").on("n1");
    sim.settle();
    assert!(!condition(&sim).unwrap().status, "{}", sim.story());
    sim.change_block("block", |block| {
        block.spec = Err("no such field".to_owned());
    });
    sim.settle();
    let gate = sim.the_pod("a").gate.clone().unwrap();
    assert!(!gate.status, "{gate:?}\n{}", sim.story());
    assert!(!ready(&sim).status, "{}", sim.story());
}

#[test]
fn enabling_the_node_part_removes_no_readiness() {
    let mut sim = Sim::attached(&["n1"]);
    set_data_path(&mut sim, DataPath::NodePart);
    sim.settle();
    sim.expect_attached("partner", "a");
    assert!(ready(&sim).status, "{}", sim.story());
    assert!(!condition(&sim).unwrap().status, "{}", sim.story());
    sim.count_from_here();
    start(&mut sim, "n1");
    sim.settle();
    assert!(condition(&sim).unwrap().status, "{}", sim.story());
    sim.expect_cost(0, 1, 0);
}

#[test]
fn after_disabling_the_node_part_nothing_waits_for_it() {
    let mut sim = asking(&["n1"]);
    sim.pod("a").on("n1");
    sim.settle();
    expect_not_programmed(&sim, "a");
    set_data_path(&mut sim, DataPath::Foreign);
    sim.settle();
    sim.expect_attached("partner", "a");
    assert_eq!(condition(&sim), None);
    assert!(ready(&sim).status, "{}", sim.story());
}
