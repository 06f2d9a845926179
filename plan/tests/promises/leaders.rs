//! The first process leads, then another, then the first again: its former facts about EC2 and claims do not count.
//! Rules: R6.8, R6.10, R6.11, R6.15.

use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::facts::{Fact, Kind, WriteOutcome};
use mooring_plan::names::IpName;
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{Call, Read, StatusWrite, Step, Write};
use mooring_plan::time::Instant;

use crate::sim::{Fault, SUBNET, Sim, address, interface_of};

/// Two processes, the first one leads; two nodes, and the IP "partner" is reserved.
fn two() -> Sim {
    let mut sim = Sim::of_two_processes();
    sim.lead(0);
    sim.settle();
    sim
}

fn steps_until(sim: &mut Sim, who: usize, done: impl Fn(&Step) -> bool) -> Step {
    for _ in 0..10_000 {
        match sim.step(who) {
            Ok(step) if done(&step) => return step,
            Ok(_) => {}
            Err(_) => sim.now = sim.now.plus(Duration::from_millis(10)),
        }
    }
    panic!("it was never done\n{}", sim.story());
}

fn is_status(step: &Step, wanted: StatusWrite) -> bool {
    matches!(step, Step::Write(Write::Status { change, .. }) if *change == wanted)
}

/// The time until the condition is true, at most two minutes.
fn time_until(sim: &mut Sim, so: impl Fn(&Sim) -> bool) -> Duration {
    let from = sim.now;
    while !so(sim) {
        assert!(
            sim.now.since(from) < Duration::from_mins(2),
            "{}",
            sim.story()
        );
        sim.wait(Duration::from_millis(10));
    }
    sim.now.since(from)
}

#[test]
fn no_gate_opens_for_an_attach_before_a_change_of_leader() {
    let mut sim = two();
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(3));
    sim.expect_attached("partner", "a");
    sim.lead(1);
    sim.remove_pod("a");
    sim.pod("b").on("n2");
    sim.wait(Duration::from_secs(12));
    sim.expect_attached("partner", "b");
    sim.remove_pod("b");
    sim.pod("c").on("n1");
    steps_until(&mut sim, 1, |step| is_status(step, StatusWrite::Claim));
    sim.lead(0);
    let reported = |sim: &Sim| sim.the_pod("c").reports_attached();
    let took = time_until(&mut sim, reported);
    sim.expect_on("203.0.113.10", Some("eni-n1"));
    assert!(took < Duration::from_secs(1), "{took:?}\n{}", sim.story());
}

#[test]
fn no_address_is_released_for_a_detach_before_a_change_of_leader() {
    let mut sim = two();
    sim.pod("a").on("n1");
    sim.settle();
    sim.deliver(1);
    let looked = sim.counts.inventories;
    time_until(&mut sim, |sim| sim.counts.inventories > looked);
    sim.remove_pod("a");
    steps_until(&mut sim, 0, |step| {
        matches!(step, Step::Call(Call::Unassign { .. }))
    });
    sim.lead(1);
    // The watches of the former leader lag from here on, and catch up when it leads again.
    sim.controllers[0].stuck.extend([Kind::Ip, Kind::Pod]);
    sim.pod("c").on("n1");
    // The new leader has all proofs after ten seconds and two inventories.
    let served = |sim: &Sim| sim.the_pod("c").reports_attached();
    let took = time_until(&mut sim, served);
    assert!(took <= Duration::from_secs(14), "{took:?}\n{}", sim.story());
    sim.remove_pod("c");
    sim.delete_ip("partner");
    steps_until(&mut sim, 1, |step| is_status(step, StatusWrite::Detach));
    sim.controllers[0].stuck.clear();
    sim.lead(0);
    time_until(&mut sim, |sim| !sim.has_ip("partner"));
    sim.expect_on("203.0.113.10", None);
    sim.expect_gone("partner");
}

/// The first Assign of the leader is still in flight, its second one is recorded, and another process begins to lead.
fn a_change_of_leader_during_an_assign(unshown: &[Kind]) -> (Sim, Call) {
    let mut sim = two();
    sim.deliver(1);
    sim.controllers[1].stuck.extend(unshown);
    sim.ec2.faults.push_back(Fault::RequestLost);
    sim.pod("a").on("n1");
    let Step::Call(late) = steps_until(&mut sim, 0, |step| matches!(step, Step::Call(_))) else {
        unreachable!("a call was waited for");
    };
    sim.wait(Duration::from_secs(3));
    sim.expect_attached("partner", "a");
    sim.lead(1);
    (sim, late)
}

#[test]
fn an_ip_is_not_deleted_while_an_assign_of_the_former_leader_can_land() {
    for unshown in [&[][..], &[Kind::Ip], &Kind::ALL] {
        let (mut sim, late) = a_change_of_leader_during_an_assign(unshown);
        sim.wait(Duration::from_millis(20));
        sim.controllers[1].stuck.clear();
        sim.remove_pod("a");
        sim.delete_ip("partner");
        sim.expect_kept_until_landed(&late);
    }
}

#[test]
fn an_assign_of_the_former_leader_that_lands_after_the_claim_has_ended_is_taken_off_again() {
    for unshown in [&[][..], &[Kind::Ip], &Kind::ALL] {
        let (mut sim, late) = a_change_of_leader_during_an_assign(unshown);
        sim.wait(Duration::from_millis(20));
        sim.controllers[1].stuck.clear();
        sim.remove_pod("a");
        sim.wait(Duration::from_secs(5));
        sim.ec2.execute(&late, sim.now).unwrap();
        sim.settle();
        sim.expect_free("partner");
    }
}

#[test]
fn answers_to_requests_before_a_change_of_leader_are_ignored() {
    let mut sim = two();
    sim.pod("a").on("n1");
    sim.settle();
    let name = IpName::from("partner");
    let before = sim.the_ip("partner").clone();
    let asked = sim.now;
    let list = sim.ec2.describe(asked);
    let later = asked.plus(Duration::from_secs(1));
    let facts = sim.controllers[0].facts_mut();
    facts.lead_begins(later);
    let again = |facts: &mooring_plan::facts::Facts| facts.decide(&name, later).step;
    let first = Some(Step::Read(Read::Ip(name.clone())));
    facts.apply(
        Fact::IpRead(name.clone(), Some(before.clone())),
        asked,
        later,
    );
    assert_eq!(again(facts), first, "a read");
    let write = Write::DropTakeFrom {
        ip: name.clone(),
        version: before.version,
    };
    let done = WriteOutcome::Done(None);
    facts.apply(
        Fact::Wrote {
            ip: name.clone(),
            write,
            outcome: done,
        },
        asked,
        later,
    );
    assert_eq!(again(facts), first, "a write");
    facts.apply(Fact::InventoryDone(SUBNET.into(), list), asked, later);
    assert_eq!(
        facts.inventory_due(&SUBNET.into()),
        Instant::START,
        "a list"
    );
    let same = Fact::IpRead(name.clone(), Some(before));
    facts.apply(same.clone(), later, later);
    assert_ne!(again(facts), first, "a read of now");

    // An Assign that was answered recently can have been undone since, and one Describe can lag.
    let call = Call::Assign {
        interface: interface_of("n2"),
        address: address("203.0.113.10"),
        reassign: Reassign::Refuse,
    };
    facts.apply(
        Fact::Called {
            ip: name.clone(),
            call,
            result: Ok(()),
        },
        asked,
        later,
    );
    sim.now = later;
    sim.settle();
    sim.expect_attached("partner", "a");
    assert!(sim.the_pod("a").reports_attached(), "{}", sim.story());
}

#[test]
fn a_change_of_leader_and_back_costs_only_reads() {
    let mut sim = two();
    sim.pod("a").on("n1");
    sim.settle();
    for leader in [1, 0] {
        sim.count_from_here();
        sim.lead(leader);
        sim.settle();
        sim.expect_attached("partner", "a");
        sim.expect_cost(0, 0, 0);
    }
}

#[test]
fn leaders_that_take_turns_while_ec2_is_away_change_nothing() {
    let mut sim = two();
    sim.pod("a").on("n1");
    sim.settle();
    sim.describe_fails = Some(Outcome::Unknown);
    sim.ec2.default_fault = Some(|_| Fault::RequestLost);
    sim.remove_pod("a");
    sim.pod("b").on("n2");
    sim.count_from_here();
    for turn in 1..=10 {
        sim.lead(turn % 2);
        sim.wait(Duration::from_mins(1));
    }
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    sim.expect_on("203.0.113.10", Some("eni-n1"));
    sim.describe_fails = None;
    sim.ec2.default_fault = None;
    let served = |sim: &Sim| sim.the_pod("b").reports_attached();
    let took = time_until(&mut sim, served);
    assert!(took <= Duration::from_secs(16), "{took:?}\n{}", sim.story());
}
