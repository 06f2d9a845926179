//! EC2 denies calls: this is reported, one call a second is tried for all addresses together, and no address is lost.
//! Rules: R5.8, R5.9, R5.11.

use std::time::Duration;

use mooring_plan::names::IpName;
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{StatusWrite, Step, Write};
use mooring_plan::time::Instant;

use crate::sim::{Fault, Sim};

const MINUTES: u64 = 30;

fn world() -> Sim {
    Sim::reserved(&["n1", "n2"])
}

fn attached() -> Sim {
    let mut sim = world();
    sim.next_revision("a", "n1", 1);
    sim.settle();
    sim.expect_attached("partner", "a");
    sim
}

/// All permissions are removed, and half an hour passes.
fn half_an_hour_without_permissions(sim: &mut Sim) {
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.wait(Duration::from_secs(60 * MINUTES));
}

fn permissions_return(sim: &mut Sim) {
    sim.ec2.default_fault = None;
    sim.describe_fails = None;
    sim.settle();
}

/// Asserts that there are never two calls for the IP within a second, and at least `least` calls in total.
fn expect_one_a_second_at_most(sim: &Sim, ip: &str, from: Instant, least: usize) {
    let ip = IpName::from(ip);
    let calls: Vec<Instant> = sim
        .taken
        .iter()
        .filter(|(at, name, step)| *at >= from && *name == ip && matches!(step, Step::Call(_)))
        .map(|(at, ..)| *at)
        .collect();
    let crowded = calls
        .windows(2)
        .find(|two| two[1].since(two[0]) < Duration::from_secs(1));
    assert!(crowded.is_none(), "{crowded:?}: {calls:?}\n{}", sim.story());
    assert!(calls.len() >= least, "{calls:?}\n{}", sim.story());
}

/// How often the gate of a pod was set to `False`.
fn count_denials(sim: &Sim, pod: &str, from: Instant) -> usize {
    sim.taken
        .iter()
        .filter(|(at, _, step)| {
            *at >= from && matches!(step, Step::Write(Write::Gate(gate)) if !gate.status && gate.pod.name == pod)
        })
        .count()
}

/// The `Attached` condition names the IAM action.
fn expect_action_named(sim: &Sim, action: &str) {
    let condition = sim
        .the_ip("partner")
        .status
        .conditions
        .attached
        .clone()
        .unwrap();
    assert!(
        condition.reason == Reason::AccessDenied && condition.message.contains(action),
        "{condition:?}\n{}",
        sim.story()
    );
}

#[test]
fn an_attach_waits_and_the_condition_names_the_action() {
    let mut sim = world();
    let from = sim.now;
    sim.count_from_here();
    sim.pod("a").on("n1");
    half_an_hour_without_permissions(&mut sim);
    expect_one_a_second_at_most(&sim, "partner", from, 1400);
    assert!(sim.counts.status_writes <= 3, "{:?}", sim.counts);
    expect_action_named(&sim, "ec2:AssignPrivateIpAddresses");
    // A policy can limit the action to subnets.
    expect_action_named(&sim, "allow it, for the subnet of the block, in");
    sim.expect_event("IP partner", Reason::AccessDenied);
    permissions_return(&mut sim);
    sim.expect_attached("partner", "a");
}

#[test]
fn a_denied_rollout_keeps_the_holder_and_backs_off() {
    for reassign in [false, true] {
        let mut sim = attached();
        sim.settle_reassignment(reassign);
        let from = sim.now;
        sim.next_revision("b", "n2", 2);
        half_an_hour_without_permissions(&mut sim);
        expect_one_a_second_at_most(&sim, "partner", from, 4);
        let reported = count_denials(&sim, "a", from);
        assert!(
            (4..=6).contains(&reported),
            "{reported} times\n{}",
            sim.story()
        );
        sim.expect_attached("partner", "a");
        sim.expect_event("IP partner", Reason::AccessDenied);
        sim.expect_event("b", Reason::AccessDenied);
        // A new pod is tried at once: a user who repairs the policy can start one.
        sim.ec2.default_fault = None;
        sim.remove_pod("b");
        sim.pod("c").on("n2").of_replica_set("rs2", 2, "dep");
        sim.containers_ready("c");
        sim.wait(Duration::from_secs(40));
        sim.expect_attached("partner", "c");
    }
}

#[test]
fn a_deletion_waits_and_the_condition_names_the_action() {
    let mut sim = attached();
    let from = sim.now;
    sim.delete_ip("partner");
    half_an_hour_without_permissions(&mut sim);
    expect_one_a_second_at_most(&sim, "partner", from, 1400);
    expect_action_named(&sim, "ec2:UnassignPrivateIpAddresses");
    sim.expect_event("IP partner", Reason::AccessDenied);
    sim.expect_on("203.0.113.10", Some("eni-n1"));
    permissions_return(&mut sim);
    sim.expect_gone("partner");
}

#[test]
fn at_most_one_call_per_second_whatever_changes() {
    let mut sim = attached();
    let from = sim.now;
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    for round in 0..60 {
        match round % 4 {
            0 => sim.edit("partner", "203.0.113.20"),
            1 => sim.pod("b").on("n2").replica_set("rs2", 2, "dep").ready(),
            2 => sim.edit("partner", "203.0.113.10"),
            _ => sim.remove_pod("b"),
        }
        sim.wait(Duration::from_secs(7));
    }
    expect_one_a_second_at_most(&sim, "partner", from, 2);
    permissions_return(&mut sim);
    sim.expect_attached("partner", "a");
}

#[test]
fn a_denied_address_delays_no_other() {
    let mut sim = world();
    sim.ip("other", "203.0.113.20");
    sim.ec2.default_fault = Some(|call| match call.interface().as_str() {
        "eni-n1" => Fault::Denied,
        _ => Fault::None,
    });
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(5));
    sim.pod("b").on("n2").asks("other");
    sim.wait(Duration::from_secs(2));
    sim.expect_attached("other", "b");
    sim.expect_reason("partner", Reason::AccessDenied);
    let reported = sim.rules.reported("IP other", Reason::AccessDenied);
    assert!(!reported, "EC2 permitted it\n{}", sim.story());
}

#[test]
fn denied_describes_are_repeated_within_two_seconds_and_holders_stay() {
    let mut sim = attached();
    sim.describe_fails = Some(Outcome::Denied);
    // The last inventory is fresh for two intervals.
    sim.wait(Duration::from_secs(130));
    sim.count_from_here();
    sim.delete_pod("a");
    sim.pod("b").on("n2").of_replica_set("rs1", 1, "dep");
    sim.change_node("n1", |node| node.ready = false);
    sim.wait(Duration::from_secs(60 * MINUTES));
    let asked = (sim.counts.inventories, sim.counts.describes);
    let most = u32::try_from(MINUTES * 40 + 2).unwrap();
    assert!(asked.0 <= most && asked.1 <= most, "{asked:?}");
    sim.expect_attached("partner", "a");
    // First because the holder is being deleted; after the failover because no inventory comes.
    sim.expect_denied("b", Reason::AccessDenied);
    sim.expect_cost(0, 0, 2);
    permissions_return(&mut sim);
    sim.expect_attached("partner", "b");
}

#[test]
fn a_denied_describe_of_a_subnet_is_repeated_within_two_seconds() {
    let mut sim = Sim::new();
    sim.describe_fails = Some(Outcome::Denied);
    sim.ip("partner", "203.0.113.10");
    sim.wait(Duration::from_secs(60 * MINUTES));
    let asked = (sim.counts.inventories, sim.counts.describes);
    let most = u32::try_from(MINUTES * 40 + 2).unwrap();
    assert!(asked.0 <= most && asked.1 <= most, "{asked:?}");
    assert!(asked.0 >= 900 && asked.1 >= 900, "{asked:?}");
    permissions_return(&mut sim);
    sim.expect_free("partner");
}

#[test]
fn a_move_with_a_denied_assign_returns_the_address() {
    for reassign in [false, true] {
        let mut sim = attached();
        sim.settle_reassignment(reassign);
        sim.next_revision("b", "n2", 2);
        sim.ec2.faults.push_back(Fault::Denied);
        sim.wait(Duration::from_secs(20));
        sim.expect_attached("partner", "a");
        sim.settle();
        // Permissions are back.
        sim.expect_attached("partner", "b");
    }
}

#[test]
fn a_move_that_is_denied_after_the_unassign_waits() {
    let mut sim = attached();
    sim.next_revision("b", "n2", 2);
    sim.ec2.faults.push_back(Fault::None);
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.wait(Duration::from_secs(200));
    sim.expect_reason("partner", Reason::AccessDenied);
    assert_eq!(
        sim.the_ip("partner")
            .status
            .claim
            .as_ref()
            .unwrap()
            .pod
            .name,
        "b"
    );
    sim.ec2.default_fault = None;
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn without_an_inventory_an_attach_and_a_deletion_wait_with_a_reason() {
    let mut sim = attached();
    sim.describe_fails = Some(Outcome::Denied);
    sim.wait(Duration::from_secs(130));
    // An attached address is not affected.
    sim.expect_attached("partner", "a");
    sim.ip("other", "203.0.113.20");
    sim.pod("b").on("n2").asks("other");
    sim.delete_ip("partner");
    sim.count_from_here();
    sim.wait(Duration::from_mins(10));
    for ip in ["partner", "other"] {
        sim.expect_reason(ip, Reason::AccessDenied);
        sim.expect_event(&format!("IP {ip}"), Reason::AccessDenied);
    }
    expect_action_named(&sim, "ec2:DescribeNetworkInterfaces");
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    permissions_return(&mut sim);
    sim.expect_gone("partner");
    sim.expect_attached("other", "b");
}

#[test]
fn a_change_of_the_ip_does_not_prolong_a_refusal() {
    let mut sim = attached();
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.next_revision("b", "n2", 2);
    let returned = |step: &Step| {
        matches!(
            step,
            Step::Write(Write::Status {
                change: StatusWrite::Revert,
                ..
            })
        )
    };
    sim.step_until(returned);
    sim.taken.clear();
    // More than a minute passes; each change of the IP causes a decision.
    for _ in 0..6 {
        sim.wait(Duration::from_secs(25));
        let name = IpName::from("partner");
        sim.kube.change_ip(&name, None, |ip| ip.generation += 1);
    }
    let claims = |step: &Step| {
        matches!(
            step,
            Step::Write(Write::Status {
                change: StatusWrite::Claim,
                ..
            })
        )
    };
    let again = sim.taken.iter().any(|(_, _, step)| claims(step));
    assert!(again, "{}", sim.story());
}
