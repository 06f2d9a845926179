//! In an outage of EC2, one address at a time tries a call, about once a second. The first success ends the wait of
//! all: recovery follows within two seconds.
//! Rules: R5.11 to R5.13.

use std::time::Duration;

use mooring_plan::names::IpName;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Call, StatusWrite, Step, Write};
use mooring_plan::time::Instant;

use crate::sim::{Fault, Sim};

const WITHIN: Duration = Duration::from_secs(2);

/// Reserved IPs: up to as many as a /24 has addresses.
fn world(ips: u64) -> Sim {
    let mut sim = Sim::new();
    sim.ec2.limit_addresses(300);
    sim.node("n1");
    sim.node("n2");
    for n in 0..ips {
        sim.ip(&ip(n), &format!("203.0.113.{}", 4 + n));
    }
    sim.settle();
    sim.count_from_here();
    sim
}

fn ip(n: u64) -> String {
    format!("ip{n:03}")
}

fn pods(sim: &mut Sim, ips: u64) {
    for n in 0..ips {
        sim.pod(&format!("pod{n:03}")).on("n1").asks(&ip(n));
    }
}

/// The times of all calls since `from`.
fn calls(sim: &Sim, from: Instant) -> Vec<Instant> {
    let calls = sim
        .taken
        .iter()
        .filter(|(at, _, step)| *at >= from && matches!(step, Step::Call(_)));
    calls.map(|(at, ..)| *at).collect()
}

/// Asserts at most one call per second since `from` (without the first one, which detects the outage), and at least one
/// every two seconds.
fn expect_one_at_a_time(sim: &Sim, from: Instant) {
    let calls = calls(sim, from);
    let seconds = usize::try_from(sim.now.since(from).as_secs()).unwrap();
    let count = calls.len();
    assert!(
        count <= seconds + 2 && count >= seconds / 2,
        "{count} calls in {seconds} s\n{}",
        sim.story()
    );
}

/// Asserts that each IP makes a call within two seconds after `from`, plus the milliseconds of the steps of this world.
fn expect_recovered(sim: &Sim, from: Instant, ips: u64) {
    let calls = calls(sim, from);
    let steps = sim.taken.iter().filter(|(at, ..)| *at >= from).count();
    let due = from
        .plus(WITHIN)
        .plus(Duration::from_millis(u64::try_from(steps).unwrap()));
    let in_time = calls.iter().filter(|at| **at <= due).count();
    assert!(
        u64::try_from(in_time).unwrap() >= ips,
        "{in_time} of {ips} by {due:?}, from {from:?}: {calls:?}\n{}",
        sim.story()
    );
}

/// Every call has this fault for a minute; then EC2 serves again.
fn a_minute_of(fault: fn(&Call) -> Fault, ips: u64) {
    let mut sim = world(ips);
    sim.ec2.default_fault = Some(fault);
    let from = sim.now;
    pods(&mut sim, ips);
    sim.wait(Duration::from_mins(1));
    expect_one_at_a_time(&sim, from);
    sim.ec2.default_fault = None;
    let from = sim.now;
    sim.wait(Duration::from_secs(6));
    expect_recovered(&sim, from, ips);
    for n in 0..ips {
        sim.expect_attached(&ip(n), &format!("pod{n:03}"));
    }
}

#[test]
fn throttling_ends_for_one() {
    a_minute_of(|_| Fault::Throttled, 1);
}

#[test]
fn throttling_ends_for_all() {
    a_minute_of(|_| Fault::Throttled, 245);
}

#[test]
fn a_permission_is_granted_to_one() {
    a_minute_of(|_| Fault::Denied, 1);
}

#[test]
fn a_permission_is_granted_to_all() {
    a_minute_of(|_| Fault::Denied, 60);
}

#[test]
fn ec2_answers_again_to_one() {
    a_minute_of(|_| Fault::RequestLost, 1);
}

#[test]
fn ec2_answers_again_to_all() {
    a_minute_of(|_| Fault::RequestLost, 60);
}

#[test]
fn four_failed_calls_cost_five_seconds() {
    for fault in [Fault::RequestLost, Fault::AnswerLost, Fault::Throttled] {
        let mut sim = world(1);
        sim.ec2.faults.extend([fault; 4]);
        let from = sim.now;
        pods(&mut sim, 1);
        sim.wait(Duration::from_millis(5_500));
        assert!(calls(&sim, from).len() <= 5, "{}", sim.story());
        sim.expect_attached("ip000", "pod000");
    }
}

#[test]
fn deletions_continue_when_throttling_ends() {
    const IPS: u64 = 245;
    let mut sim = world(IPS);
    pods(&mut sim, IPS);
    sim.settle();
    sim.ec2.default_fault = Some(|_| Fault::Throttled);
    let from = sim.now;
    for n in 0..IPS {
        sim.remove_pod(&format!("pod{n:03}"));
        sim.delete_ip(&ip(n));
    }
    sim.wait(Duration::from_mins(1));
    expect_one_at_a_time(&sim, from);
    sim.ec2.default_fault = None;
    let from = sim.now;
    sim.wait(Duration::from_secs(6));
    expect_recovered(&sim, from, IPS);
    for n in 0..IPS {
        sim.expect_gone(&ip(n));
    }
}

#[test]
fn addresses_try_in_turn() {
    let mut sim = world(5);
    sim.ec2.default_fault = Some(|_| Fault::RequestLost);
    pods(&mut sim, 5);
    let from = sim.now;
    sim.wait(Duration::from_secs(30));
    for n in 0..5 {
        let name = IpName::new(ip(n));
        let tries = sim
            .taken
            .iter()
            .filter(|(at, of, step)| *at >= from && *of == name && matches!(step, Step::Call(_)));
        let tries = tries.count();
        assert!((4..=7).contains(&tries), "{name}: {tries}\n{}", sim.story());
    }
}

#[test]
fn a_single_denied_address_delays_no_other() {
    const IPS: u64 = 40;
    let mut sim = world(IPS);
    sim.ec2.default_fault = Some(|call| match call.interface().as_str() {
        "eni-n2" => Fault::Denied,
        _ => Fault::None,
    });
    sim.pod("pod000").on("n2").asks("ip000");
    for n in 1..IPS {
        let from = sim.now;
        sim.pod(&format!("pod{n:03}")).on("n1").asks(&ip(n));
        sim.wait(Duration::from_secs(1));
        // The first success of another address shows that the fault concerns only some addresses.
        if n > 2 {
            sim.expect_attached(&ip(n), &format!("pod{n:03}"));
            assert!(calls(&sim, from).len() <= 2, "{}", sim.story());
        }
    }
    sim.expect_reason("ip000", Reason::AccessDenied);
}

#[test]
fn a_denied_rollout_continues_when_another_call_is_permitted() {
    let mut sim = world(2);
    for n in 0..2 {
        let set = format!("old{n}");
        sim.pod(&format!("a{n}"))
            .on("n1")
            .asks(&ip(n))
            .replica_set(&set, 1, &format!("dep{n}"));
    }
    sim.settle();
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.pod("b0")
        .on("n2")
        .asks("ip000")
        .replica_set("new0", 2, "dep0")
        .ready();
    sim.wait(Duration::from_secs(20));
    sim.expect_attached("ip000", "a0");
    sim.ec2.default_fault = None;
    sim.remove_pod("a1");
    let from = sim.now;
    sim.wait(Duration::from_secs(8));
    sim.expect_free("ip001");
    sim.expect_attached("ip000", "b0");
    let claimed = sim.taken.iter().any(|(at, of, step)| {
        *at >= from
            && *at <= from.plus(WITHIN)
            && *of == IpName::from("ip000")
            && matches!(
                step,
                Step::Write(Write::Status {
                    change: StatusWrite::Claim,
                    ..
                })
            )
    });
    assert!(claimed, "{}", sim.story());
}

#[test]
fn holders_keep_their_addresses_while_all_moves_are_denied() {
    const IPS: u64 = 20;
    let mut sim = world(IPS);
    for n in 0..IPS {
        sim.pod(&format!("a{n}")).on("n1").asks(&ip(n)).replica_set(
            &format!("old{n}"),
            1,
            &format!("dep{n}"),
        );
    }
    sim.settle();
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    let from = sim.now;
    for n in 0..IPS {
        sim.pod(&format!("b{n}"))
            .on("n2")
            .asks(&ip(n))
            .replica_set(&format!("new{n}"), 2, &format!("dep{n}"))
            .ready();
    }
    sim.wait(Duration::from_secs(4));
    for n in 0..IPS {
        sim.expect_attached(&ip(n), &format!("a{n}"));
    }
    assert!(calls(&sim, from).len() <= 5, "{}", sim.story());
}
