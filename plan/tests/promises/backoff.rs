//! A failed step is repeated with backoff, separately for each address: the wait grows up to thirty seconds, and ends
//! earlier if something changes.
//! Rules: R5.14 to R5.17.

use std::time::Duration;

use mooring_plan::names::IpName;
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Call, Read, StatusWrite, Step, Write};
use mooring_plan::time::Instant;

use crate::sim::{Fault, Sim};

/// Maximum additional wait of a step for an inventory, in milliseconds.
const A_LOOK: u64 = 1100;

fn world() -> Sim {
    let mut sim = Sim::new();
    for node in ["n1", "n2"] {
        sim.node(node);
    }
    sim.ip("partner", "203.0.113.10");
    sim.ip("other", "203.0.113.20");
    sim.settle();
    sim
}

/// Every request is lost.
fn calls_fail(sim: &mut Sim) {
    sim.ec2.faults.extend([Fault::RequestLost; 1000]);
}

fn is_call(step: &Step) -> bool {
    matches!(step, Step::Call(_))
}

fn is_write(step: &Step) -> bool {
    matches!(step, Step::Write(_))
}

fn is_pod_read(step: &Step) -> bool {
    matches!(step, Step::Read(Read::Pod(_)))
}

/// When such steps of an IP were done, since `from`.
fn times(sim: &Sim, ip: &str, of: fn(&Step) -> bool, from: Instant) -> Vec<u64> {
    let ip = IpName::from(ip);
    sim.taken
        .iter()
        .filter(|(at, name, step)| *at >= from && *name == ip && of(step))
        .map(|(at, ..)| at.as_millis())
        .collect()
}

fn gaps(times: &[u64]) -> Vec<u64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn expect_doubling(sim: &Sim, ip: &str, of: fn(&Step) -> bool, from: Instant) {
    let gaps = gaps(&times(sim, ip, of, from));
    assert!(gaps.len() > 12, "{gaps:?}\n{}", sim.story());
    for (nth, gap) in gaps.iter().enumerate() {
        let longest = (1000 << nth.min(5)).min(30_000);
        let meant = longest * 3 / 4..=longest + A_LOOK;
        assert!(
            meant.contains(gap),
            "{gap} ms, not {meant:?}: {gaps:?}\n{}",
            sim.story()
        );
    }
}

/// Asserts that two IPs whose first attempts failed at the same time are not tried again at the same time.
fn expect_apart(sim: &Sim, of: fn(&Step) -> bool, from: Instant) {
    let [one, other] = ["partner", "other"].map(|ip| times(sim, ip, of, from));
    assert!(one[0].abs_diff(other[0]) < 100, "{one:?} {other:?}");
    let apart = one.iter().zip(&other).skip(3);
    let together: Vec<_> = apart.filter(|(a, b)| a.abs_diff(**b) < 100).collect();
    assert!(together.is_empty(), "{together:?}: {one:?} {other:?}");
}

#[test]
fn calls_back_off_up_to_thirty_seconds_with_jitter() {
    let mut sim = world();
    sim.node("n3");
    sim.ip("third", "203.0.113.30");
    sim.ec2.default_fault = Some(|call| match call.interface().as_str() {
        "eni-n3" => Fault::None,
        _ => Fault::Denied,
    });
    sim.pod("a").on("n1");
    sim.pod("b").on("n2").asks("other");
    sim.wait(Duration::from_secs(3));
    sim.pod("c").on("n3").asks("third");
    sim.wait(Duration::from_secs(3));
    sim.expect_attached("third", "c");
    let from = sim.taken.iter().rev().find_map(|(at, name, step)| {
        (is_call(step) && *name == IpName::from("third")).then_some(*at)
    });
    let from = from.unwrap();
    sim.wait(Duration::from_mins(10));
    expect_doubling(
        &sim,
        "partner",
        is_call,
        from.plus(Duration::from_millis(1)),
    );
    expect_doubling(&sim, "other", is_call, from.plus(Duration::from_millis(1)));
    expect_apart(&sim, is_call, from.plus(Duration::from_millis(1)));
}

#[test]
fn writes_back_off_up_to_thirty_seconds_with_jitter() {
    let mut sim = world();
    sim.refuses = |_| true;
    let from = sim.now;
    sim.pod("a").on("n1");
    sim.pod("b").on("n2").asks("other");
    sim.wait(Duration::from_mins(10));
    expect_doubling(&sim, "partner", is_write, from);
    expect_doubling(&sim, "other", is_write, from);
    expect_apart(&sim, is_write, from);
    sim.refuses = |_| false;
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_attached("other", "b");
}

#[test]
fn reads_back_off_up_to_thirty_seconds_with_jitter() {
    let mut sim = world();
    sim.pod("a").on("n1");
    sim.pod("b").on("n2").asks("other");
    sim.settle();
    sim.reads_fail = true;
    sim.remove_pod("a");
    sim.remove_pod("b");
    let from = sim.now;
    sim.wait(Duration::from_mins(10));
    expect_doubling(&sim, "partner", is_pod_read, from);
    expect_doubling(&sim, "other", is_pod_read, from);
    expect_apart(&sim, is_pod_read, from);
    sim.expect_on("203.0.113.10", Some("eni-n1"));
    sim.reads_fail = false;
    sim.settle();
    sim.expect_free("partner");
    sim.expect_free("other");
}

#[test]
fn a_failing_address_delays_no_other() {
    let mut sim = world();
    calls_fail(&mut sim);
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(150));
    sim.step_until(is_call);
    sim.ec2.faults.clear();
    sim.pod("b").on("n2").asks("other");
    sim.wait(Duration::from_secs(2));
    sim.expect_attached("other", "b");
    sim.expect_attached("partner", "a");
}

#[test]
fn a_waiting_call_is_replaced_at_once_without_the_claim() {
    let mut sim = world();
    calls_fail(&mut sim);
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(200));
    sim.ec2.faults.clear();
    sim.delete_ip("partner");
    let from = sim.now;
    sim.wait(Duration::from_secs(1));
    let off = |step: &Step| matches!(step, Step::Call(Call::Unassign { .. }));
    assert_eq!(
        times(&sim, "partner", off, from).len(),
        1,
        "{}",
        sim.story()
    );
}

#[test]
fn a_waiting_call_is_made_at_once_when_the_spec_changes() {
    let mut sim = world();
    calls_fail(&mut sim);
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(200));
    sim.ec2.faults.clear();
    sim.allow_reassignment("partner");
    sim.wait(Duration::from_secs(2));
    sim.expect_attached("partner", "a");
}

#[test]
fn a_waiting_write_is_made_at_once_when_a_pod_of_the_ip_changes() {
    let mut sim = world();
    sim.refuses = |_| true;
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(200));
    sim.refuses = |_| false;
    sim.containers_ready("a");
    sim.wait(Duration::from_millis(100));
    sim.expect_attached("partner", "a");
}

#[test]
fn a_rejected_write_delays_no_other_write_and_no_timer() {
    for seconds in 60..90 {
        let mut sim = world();
        sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
        sim.settle();
        sim.pod("b").on("n2").of_replica_set("rs1", 1, "dep");
        sim.pod("c").on("n2").of_replica_set("rs1", 1, "dep");
        sim.delete_pod("a");
        sim.refuses = |write| matches!(write, Write::Label { .. });
        sim.remove_annotation("c");
        sim.wait(Duration::from_secs(seconds));
        sim.change_node("n1", |node| node.ready = false);
        let due = sim.now.plus(Duration::from_secs(30));
        sim.wait(Duration::from_secs(40));
        let claim = |step: &Step| {
            matches!(
                step,
                Step::Write(Write::Status {
                    change: StatusWrite::Claim,
                    ..
                })
            )
        };
        let claims = times(&sim, "partner", claim, due);
        let at_once = claims.first().is_some_and(|at| at - due.as_millis() < 100);
        assert!(at_once, "{due:?} {claims:?}\n{}", sim.story());
    }
}

#[test]
fn a_waiting_read_is_made_at_once_when_a_node_changes() {
    let mut sim = world();
    sim.pod("a").on("n1");
    sim.settle();
    sim.reads_fail = true;
    sim.remove_pod("a");
    sim.wait(Duration::from_secs(200));
    sim.reads_fail = false;
    sim.change_node("n1", |node| node.ready = false);
    sim.wait(Duration::from_millis(100));
    sim.expect_free("partner");
}

#[test]
fn one_inventory_without_an_answer_is_not_reported_and_a_second_is() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("a").on("n1");
    let claim = |step: &Step| {
        matches!(
            step,
            Step::Write(Write::Status {
                change: StatusWrite::Claim,
                ..
            })
        )
    };
    sim.step_until(claim);
    sim.restart(0);
    sim.describe_fails = Some(Outcome::Unknown);
    sim.count_from_here();
    let reported = |sim: &Sim| sim.rules.reported("IP partner", Reason::AttachFailed);
    while sim.counts.inventories < 1 {
        sim.wait(Duration::from_millis(10));
    }
    sim.wait(Duration::from_millis(500));
    assert_eq!(sim.counts.inventories, 1);
    assert!(!reported(&sim), "{}", sim.story());
    sim.wait(Duration::from_secs(2));
    assert!(reported(&sim), "{}", sim.story());
}

#[test]
fn a_failed_describe_is_repeated_after_one_and_a_half_to_two_seconds() {
    let mut sim = world();
    sim.describe_fails = Some(Outcome::Unknown);
    sim.wait(Duration::from_mins(1));
    sim.count_from_here();
    sim.wait(Duration::from_mins(10));
    let asked = sim.counts.inventories;
    assert!((300..=400).contains(&asked), "{asked} inventories");
}
