//! The memory of failures belongs to one claim: a success removes earlier failures, and a write of conditions does not
//! restart a wait.
//! Rules: R5.5, R5.14.

use std::time::Duration;

use mooring_plan::facts::{Fact, WriteOutcome};
use mooring_plan::names::{IpName, ResourceVersion};
use mooring_plan::objects::Claim;
use mooring_plan::step::{Call, Read, Step, Write};
use mooring_plan::time::Instant;

use crate::sim::{Fault, Sim, key};

fn world() -> Sim {
    Sim::reserved(&["n1", "n2"])
}

fn attached() -> Sim {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2"]);
    sim.taken.clear();
    sim
}

/// As [`attached`]; the second ENI is full, and the limit of its instance type is not known.
fn with_a_full_node_of_unknown_type() -> Sim {
    let mut sim = attached();
    sim.change_node("n2", |node| node.instance_type = None);
    for last in 100..109 {
        sim.found_on(&format!("203.0.113.{last}"), Some("eni-n2"));
    }
    sim.settle();
    sim
}

fn when(sim: &Sim, what: impl Fn(&Step) -> bool) -> Vec<Instant> {
    let taken = sim.taken.iter().filter(|(_, _, step)| what(step));
    taken.map(|(at, _, _)| *at).collect()
}

/// When an Assign to this ENI was tried.
fn tries_on(sim: &Sim, on: &str) -> Vec<Instant> {
    when(
        sim,
        |step| matches!(step, Step::Call(Call::Assign { interface, .. }) if interface.as_str() == on),
    )
}

/// The wait between the first two attempts.
fn first_wait(sim: &Sim, what: impl Fn(&Step) -> bool) -> Duration {
    let at = when(sim, what);
    at[1].since(at[0])
}

#[test]
fn a_successful_call_resets_the_backoff() {
    let mut sim = attached();
    // Four failures of the Unassign, and one of the Assign.
    sim.ec2.faults.extend([Fault::Invalid; 4]);
    sim.ec2.faults.extend([Fault::None, Fault::Invalid]);
    sim.next_revision("b", "n2", 2);
    sim.settle();
    sim.expect_attached("partner", "b");
    let wait = first_wait(&sim, |step| matches!(step, Step::Call(Call::Assign { .. })));
    assert!(
        wait <= Duration::from_millis(1_010),
        "{wait:?}\n{}",
        sim.story()
    );
}

#[test]
fn a_successful_write_resets_the_backoff() {
    let mut sim = world();
    let is_write = |step: &Step| matches!(step, Step::Write(_));
    sim.refuses = |_| true;
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(40));
    sim.refuses = |_| false;
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.refuses = |_| true;
    sim.taken.clear();
    sim.edit("partner", "203.0.113.20");
    sim.wait(Duration::from_secs(10));
    let wait = first_wait(&sim, is_write);
    assert!(
        wait <= Duration::from_millis(1_010),
        "{wait:?}\n{}",
        sim.story()
    );
}

#[test]
fn an_answered_read_resets_the_backoff() {
    let mut sim = attached();
    let is_read = |step: &Step| matches!(step, Step::Read(Read::Pod(_)));
    for first in [true, false] {
        sim.taken.clear();
        sim.reads_fail = true;
        sim.change_pod("a", |pod| pod.label = None);
        sim.wait(Duration::from_secs(40));
        let wait = first_wait(&sim, is_read);
        assert!(
            wait <= Duration::from_millis(1_010),
            "{first} {wait:?}\n{}",
            sim.story()
        );
        sim.reads_fail = false;
        sim.settle();
        sim.expect_attached("partner", "a");
    }
}

#[test]
fn a_read_of_an_earlier_pod_does_not_apply_to_its_successor() {
    let mut sim = attached();
    sim.now = sim.now.plus(Duration::from_secs(1));
    let now = sim.now;
    let mut ip = sim.the_ip("partner").clone();
    ip.version = ResourceVersion(1_000);
    ip.status.claim = ip.status.claim.take().map(|claim| Claim {
        uid: "created-again".into(),
        ..claim
    });
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::PodRead(key("a"), None), now, now);
    let now = now.plus(Duration::from_millis(1));
    facts.apply(Fact::Ip(ip), now, now);
    let step = facts.decide(&IpName::from("partner"), now).step;
    assert_eq!(step, Some(Step::Read(Read::Pod(key("a")))));
}

/// The read can have been about an earlier IP of the same name.
#[test]
fn a_read_from_before_the_last_write_that_finds_no_ip_is_repeated_after_a_wait() {
    let mut sim = world();
    sim.deliver(0);
    let name = IpName::from("partner");
    let (asked, version) = (sim.now, sim.the_ip("partner").version);
    let write = Write::DropTakeFrom {
        ip: name.clone(),
        version,
    };
    let now = asked.plus(Duration::from_millis(1));
    let facts = sim.controllers[0].facts_mut();
    let conflict = Fact::Wrote {
        ip: name.clone(),
        write,
        outcome: WriteOutcome::Conflict,
    };
    facts.apply(conflict, asked, now);
    let read = Some(Step::Read(Read::Ip(name.clone())));
    assert_eq!(facts.decide(&name, now).step, read);
    facts.apply(Fact::IpRead(name.clone(), None), asked, now);
    assert!(facts.knows(&name));
    let decision = facts.decide(&name, now);
    assert_eq!(decision.step, None, "it waits");
    let again = decision.again.unwrap();
    assert!(again.since(now) <= Duration::from_secs(1));
    assert_eq!(facts.decide(&name, again).step, read);
}

#[test]
fn a_change_of_the_ip_does_not_prolong_the_wait_of_a_pod() {
    let mut sim = world();
    sim.replica_set("rs1", 1, "dep", 1);
    sim.pod("b").on("n1").replica_set("rs2", 2, "dep");
    let begun = sim.now;
    sim.wait(Duration::from_secs(40));
    assert!(sim.the_ip("partner").status.claim.is_none(), "not ready");
    sim.allow_reassignment("partner");
    sim.run_until(begun.plus(Duration::from_secs(65)));
    sim.expect_attached("partner", "b");
}

#[test]
fn a_denied_call_repeats_no_completed_call() {
    let mut sim = attached();
    sim.ec2.faults.extend([Fault::None]);
    sim.ec2.faults.extend([Fault::Denied; 6]);
    sim.edit("partner", "203.0.113.20");
    sim.wait(Duration::from_secs(170));
    assert_eq!(sim.counts.unassigns, 1, "{}", sim.story());
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_on("203.0.113.10", None);
}

#[test]
fn two_refusing_interfaces_do_not_alternate() {
    let mut sim = attached();
    sim.ec2.faults.extend([Fault::NoRoom; 200]);
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_secs(9));
    assert!(sim.counts.assigns <= 2, "{}", sim.story());
    sim.ec2.faults.clear();
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn a_holder_pays_less_and_less_often_for_a_target_of_unknown_size() {
    let mut sim = with_a_full_node_of_unknown_type();
    sim.taken.clear();
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_hours(1));
    let tries = tries_on(&sim, "eni-n2");
    let waits: Vec<u64> = tries
        .windows(2)
        .map(|two| two[1].since(two[0]).as_secs() / 60)
        .collect();
    assert!(
        waits.starts_with(&[1, 1, 2, 4, 8, 8]),
        "minutes between tries: {waits:?}"
    );
    assert!(waits.len() <= 10, "{waits:?}");
    // A free slot ends it.
    sim.found_on("203.0.113.100", None);
    sim.wait(Duration::from_mins(10));
    sim.expect_attached("partner", "b");
}

#[test]
fn a_failover_does_not_wait_for_a_target_that_refused_before() {
    let mut sim = with_a_full_node_of_unknown_type();
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_mins(20));
    // EC2 has just refused it again.
    let before = tries_on(&sim, "eni-n2").len();
    while tries_on(&sim, "eni-n2").len() == before {
        sim.wait(Duration::from_secs(1));
    }
    // A slot is free now, and the node of the holder fails.
    sim.found_on("203.0.113.100", None);
    sim.change_node("n1", |node| {
        node.ready = false;
        node.unreachable = true;
    });
    sim.delete_pod("a");
    sim.wait(Duration::from_mins(3));
    sim.expect_attached("partner", "b");
}

#[test]
fn a_throttled_or_lost_call_does_not_refuse_the_target() {
    for fault in [Fault::Throttled, Fault::RequestLost] {
        let mut sim = world();
        sim.ec2.faults.push_back(fault);
        sim.pod("a").on("n1");
        sim.step_until(|step| matches!(step, Step::Call(_)));
        sim.delete_pod("a");
        sim.deliver(0);
        sim.remove_pod("a");
        sim.pod("b").on("n1");
        sim.wait(Duration::from_secs(3));
        sim.expect_attached("partner", "b");
    }
}
