//! What fast failover needs and is not permitted is reported on the Node: a question to EC2, or a write of its taint.
//! Rule: R3.42.

use std::time::Duration;

use mooring_plan::cloud::InstanceState;
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Notice, Regarding};

use crate::fast_failover::{HOUR, expect_taint, fast, not_ready, out_of_service, ready};
use crate::sim::Sim;

/// Longer than the longest wait.
const SOON: Duration = Duration::from_secs(31);

fn reported_on_nodes(sim: &Sim, reason: Reason) -> Vec<&Notice> {
    let reported = sim.rules.notices(reason).into_iter();
    reported
        .filter(|notice| matches!(notice.on, Regarding::Node(..)))
        .collect()
}

/// Asserts that there is one Event of this reason on n1, with these words.
fn expect_reported(sim: &Sim, reason: Reason, words: &[&str]) {
    sim.expect_event("node n1", reason);
    let reported = reported_on_nodes(sim, reason);
    let [notice] = reported[..] else {
        panic!("{reported:?}");
    };
    for words in words {
        assert!(notice.message.contains(words), "{notice:?}");
    }
}

#[test]
fn a_question_that_ec2_denies_is_reported_on_the_node_and_on_its_pods() {
    for outcome in [Outcome::Denied, Outcome::Unauthenticated] {
        let mut sim = fast(&["n1", "n2"]);
        sim.describe_fails = Some(outcome);
        not_ready(&mut sim, "n1");
        sim.wait(HOUR);
        let words = [
            "ec2:DescribeInstances",
            "node n1 is not taken out of service",
        ];
        expect_reported(&sim, Reason::AccessDenied, &words);
        sim.expect_event("a", Reason::AccessDenied);
    }
}

#[test]
fn lost_credentials_are_reported_once_and_delay_no_later_status_check() {
    let mut sim = fast(&["n1", "n2"]);
    not_ready(&mut sim, "n1");
    sim.wait(Duration::from_mins(1));
    sim.describe_fails = Some(Outcome::Unauthenticated);
    sim.wait(Duration::from_mins(2));
    expect_reported(&sim, Reason::AccessDenied, &["ec2:DescribeInstances"]);
    let asked = sim.checks_asked();
    sim.describe_fails = None;
    sim.wait(SOON);
    sim.wait(SOON);
    assert!(sim.checks_asked() > asked, "{}", sim.story());
}

#[test]
fn a_question_that_ec2_does_not_answer_is_no_missing_permission() {
    let mut sim = fast(&["n1", "n2"]);
    not_ready(&mut sim, "n1");
    for outcome in [
        Outcome::Unknown,
        Outcome::Throttled,
        Outcome::InstanceNotFound,
    ] {
        sim.describe_fails = Some(outcome);
        sim.wait(SOON);
    }
    assert!(sim.questions().len() > 15);
    assert_eq!(
        reported_on_nodes(&sim, Reason::AccessDenied),
        [] as [&Notice; 0]
    );
}

#[test]
fn a_question_that_ec2_denies_about_a_node_that_is_back_is_reported() {
    let mut sim = out_of_service(InstanceState::Stopped);
    sim.describe_fails = Some(Outcome::Denied);
    ready(&mut sim, "n1");
    sim.wait(HOUR);
    let words = ["node n1 keeps its taint out-of-service"];
    expect_reported(&sim, Reason::AccessDenied, &words);
}

#[test]
fn a_taint_that_cannot_be_set_is_reported() {
    let mut sim = fast(&["n1", "n2"]);
    sim.forbids_taints = true;
    sim.instance("n1", InstanceState::Stopped);
    not_ready(&mut sim, "n1");
    sim.wait(HOUR);
    expect_taint(&sim, "n1", false);
    let words = [
        "set the taint out-of-service of node n1",
        "denied by a policy, request 1.",
    ];
    expect_reported(&sim, Reason::WriteRefused, &words);
    sim.forbids_taints = false;
    sim.wait(SOON);
    expect_taint(&sim, "n1", true);
}

#[test]
fn a_taint_that_cannot_be_removed_is_reported() {
    let mut sim = out_of_service(InstanceState::Stopped);
    sim.forbids_taints = true;
    sim.instance("n1", InstanceState::Running);
    ready(&mut sim, "n1");
    sim.wait(HOUR);
    expect_taint(&sim, "n1", true);
    let words = [
        "remove the taint out-of-service of node n1",
        "denied by a policy, request 1.",
        "Kubernetes deletes every pod of the node by force",
    ];
    expect_reported(&sim, Reason::WriteRefused, &words);
    sim.forbids_taints = false;
    sim.wait(SOON);
    expect_taint(&sim, "n1", false);
}
