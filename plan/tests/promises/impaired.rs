//! Only status checks that fail permanently have the same effect as the end of the instance.
//! Rule: R3.41.

use std::time::Duration;

use mooring_plan::cloud::{InstanceState, Lost};
use mooring_plan::facts::Kind;
use mooring_plan::objects::DataPath;
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::NodeStep;

use crate::fast_failover::{
    HOUR, MOMENT, expect_no_taint_is_written, expect_taint, fast, not_ready, ready, reports,
};
use crate::sim::{Sim, instance_of};

const SINCE: Option<&str> = Some("2026-01-01T00:00:00Z");

/// The node is not ready; its instance runs, and a status check of it fails.
fn impaired() -> Sim {
    let mut sim = fast(&["n1", "n2"]);
    sim.ec2.impair(&instance_of("n1"), SINCE);
    not_ready(&mut sim, "n1");
    sim
}

#[test]
fn a_node_whose_status_checks_fail_for_good_is_taken_out_of_service() {
    let mut sim = impaired();
    sim.wait(Duration::from_secs(29));
    assert_eq!(
        sim.checks_asked(),
        0,
        "the state of the instance comes first"
    );
    sim.wait(Duration::from_secs(290));
    assert_eq!(sim.taints_written(), [], "{}", sim.story());
    sim.wait(Duration::from_mins(1));
    expect_taint(&sim, "n1", true);
    let writes = sim.taints_written();
    assert!(matches!(
        &writes[..],
        [NodeStep::SetTaint(_, Lost::Impaired)]
    ));
    // The kubelet reports again.
    ready(&mut sim, "n1");
    sim.wait(MOMENT);
    expect_taint(&sim, "n1", false);
}

#[test]
fn status_checks_that_pass_in_between_are_no_failure_for_good() {
    let mut sim = impaired();
    for _ in 0..10 {
        sim.wait(Duration::from_secs(200));
        sim.ec2.impair(&instance_of("n1"), None);
        sim.wait(Duration::from_mins(1));
        sim.ec2.impair(&instance_of("n1"), SINCE);
    }
    assert_eq!(sim.taints_written(), [], "{}", sim.story());
    // A different failure each time does not count as permanent.
    for since in ["a", "b", "c", "d", "e", "f"] {
        sim.ec2.impair(&instance_of("n1"), Some(since));
        sim.wait(Duration::from_secs(200));
    }
    assert_eq!(sim.taints_written(), [], "{}", sim.story());
}

#[test]
fn a_node_that_was_ready_in_between_restarts_the_five_minutes() {
    let mut sim = impaired();
    for _ in 0..5 {
        sim.wait(Duration::from_secs(280));
        ready(&mut sim, "n1");
        sim.wait(MOMENT);
        not_ready(&mut sim, "n1");
    }
    assert_eq!(sim.taints_written(), [], "{}", sim.story());
}

#[test]
fn a_node_that_is_ready_is_not_judged_by_its_status_checks() {
    let mut sim = fast(&["n1", "n2"]);
    sim.change_block("block", |block| {
        block.spec.as_mut().unwrap().data_path = DataPath::NodePart;
    });
    reports(&mut sim, "n1", 1);
    sim.ec2.impair(&instance_of("n1"), SINCE);
    expect_no_taint_is_written(&mut sim);
    assert_eq!(sim.checks_asked(), 0);
}

#[test]
fn the_status_checks_of_an_instance_that_ec2_does_not_know_are_not_read() {
    let mut sim = impaired();
    sim.describe_fails = Some(Outcome::InstanceNotFound);
    expect_no_taint_is_written(&mut sim);
    assert_eq!(sim.checks_asked(), 0);
}

#[test]
fn status_checks_that_are_not_answered_prove_nothing() {
    for outcome in [Outcome::Unknown, Outcome::Throttled, Outcome::Invalid] {
        let mut sim = impaired();
        sim.checks_fail = Some(outcome);
        expect_no_taint_is_written(&mut sim);
        // The last answer with a failing check is too old.
        let mut sim = impaired();
        sim.wait(Duration::from_secs(250));
        sim.checks_fail = Some(outcome);
        expect_no_taint_is_written(&mut sim);
    }
}

#[test]
fn a_failure_for_good_that_was_last_seen_long_ago_does_not_count() {
    let mut sim = impaired();
    sim.wait(Duration::from_secs(200));
    // The Node has a newer version that the watch does not show: each write gets a conflict.
    sim.deliver(0);
    sim.controllers[0].stuck.insert(Kind::Node);
    sim.change_node("n1", |node| node.created += 1);
    sim.wait(Duration::from_secs(200));
    assert!(!sim.taints_written().is_empty(), "{}", sim.story());
    expect_taint(&sim, "n1", false);
    sim.checks_fail = Some(Outcome::Unknown);
    sim.wait(Duration::from_secs(11));
    sim.controllers[0].stuck.clear();
    expect_no_taint_is_written(&mut sim);
}

#[test]
fn without_the_permission_for_status_checks_the_state_of_the_instance_decides() {
    let mut sim = impaired();
    sim.checks_fail = Some(Outcome::Denied);
    sim.wait(HOUR);
    assert_eq!(sim.taints_written(), [], "{}", sim.story());
    let asked = sim.checks_asked();
    assert!((5..=7).contains(&asked), "once in ten minutes: {asked}");
    sim.expect_event("node n1", Reason::AccessDenied);
    sim.instance("n1", InstanceState::Stopped);
    sim.wait(Duration::from_secs(31));
    expect_taint(&sim, "n1", true);
}
