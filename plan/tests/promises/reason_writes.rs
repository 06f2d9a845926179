//! When the reason of a waiting pod is written: after two seconds, once, again only when the reason is another, and
//! never over a newer state of the pod.
//! Rules: R3.31, R3.33, R4.40.

use std::time::Duration;

use mooring_plan::facts::Kind;
use mooring_plan::reason::Reason;
use mooring_plan::step::{GateWrite, StatusWrite, Step, Write};

use crate::sim::{Fault, Sim, address};
use crate::waiting_reasons::{HOUR, reported, world};

#[test]
fn a_rollout_waits_but_only_after_a_minute() {
    let mut sim = world();
    sim.pod("old").on("n2").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.pod("a").on("n1").replica_set("rs2", 2, "dep");
    sim.wait(Duration::from_secs(55));
    assert_eq!(reported(&sim, "a"), [], "{}", sim.story());
    sim.wait(HOUR);
    assert_eq!(reported(&sim, "a").len(), 1, "{}", sim.story());
    sim.expect_denied("a", Reason::HandoverWaiting);
}

#[test]
fn another_reason_is_written_but_not_another_message() {
    let mut sim = world();
    sim.ec2.default_fault = Some(|_| Fault::Throttled);
    sim.pod("a").on("n1");
    sim.wait(HOUR);
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.wait(HOUR);
    sim.expect_denied("a", Reason::AccessDenied);
    assert_eq!(reported(&sim, "a").len(), 2, "{}", sim.story());
}

#[test]
fn the_drift_and_then_the_forbidden_repair() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.found_on("203.0.113.10", None);
    sim.wait(HOUR);
    sim.expect_denied("a", Reason::AccessDenied);
    let reasons: Vec<Reason> = reported(&sim, "a")
        .iter()
        .filter(|(_, gate)| !gate.status)
        .map(|(_, gate)| gate.reason)
        .collect();
    assert_eq!(reasons, [Reason::Drifted, Reason::AccessDenied]);
}

#[test]
fn a_wait_of_less_than_two_seconds_has_no_reason() {
    let mut sim = world();
    sim.count_from_here();
    sim.ec2.faults.push_back(Fault::RequestLost);
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_cost(2, 2, 1);
}

#[test]
fn a_process_with_lagging_watches_does_not_deny_the_holder() {
    let mut sim = world();
    sim.second_controller();
    sim.ec2.default_fault = Some(|_| Fault::Throttled);
    sim.leader = Some(0);
    sim.pod("a").on("n1");
    sim.wait(Duration::from_millis(1_500));
    sim.deliver(1);
    sim.controllers[1].stuck = [Kind::Ip, Kind::Pod].into();
    sim.ec2.default_fault = None;
    sim.wait(Duration::from_secs(10));
    sim.expect_attached("partner", "a");
    let version = sim.the_pod("a").version;
    for _ in 0..5 {
        sim.now = sim.now.plus(Duration::from_secs(10));
        sim.leader = Some(1);
        let until = sim.now.plus(Duration::from_millis(900));
        sim.run_until(until);
        sim.expect_attached("partner", "a");
    }
    assert_eq!(sim.the_pod("a").version, version, "{}", sim.story());
    assert_eq!(
        sim.ec2.holder_of(address("203.0.113.10")).unwrap().as_str(),
        "eni-n1"
    );
}

#[test]
fn a_pod_that_changed_after_its_read_gets_the_present_reason() {
    let mut sim = world();
    sim.ec2.default_fault = Some(|_| Fault::Throttled);
    sim.pod("a").on("n1");
    let telling = |step: &Step| matches!(step, Step::Write(Write::Gate(_)));
    sim.wait(Duration::from_millis(1_900));
    let mut hand = None;
    for _ in 0..100 {
        sim.now = sim.now.plus(Duration::from_millis(10));
        hand = sim.in_hand(0).filter(|(_, step)| telling(step));
        if hand.is_some() {
            break;
        }
        let _ = sim.step(0);
    }
    let (name, step) = hand.unwrap_or_else(|| panic!("{}", sim.story()));
    sim.containers_ready("a");
    sim.carry_out(0, &name, &step);
    assert!(sim.the_pod("a").gate.is_none(), "{}", sim.story());
    sim.wait(Duration::from_secs(3));
    sim.expect_denied("a", Reason::Throttled);
    let recorded = |step: &Step| {
        matches!(
            step,
            Step::Write(Write::Status {
                change: StatusWrite::Record,
                ..
            })
        )
    };
    assert!(!sim.taken.iter().any(|(_, _, step)| recorded(step)));
}

#[test]
fn writes_back_off_while_the_watch_shows_an_outdated_pod() {
    let mut sim = world();
    sim.node_unreachable("n1");
    sim.pod("a").on("n1");
    sim.deliver(0);
    sim.controllers[0].stuck = [Kind::Pod].into();
    sim.containers_ready("a");
    sim.wait(Duration::from_mins(1));
    let tries = reported(&sim, "a").len();
    assert!((2..=10).contains(&tries), "{tries}\n{}", sim.story());
    assert!(sim.the_pod("a").gate.is_none(), "{}", sim.story());
    sim.controllers[0].stuck.clear();
    sim.relist(0);
    sim.wait(Duration::from_secs(1));
    sim.expect_denied("a", Reason::NoEligibleNode);
}

#[test]
fn another_holder_after_another_reason() {
    let mut sim = world();
    sim.node_unreachable("n2");
    sim.pod("b").on("n2");
    sim.wait(Duration::from_secs(10));
    sim.expect_denied("b", Reason::NoEligibleNode);
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(10));
    sim.expect_attached("partner", "a");
    sim.node_is_well("n2");
    sim.wait(Duration::from_secs(10));
    sim.expect_denied("b", Reason::ClaimedByOther);
}

#[test]
fn a_reason_is_neither_true_nor_a_denial() {
    let mut gate = GateWrite {
        pod: crate::sim::key("a"),
        uid: "a".into(),
        version: None,
        status: false,
        shown: None,
        reason: Reason::NodeFull,
        message: String::new(),
        denied_at: None,
    };
    assert!(gate.only_explains());
    gate.status = true;
    assert!(!gate.only_explains());
    gate.denied_at = Some(mooring_plan::names::ResourceVersion(1));
    assert!(!gate.only_explains());
    gate.status = false;
    assert!(!gate.only_explains());
}
