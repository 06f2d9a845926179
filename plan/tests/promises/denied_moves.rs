//! While EC2 denies an action to all addresses, a live holder keeps its address and stays ready until it is the turn of
//! its IP to try.
//! Rules: R5.11, R5.32.

use std::time::Duration;

use mooring_plan::names::IpName;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Call, StatusWrite, Step, Write};
use mooring_plan::time::Instant;

use crate::sim::{Fault, Sim};

/// "partner" and `others` are attached on n1, each to a pod of its own Deployment: "a", and the pods of [`old`].
fn holders(others: &[&str]) -> Sim {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    for (number, ip) in (20..).zip(others) {
        sim.ip(ip, &format!("203.0.113.{number}"));
    }
    sim.settle();
    sim.next_revision("a", "n1", 1);
    for ip in others {
        revision(&mut sim, ip, &old(ip), "n1", 1);
    }
    sim.settle();
    sim.expect_attached("partner", "a");
    for ip in others {
        sim.expect_attached(ip, &old(ip));
    }
    sim
}

fn old(ip: &str) -> String {
    format!("{ip}-old")
}

fn new(ip: &str) -> String {
    format!("{ip}-new")
}

/// Adds a ready pod of this revision of the Deployment of this IP.
fn revision(sim: &mut Sim, ip: &str, pod: &str, node: &str, revision: u64) {
    let set = format!("{ip}{revision}");
    sim.pod(pod)
        .on(node)
        .asks(ip)
        .replica_set(&set, revision, ip);
    sim.containers_ready(pod);
}

fn is_call(step: &Step) -> bool {
    matches!(step, Step::Call(_))
}

/// When a claim of the IP was written.
fn claims(sim: &Sim, ip: &str) -> Vec<Instant> {
    let of_ip = |name: &IpName| name.as_str() == ip;
    let claims = sim.taken.iter().filter(|(_, name, step)| {
        let claim = matches!(
            step,
            Step::Write(Write::Status {
                change: StatusWrite::Claim,
                ..
            })
        );
        of_ip(name) && claim
    });
    claims.map(|(at, ..)| *at).collect()
}

/// EC2 denies a call for the first address, and the second address is to move within the same second.
#[test]
fn a_move_waits_for_its_turn_and_not_for_a_minute() {
    for reassign in [false, true] {
        let mut sim = holders(&["other"]);
        if reassign {
            sim.allow_reassignment("partner");
            sim.allow_reassignment("other");
            sim.settle();
        }
        sim.ec2.default_fault = Some(|call: &Call| match call.address().to_string().as_str() {
            "203.0.113.10" => Fault::Denied,
            _ => Fault::None,
        });
        sim.next_revision("b", "n2", 2);
        sim.step_until(is_call);
        revision(&mut sim, "other", &new("other"), "n2", 2);
        sim.taken.clear();
        sim.wait(Duration::from_secs(5));
        sim.expect_attached("other", &new("other"));
        assert_eq!(claims(&sim, "other").len(), 1, "{}", sim.story());
    }
}

/// EC2 denies every move. Each address is tried in its turn, and the gate of its holder does not change before.
#[test]
fn the_gate_of_a_holder_is_false_only_when_ec2_is_called() {
    let others = ["first", "second", "third", "zenith"];
    let mut sim = holders(&others);
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.next_revision("b", "n2", 2);
    sim.step_until(is_call);
    sim.wait(Duration::from_millis(100));
    sim.taken.clear();
    for ip in others {
        revision(&mut sim, ip, &new(ip), "n2", 2);
    }
    sim.wait(Duration::from_mins(10));
    for ip in others {
        sim.expect_attached(ip, &old(ip));
        let of_ip = sim.taken.iter().filter(|(_, name, _)| name.as_str() == ip);
        let asked = of_ip.filter(|(_, _, step)| is_call(step)).count();
        assert_eq!(claims(&sim, ip).len(), asked, "{ip}\n{}", sim.story());
        assert!((3..=5).contains(&asked), "{ip}: {asked}\n{}", sim.story());
        sim.expect_event(&new(ip), Reason::AccessDenied);
    }
    sim.ec2.default_fault = None;
    sim.wait(Duration::from_mins(10));
    sim.expect_attached("partner", "b");
    for ip in others {
        sim.expect_attached(ip, &new(ip));
    }
}

/// EC2 permits to unassign, and not to assign.
fn without_assign(call: &Call) -> Fault {
    match call {
        Call::Assign { .. } => Fault::Denied,
        Call::Unassign { .. } => Fault::None,
    }
}

/// EC2 permits to assign, and not to unassign.
fn only_assign(call: &Call) -> Fault {
    match call {
        Call::Assign { .. } => Fault::None,
        Call::Unassign { .. } => Fault::Denied,
    }
}

/// EC2 permits to unassign and not to assign, and the pod "waits" waits for its address. Then the next revisions of the
/// Deployments of `others` are ready.
fn rollouts_without_assign(others: &[&str]) -> Sim {
    let mut sim = holders(others);
    sim.ip("waiting", "203.0.113.40");
    sim.ec2.default_fault = Some(without_assign);
    sim.pod("waits").on("n2").asks("waiting");
    sim.wait(Duration::from_secs(3));
    sim.count_from_here();
    sim.taken.clear();
    for ip in others {
        revision(&mut sim, ip, &new(ip), "n2", 2);
    }
    sim
}

/// Without an Assign an address that was unassigned is nowhere, and cannot go back.
#[test]
fn without_the_permission_to_assign_no_rollout_takes_an_address_from_its_pod() {
    let others = ["first", "second", "third", "zenith"];
    let mut sim = rollouts_without_assign(&others);
    sim.wait(Duration::from_mins(30));
    assert_eq!(sim.counts.unassigns, 0, "{}", sim.story());
    for ip in others {
        sim.expect_attached(ip, &old(ip));
        sim.expect_event(&new(ip), Reason::AccessDenied);
        sim.expect_denied(&new(ip), Reason::AccessDenied);
    }
    // The pod that waits for an attach tries about every second.
    sim.ec2.default_fault = None;
    sim.wait(Duration::from_secs(5));
    sim.expect_attached("waiting", "waits");
    for ip in others {
        sim.expect_attached(ip, &new(ip));
    }
}

#[test]
fn if_no_address_tries_to_assign_one_rollout_does_after_five_minutes() {
    let others = ["first", "second", "third", "zenith"];
    let mut sim = rollouts_without_assign(&others);
    sim.remove_pod("waits");
    sim.wait(Duration::from_secs(30));
    sim.expect_free("waiting");
    sim.count_from_here();
    sim.wait(Duration::from_mins(4));
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    sim.wait(Duration::from_mins(30));
    assert_eq!(sim.counts.unassigns, 1, "{}", sim.story());
    let claimed: usize = others.iter().map(|ip| claims(&sim, ip).len()).sum();
    assert_eq!(claimed, 1, "{}", sim.story());
    sim.ec2.default_fault = None;
    sim.wait(Duration::from_secs(5));
    for ip in others {
        sim.expect_attached(ip, &new(ip));
    }
}

/// The claim of an edit cannot go back: its pod would not be ready until EC2 permits both calls.
#[test]
fn an_edit_waits_while_ec2_denies_one_of_its_calls() {
    for assign in [true, false] {
        let mut sim = holders(&["other"]);
        sim.ip("waiting", "203.0.113.40");
        sim.ec2.default_fault = Some(if assign { without_assign } else { only_assign });
        if assign {
            sim.pod("waits").on("n2").asks("waiting");
        } else {
            sim.remove_pod(&old("other"));
        }
        sim.wait(Duration::from_secs(10));
        sim.edit("partner", "203.0.113.50");
        sim.wait(Duration::from_mins(30));
        sim.expect_attached("partner", "a");
        sim.expect_on("203.0.113.10", Some("eni-n1"));
        sim.expect_not_reserved("partner", Reason::AccessDenied);
        sim.ec2.default_fault = None;
        sim.wait(Duration::from_secs(5));
        sim.expect_attached("partner", "a");
        sim.expect_on("203.0.113.50", Some("eni-n1"));
    }
}

/// The claim of an edit takes the turn. The others wait although its call comes late, because the API server does not
/// answer the writes before it.
#[test]
fn of_edits_that_wait_for_the_permission_to_unassign_one_is_claimed() {
    let others = ["first", "second", "third", "zenith"];
    let mut sim = holders(&others);
    sim.ec2.default_fault = Some(only_assign);
    revision(&mut sim, "zenith", &new("zenith"), "n2", 2);
    sim.wait(Duration::from_secs(10));
    sim.remove_pod(&new("zenith"));
    sim.taken.clear();
    let edited = ["first", "second", "third"];
    for (number, ip) in (50..).zip(edited) {
        sim.edit(ip, &format!("203.0.113.{number}"));
    }
    let claimed = |sim: &Sim| edited.iter().map(|ip| claims(sim, ip).len()).sum::<usize>();
    sim.refuses = |write| matches!(write, Write::Gate(gate) if !gate.status);
    sim.wait(Duration::from_mins(6));
    assert_eq!(claimed(&sim), 1, "{}", sim.story());
    sim.refuses = |_| false;
    sim.wait(Duration::from_mins(30));
    assert_eq!(claimed(&sim), 1, "{}", sim.story());
    sim.ec2.default_fault = None;
    sim.wait(Duration::from_secs(5));
    for (number, ip) in (50..).zip(edited) {
        sim.expect_attached(ip, &old(ip));
        sim.expect_on(&format!("203.0.113.{number}"), Some("eni-n1"));
    }
}

/// A claim that was not written tries nothing.
#[test]
fn an_edit_whose_claim_is_refused_leaves_the_turn_to_the_next_one() {
    let mut sim = holders(&["first", "second", "zenith"]);
    sim.ec2.default_fault = Some(only_assign);
    revision(&mut sim, "zenith", &new("zenith"), "n2", 2);
    sim.wait(Duration::from_secs(10));
    sim.remove_pod(&new("zenith"));
    for (number, ip) in (50..).zip(["first", "second"]) {
        sim.edit(ip, &format!("203.0.113.{number}"));
    }
    sim.wait(Duration::from_secs(10));
    sim.ec2.default_fault = None;
    sim.refuses = |write| matches!(write, Write::Status { ip, change: StatusWrite::Claim, .. } if ip.as_str() == "first");
    sim.wait(Duration::from_mins(6));
    sim.expect_attached("second", &old("second"));
    sim.expect_on("203.0.113.51", Some("eni-n1"));
}

/// A handover on one interface calls nothing, so it is no try.
#[test]
fn handovers_on_one_interface_do_not_prolong_the_wait_of_the_others() {
    let others = ["first", "second", "third", "zenith"];
    let mut sim = rollouts_without_assign(&others);
    sim.remove_pod("waits");
    sim.wait(Duration::from_secs(30));
    sim.ec2.default_fault = None;
    for (before, next, revision) in [("a", "b", 2), ("b", "c", 3)] {
        sim.next_revision(next, "n1", revision);
        sim.wait(Duration::from_mins(2));
        sim.expect_attached("partner", next);
        sim.remove_pod(before);
        sim.wait(Duration::from_mins(1));
    }
    for ip in others {
        sim.expect_attached(ip, &new(ip));
    }
}
