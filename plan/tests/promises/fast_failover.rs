//! Fast failover: only a positive answer of EC2 taints a node, and only a node with an address of a block with fast
//! failover.
//! Rules: R3.34 to R3.37, R3.40.

use std::time::Duration;

use mooring_plan::cloud::{InstanceState, Lost};
use mooring_plan::facts::{Fact, Kind};
use mooring_plan::names::NodeName;
use mooring_plan::objects::NodeReport;
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::NodeStep;

use crate::sim::{Sim, instance_of};

pub const MOMENT: Duration = Duration::from_secs(1);
pub const HOUR: Duration = Duration::from_hours(1);

/// Pod "a" on the first node has the address; its block has fast failover.
pub fn fast(nodes: &[&str]) -> Sim {
    let mut sim = Sim::attached(nodes);
    set_fast(&mut sim, true);
    sim.settle();
    sim.count_from_here();
    sim
}

pub fn set_fast(sim: &mut Sim, fast: bool) {
    sim.change_block("block", |block| {
        block.spec.as_mut().unwrap().fast_failover = fast;
    });
}

pub fn not_ready(sim: &mut Sim, node: &str) {
    sim.change_node(node, |node| node.ready = false);
}

pub fn ready(sim: &mut Sim, node: &str) {
    sim.change_node(node, |node| node.ready = true);
}

/// The node is away, its instance has ended, and it is out of service.
pub fn out_of_service(state: InstanceState) -> Sim {
    let mut sim = fast(&["n1", "n2"]);
    sim.instance("n1", state);
    not_ready(&mut sim, "n1");
    sim.wait(MOMENT);
    expect_taint(&sim, "n1", true);
    sim
}

pub fn expect_taint(sim: &Sim, node: &str, ours: bool) {
    let found = &sim.kube.nodes[&NodeName::from(node)];
    let taints = (found.out_of_service, found.our_taint);
    assert_eq!(taints, (ours, ours), "{node}\n{}", sim.story());
}

/// Asserts that no taint is written, also after a long time.
pub fn expect_no_taint_is_written(sim: &mut Sim) {
    sim.node_taken.clear();
    sim.wait(HOUR);
    assert_eq!(sim.taints_written(), [], "{}", sim.story());
}

/// The node part of a node reports with this heartbeat.
pub fn reports(sim: &mut Sim, node: &str, heartbeat: i64) {
    let report = NodeReport {
        node: NodeName::from(node),
        version: "1".to_owned(),
        boot: None,
        heartbeat,
        addresses: [].into(),
    };
    sim.kube.bump();
    sim.kube.node_reports.insert(report.node.clone(), report);
}

#[test]
fn a_node_whose_instance_has_ended_is_taken_out_of_service_at_once() {
    for state in [InstanceState::Stopped, InstanceState::Terminated] {
        let sim = out_of_service(state);
        let writes = sim.taints_written();
        assert!(matches!(&writes[..], [NodeStep::SetTaint(_, Lost::Ended(why))] if *why == state));
        assert_eq!(sim.questions().len(), 1);
        sim.expect_event("node n1", Reason::OutOfService);
        sim.expect_event("a", Reason::OutOfService);
    }
}

#[test]
fn the_address_follows_the_pod_that_comes_for_the_one_that_was_deleted() {
    let mut sim = out_of_service(InstanceState::Stopped);
    sim.remove_pod("a");
    sim.pod("a").on("n2");
    sim.wait(MOMENT);
    sim.expect_attached("partner", "a");
    sim.expect_on("203.0.113.10", Some("eni-n2"));
}

#[test]
fn while_ec2_says_that_the_instance_runs_the_node_stays_in_service() {
    let mut sim = fast(&["n1", "n2"]);
    not_ready(&mut sim, "n1");
    expect_no_taint_is_written(&mut sim);
    sim.change_node("n1", |node| node.unreachable = true);
    expect_no_taint_is_written(&mut sim);
}

#[test]
fn the_silence_of_ec2_takes_no_node_out_of_service() {
    let silent = [
        Outcome::Unknown,
        Outcome::Denied,
        Outcome::Throttled,
        Outcome::Invalid,
        // That EC2 does not know the instance does not prove that it has ended.
        Outcome::InstanceNotFound,
    ];
    for outcome in silent {
        let mut sim = fast(&["n1", "n2"]);
        sim.instance("n1", InstanceState::Terminated);
        sim.describe_fails = Some(outcome);
        not_ready(&mut sim, "n1");
        expect_no_taint_is_written(&mut sim);
        sim.describe_fails = None;
        sim.wait(Duration::from_secs(31));
        expect_taint(&sim, "n1", true);
    }
}

#[test]
fn an_answer_to_a_question_from_before_the_node_was_away_does_not_count() {
    let mut sim = fast(&["n1", "n2"]);
    let begun = sim.now;
    let stopped = Fact::InstanceRead(instance_of("n1"), Some(InstanceState::Stopped));
    sim.now = begun.plus(Duration::from_millis(1));
    let now = sim.now;
    sim.controllers[0].facts_mut().apply(stopped, begun, now);
    sim.describe_fails = Some(Outcome::Unknown);
    not_ready(&mut sim, "n1");
    sim.wait(MOMENT);
    assert_eq!(sim.taints_written(), [], "{}", sim.story());
}

#[test]
fn an_answer_that_is_older_than_ten_seconds_does_not_count() {
    let mut sim = fast(&["n1", "n2"]);
    sim.instance("n1", InstanceState::Stopped);
    not_ready(&mut sim, "n1");
    sim.deliver(0);
    // The Node has a newer version that the watch does not show: each write gets a conflict.
    sim.controllers[0].stuck.insert(Kind::Node);
    sim.change_node("n1", |node| node.created += 1);
    sim.wait(MOMENT);
    expect_taint(&sim, "n1", false);
    assert!(!sim.taints_written().is_empty());
    // The instance runs again, but EC2 does not answer.
    sim.instance("n1", InstanceState::Running);
    sim.describe_fails = Some(Outcome::Unknown);
    sim.wait(Duration::from_secs(10));
    sim.node_taken.clear();
    sim.controllers[0].stuck.clear();
    sim.wait(HOUR);
    assert_eq!(sim.taints_written(), [], "{}", sim.story());
}

#[test]
fn a_node_that_has_come_back_unseen_is_not_taken_out_of_service() {
    let mut sim = fast(&["n1", "n2"]);
    sim.instance("n1", InstanceState::Stopped);
    not_ready(&mut sim, "n1");
    sim.deliver(0);
    sim.controllers[0].stuck.insert(Kind::Node);
    ready(&mut sim, "n1");
    sim.wait(Duration::from_secs(5));
    assert!(!sim.taints_written().is_empty(), "{}", sim.story());
    expect_taint(&sim, "n1", false);
}

#[test]
fn a_node_that_others_write_all_the_time_is_taken_out_of_service_nevertheless() {
    let mut sim = fast(&["n1", "n2"]);
    not_ready(&mut sim, "n1");
    sim.wait(MOMENT);
    // Only its version changes.
    sim.change_node("n1", |_| {});
    sim.instance("n1", InstanceState::Stopped);
    sim.wait(Duration::from_secs(3));
    expect_taint(&sim, "n1", true);
}

#[test]
fn only_a_block_that_asks_for_it_takes_a_node_out_of_service() {
    let mut sim = fast(&["n1", "n2"]);
    set_fast(&mut sim, false);
    sim.instance("n1", InstanceState::Terminated);
    not_ready(&mut sim, "n1");
    expect_no_taint_is_written(&mut sim);
    assert_eq!(sim.questions(), []);
    set_fast(&mut sim, true);
    sim.wait(MOMENT);
    expect_taint(&sim, "n1", true);
}

#[test]
fn fast_failover_of_another_block_does_not_count() {
    let mut sim = fast(&["n1", "n2"]);
    set_fast(&mut sim, false);
    sim.block("other", "198.51.100.0/24");
    sim.change_block("other", |block| {
        block.spec.as_mut().unwrap().fast_failover = true;
    });
    sim.instance("n1", InstanceState::Stopped);
    not_ready(&mut sim, "n1");
    expect_no_taint_is_written(&mut sim);
    assert_eq!(sim.questions(), []);
}

#[test]
fn a_node_without_an_address_of_such_a_block_is_left_alone() {
    let mut sim = fast(&["n1", "n2"]);
    sim.instance("n2", InstanceState::Stopped);
    not_ready(&mut sim, "n2");
    expect_no_taint_is_written(&mut sim);
    assert_eq!(sim.questions(), []);
}

#[test]
fn the_taint_of_a_person_stays() {
    let mut sim = fast(&["n1", "n2"]);
    sim.change_node("n1", |node| {
        (node.ready, node.out_of_service) = (false, true);
    });
    sim.instance("n1", InstanceState::Stopped);
    expect_no_taint_is_written(&mut sim);
    sim.instance("n1", InstanceState::Running);
    ready(&mut sim, "n1");
    expect_no_taint_is_written(&mut sim);
    assert!(sim.kube.nodes[&NodeName::from("n1")].out_of_service);
}
