//! A pod that waits longer than a healthy attach takes finds the reason at its readiness gate, written once,
//! and once more when the reason is another.
//! Rules: R3.31 to R3.33, R4.40.

use std::time::Duration;

use mooring_plan::facts::Kind;
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{GateWrite, StatusWrite, Step, Write};
use mooring_plan::time::Instant;

use crate::sim::{Fault, Sim, address};

const HOUR: Duration = Duration::from_hours(1);

fn world() -> Sim {
    Sim::reserved(&["n1", "n2"])
}

/// The gate writes of a pod, with their times.
fn told<'a>(sim: &'a Sim, pod: &str) -> Vec<(Instant, &'a GateWrite)> {
    let of = sim.taken.iter().filter_map(|(at, _, step)| match step {
        Step::Write(Write::Gate(gate)) if gate.pod.name == pod => Some((*at, gate)),
        _ => None,
    });
    of.collect()
}

/// The pod got this reason once, after two seconds and before three, with these words; also as an Event.
fn expect_gate_reason(sim: &Sim, pod: &str, from: Instant, reason: Reason, words: &str) {
    let told = told(sim, pod);
    let [(at, gate)] = told[..] else {
        panic!("{told:?}\n{}", sim.story());
    };
    let late = at.since(from).as_millis();
    assert!(
        (2000..3000).contains(&late),
        "after {late}\n{}",
        sim.story()
    );
    assert!(
        !gate.status && gate.reason == reason && gate.message.contains(words),
        "{gate:?}\n{}",
        sim.story()
    );
    sim.expect_denied(pod, reason);
    sim.expect_event(pod, reason);
}

/// A pod asks for the address on n1, and an hour goes by.
fn an_hour_of_waiting(sim: &mut Sim) -> Instant {
    let from = sim.now;
    sim.pod("a").on("n1");
    sim.wait(HOUR);
    from
}

#[test]
fn the_address_is_foreign() {
    let mut sim = world();
    sim.found_on("203.0.113.10", Some("eni-n2"));
    sim.wait(Duration::from_secs(130));
    let from = an_hour_of_waiting(&mut sim);
    expect_gate_reason(&sim, "a", from, Reason::AddressInUse, "eni-n2");
    sim.found_on("203.0.113.10", None);
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn a_missing_permission_is_shown_on_pod_and_ip() {
    let mut sim = world();
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    let from = an_hour_of_waiting(&mut sim);
    let words = "ec2:AssignPrivateIpAddresses";
    expect_gate_reason(&sim, "a", from, Reason::AccessDenied, words);
    sim.expect_reason("partner", Reason::AccessDenied);
}

#[test]
fn throttling_is_shown_on_pod_and_ip() {
    let mut sim = world();
    sim.ec2.default_fault = Some(|_| Fault::Throttled);
    let from = an_hour_of_waiting(&mut sim);
    let words = "ec2:AssignPrivateIpAddresses";
    expect_gate_reason(&sim, "a", from, Reason::Throttled, words);
    sim.expect_reason("partner", Reason::Throttled);
}

#[test]
fn a_silent_ec2_is_shown_on_pod_and_ip() {
    let mut sim = world();
    sim.ec2.default_fault = Some(|_| Fault::RequestLost);
    let from = an_hour_of_waiting(&mut sim);
    expect_gate_reason(&sim, "a", from, Reason::AttachFailed, "does not answer");
    sim.expect_reason("partner", Reason::AttachFailed);
}

#[test]
fn another_ip_tests_whether_ec2_serves_again() {
    let mut sim = world();
    sim.ip("other", "203.0.113.20");
    sim.settle();
    sim.ec2.default_fault = Some(|_| Fault::Throttled);
    sim.pod("b").on("n2").asks("other");
    sim.wait(Duration::from_secs(30));
    let from = an_hour_of_waiting(&mut sim);
    expect_gate_reason(&sim, "a", from, Reason::Throttled, "one IP at a time");
}

#[test]
fn the_location_of_the_address_is_unknown() {
    for (outcome, reason) in [
        (Outcome::Denied, Reason::AccessDenied),
        (Outcome::Throttled, Reason::Throttled),
        (Outcome::Unknown, Reason::AttachFailed),
    ] {
        let mut sim = world();
        sim.describe_fails = Some(outcome);
        sim.wait(Duration::from_secs(130));
        let from = an_hour_of_waiting(&mut sim);
        let words = "ec2:DescribeNetworkInterfaces";
        expect_gate_reason(&sim, "a", from, reason, words);
        sim.expect_reason("partner", reason);
    }
}

#[test]
fn the_interface_of_the_node_is_full() {
    let mut sim = world();
    for last in 100..109 {
        sim.found_on(&format!("203.0.113.{last}"), Some("eni-n1"));
    }
    sim.settle();
    let from = an_hour_of_waiting(&mut sim);
    expect_gate_reason(&sim, "a", from, Reason::NodeFull, "eni-n1");
}

#[test]
fn the_node_is_away() {
    let mut sim = world();
    sim.node_unreachable("n1");
    let from = an_hour_of_waiting(&mut sim);
    expect_gate_reason(&sim, "a", from, Reason::NoEligibleNode, "n1");
}

#[test]
fn the_block_is_exhausted() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.block("small", "203.0.113.64/31");
    for name in ["x", "y", "z"] {
        sim.ip_of_block(name, "small");
        sim.settle();
    }
    let from = sim.now;
    sim.pod("a").on("n1").asks("z");
    sim.wait(HOUR);
    expect_gate_reason(&sim, "a", from, Reason::BlockExhausted, "small");
}

#[test]
fn another_pod_holds_the_address() {
    let mut sim = world();
    sim.pod("first").on("n2");
    sim.settle();
    let from = an_hour_of_waiting(&mut sim);
    let words = "default/first";
    expect_gate_reason(&sim, "a", from, Reason::ClaimedByOther, words);
}

#[test]
fn the_previous_pod_still_runs() {
    let mut sim = world();
    sim.pod("first").on("n2").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.delete_pod("first");
    let from = sim.now;
    sim.pod("a").on("n1").of_replica_set("rs1", 1, "dep");
    sim.wait(HOUR);
    let words = "default/first has the address and is being deleted";
    expect_gate_reason(&sim, "a", from, Reason::ClaimedByOther, words);
    sim.remove_pod("first");
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn a_rollout_waits_but_only_after_a_minute() {
    let mut sim = world();
    sim.pod("old").on("n2").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.pod("a").on("n1").replica_set("rs2", 2, "dep");
    sim.wait(Duration::from_secs(55));
    assert_eq!(told(&sim, "a"), [], "{}", sim.story());
    sim.wait(HOUR);
    assert_eq!(told(&sim, "a").len(), 1, "{}", sim.story());
    sim.expect_denied("a", Reason::HandoverWaiting);
}

#[test]
fn the_ip_is_being_deleted() {
    let mut sim = world();
    sim.pod("first").on("n2");
    sim.settle();
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(10));
    sim.ec2.default_fault = Some(|_| Fault::Throttled);
    sim.delete_ip("partner");
    sim.wait(HOUR);
    sim.expect_denied("a", Reason::IPDeleted);
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
    assert_eq!(told(&sim, "a").len(), 2, "{}", sim.story());
}

#[test]
fn the_drift_and_then_the_forbidden_repair() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.found_on("203.0.113.10", None);
    sim.wait(HOUR);
    sim.expect_denied("a", Reason::AccessDenied);
    let reasons: Vec<Reason> = told(&sim, "a")
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
    sim.tell(1);
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
fn the_pod_was_admitted_for_an_earlier_ip_of_that_name() {
    let mut sim = world();
    let from = sim.now;
    sim.pod("a").on("n1");
    sim.change_pod("a", |pod| pod.ip = Some("gone".into()));
    sim.wait(HOUR);
    let words = "admitted for an earlier IP partner that was deleted: delete the pod";
    expect_gate_reason(&sim, "a", from, Reason::StalePod, words);
}

#[test]
fn the_block_has_no_node_and_the_label_for_an_autoscaler_is_named() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    let from = sim.now;
    sim.pod("a");
    sim.wait(HOUR);
    let words = "the label ip.wgtwo.com.node-restriction.kubernetes.io/block on its node template";
    expect_gate_reason(&sim, "a", from, Reason::NoEligibleNode, words);
}

/// What the IP's condition `Attached` says.
fn attached(sim: &Sim) -> String {
    let conditions = &sim.the_ip("partner").status.conditions;
    conditions.attached.clone().unwrap().message
}

#[test]
fn an_ip_names_the_pending_pod_that_asks_for_it() {
    let mut sim = world();
    assert!(attached(&sim).starts_with("no pod asks for it"));
    sim.count_from_here();
    sim.pod("pw");
    sim.wait(Duration::from_millis(1_900));
    sim.expect_cost(0, 0, 0);
    sim.wait(Duration::from_millis(200));
    let words = "pod default/pw asks for it and is not scheduled yet";
    assert_eq!(attached(&sim), words);
    sim.wait(HOUR);
    assert_eq!(attached(&sim), words);
    sim.expect_cost(0, 1, 0);
    sim.remove_pod("pw");
    sim.settle();
    assert!(attached(&sim).starts_with("no pod asks for it"));
}

#[test]
fn no_message_to_a_pod_contains_a_number() {
    let mut sim = Sim::attached(&["n1"]);
    sim.change_pod("a", |pod| pod.ended = true);
    sim.settle();
    sim.expect_denied("a", Reason::Detaching);
    let said = told(&sim, "a").last().unwrap().1.message.clone();
    assert_eq!(said, "IP partner was taken off this pod");
}

#[test]
fn writes_back_off_while_the_watch_shows_an_outdated_pod() {
    let mut sim = world();
    sim.node_unreachable("n1");
    sim.pod("a").on("n1");
    sim.tell(0);
    sim.controllers[0].stuck = [Kind::Pod].into();
    sim.containers_ready("a");
    sim.wait(Duration::from_mins(1));
    let tries = told(&sim, "a").len();
    assert!((2..=10).contains(&tries), "{tries}\n{}", sim.story());
    assert!(sim.the_pod("a").gate.is_none(), "{}", sim.story());
    sim.controllers[0].stuck.clear();
    sim.relist(0);
    sim.wait(Duration::from_secs(1));
    sim.expect_denied("a", Reason::NoEligibleNode);
}

#[test]
fn an_ip_names_no_pod_without_the_annotation() {
    let left: [fn(&mut mooring_plan::objects::Pod); 4] = [
        |pod| pod.ended = true,
        |pod| pod.deleting = Some(30),
        |pod| pod.annotated = false,
        |pod| pod.ip = Some("an-earlier-ip".into()),
    ];
    for (which, leave) in left.into_iter().enumerate() {
        let mut sim = world();
        sim.pod("pw");
        sim.change_pod("pw", leave);
        sim.wait(HOUR);
        let said = attached(&sim);
        assert!(said.starts_with("no pod asks for it"), "{which}: {said}");
    }
}

#[test]
fn a_pod_without_a_node_gets_no_reason_of_the_ip() {
    let mut sim = world();
    sim.found_on("203.0.113.10", Some("eni-n2"));
    sim.pod("a");
    sim.wait(HOUR);
    sim.expect_reason("partner", Reason::AddressInUse);
    assert!(told(&sim, "a").is_empty(), "{}", sim.story());
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
    assert!(gate.tells_why());
    gate.status = true;
    assert!(!gate.tells_why());
    gate.denied_at = Some(mooring_plan::names::ResourceVersion(1));
    assert!(!gate.tells_why());
    gate.status = false;
    assert!(!gate.tells_why());
}
