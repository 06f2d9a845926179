//! Only differences of time matter: a process whose clock began at another time makes the same decisions.

use std::time::Duration;

use mooring_plan::cloud::InstanceState;
use mooring_plan::facts::{Fact, Facts, WriteOutcome};
use mooring_plan::names::InstanceType;
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{Call, StatusWrite, Step};
use mooring_plan::time::Instant;

use crate::sim::{Fault, Sim, status_write};

const LATER: Duration = Duration::from_secs(1_000_000);

/// The decisions of the controller now, with times relative to now.
fn decisions(facts: &Facts, now: Instant) -> String {
    let mut all = String::new();
    for name in facts.ip_names() {
        let decision = facts.decide(name, now);
        let again = decision.again.map(|at| at.since(now));
        all.push_str(&format!(
            "{name}: {:?} {again:?} {:?}\n",
            decision.step, decision.notices
        ));
    }
    for name in facts.block_names() {
        all.push_str(&format!("{name}: {:?}\n", facts.block_steps(name, now)));
    }
    let (steps, again) = facts.node_steps(now);
    let again = again.map(|at| at.since(now));
    all.push_str(&format!("nodes: {steps:?} {again:?}\n"));
    for subnet in facts.subnets_wanted() {
        let due = facts.inventory_due(&subnet);
        all.push_str(&format!(
            "{subnet}: {:?}\n",
            due.as_millis().checked_sub(now.as_millis())
        ));
    }
    all
}

fn decides_the_same(sim: &mut Sim) {
    sim.deliver(0);
    let (facts, now) = (sim.controllers[0].facts(), sim.now);
    let decided = decisions(facts, now);
    let mut moved = facts.clone();
    moved.each_timestamp(&mut |moment| *moment = moment.plus(LATER));
    assert_eq!(
        decisions(&moved, now.plus(LATER)),
        decided,
        "{}",
        sim.story()
    );
    let mut forgetful = facts.clone();
    forgetful.forget_stale_reads(now);
    assert_eq!(decisions(&forgetful, now), decided, "{}", sim.story());
}

/// Lets time pass in steps of half a second, with a check before each.
fn pass(sim: &mut Sim, seconds: u64) {
    let end = sim.now.plus(Duration::from_secs(seconds));
    while sim.now < end {
        decides_the_same(sim);
        match sim.step(0) {
            Ok(_) => {}
            Err(_) => sim.wait(Duration::from_millis(500)),
        }
    }
}

fn world() -> Sim {
    let mut sim = Sim::new();
    for node in ["n1", "n2"] {
        sim.node(node);
    }
    for (name, last) in [
        ("partner", 10),
        ("other", 20),
        ("third", 30),
        ("fourth", 40),
    ] {
        sim.ip(name, &format!("203.0.113.{last}"));
    }
    sim
}

#[test]
fn while_pods_come_and_move_and_go() {
    let mut sim = world();
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.pod("b").on("n2").asks("other");
    pass(&mut sim, 5);
    sim.pod("c").on("n2").replica_set("rs2", 2, "dep");
    pass(&mut sim, 70);
    sim.containers_ready("c");
    sim.edit("other", "203.0.113.50");
    pass(&mut sim, 5);
    sim.change_node("n2", |node| node.ready = false);
    sim.delete_pod("b");
    sim.pod("d").on("n1").asks("other");
    pass(&mut sim, 70);
    sim.delete_ip("other");
    sim.delete_ip("partner");
    pass(&mut sim, 30);
}

#[test]
fn while_calls_fail() {
    for fault in [
        Fault::Denied,
        Fault::Throttled,
        Fault::RequestLost,
        Fault::AnswerLost,
        Fault::NoRoom,
    ] {
        let mut sim = world();
        sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
        pass(&mut sim, 5);
        sim.ec2.faults.extend([fault; 6]);
        sim.next_revision("b", "n2", 2);
        sim.pod("c").on("n1").asks("other");
        pass(&mut sim, 90);
    }
}

#[test]
fn while_a_node_is_away() {
    let mut sim = world();
    sim.change_block("block", |block| {
        block.spec.as_mut().unwrap().fast_failover = true;
    });
    sim.pod("a").on("n1");
    pass(&mut sim, 5);
    sim.change_node("n1", |node| node.ready = false);
    pass(&mut sim, 60);
    sim.instance("n1", InstanceState::Stopped);
    pass(&mut sim, 60);
}

#[test]
fn while_a_kubelet_writes_its_pod() {
    let mut sim = world();
    sim.pod("a").on("n1");
    for round in 0..60 {
        if round < 30 {
            sim.change_pod("a", |_| {});
        }
        decides_the_same(&mut sim);
        if sim.step(0).is_err() {
            sim.now = sim.now.plus(Duration::from_millis(1));
        }
    }
    sim.expect_attached("partner", "a");
}

#[test]
fn while_nothing_is_answered() {
    let mut sim = world();
    sim.pod("a").on("n1");
    pass(&mut sim, 5);
    let kinds = [InstanceType::from("m5.large")].into();
    let now = sim.now;
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::LimitsFailed(kinds, Outcome::Unknown), now, now);
    sim.describe_fails = Some(Outcome::Unknown);
    sim.reads_fail = true;
    sim.refuses = |_| true;
    sim.remove_pod("a");
    sim.relist(0);
    sim.pod("b").on("n2").asks("other");
    pass(&mut sim, 90);
    sim.reads_fail = false;
    pass(&mut sim, 90);
    sim.refuses = |_| false;
    pass(&mut sim, 90);
}

#[test]
fn while_an_address_is_foreign() {
    let mut sim = world();
    pass(&mut sim, 3);
    sim.ip("late", "203.0.113.10");
    pass(&mut sim, 40);
}

/// Two edits wait, because EC2 denies Unassign. One tries after five minutes, and its claim is refused.
#[test]
fn while_a_claim_that_takes_the_turn_of_its_subnet_is_in_flight() {
    let mut sim = world();
    sim.next_revision("a", "n1", 1);
    sim.pod("b").on("n1").asks("other");
    sim.pod("c").on("n1").asks("third");
    sim.wait(Duration::from_secs(20));
    sim.ec2.default_fault = Some(|call| match call {
        Call::Assign { .. } => Fault::None,
        Call::Unassign { .. } => Fault::Denied,
    });
    sim.next_revision("d", "n2", 2);
    sim.wait(Duration::from_secs(10));
    sim.remove_pod("d");
    sim.edit("other", "203.0.113.50");
    sim.edit("third", "203.0.113.60");
    sim.wait(Duration::from_secs(280));
    let (ip, write) = loop {
        match sim.in_hand(0) {
            Some((ip, step)) if status_write(StatusWrite::Claim)(&step) => match step {
                Step::Write(write) => break (ip, write),
                step => panic!("{step:?}"),
            },
            Some((ip, step)) => sim.carry_out(0, &ip, &step),
            None => sim.wait(Duration::from_millis(1)),
        }
    };
    let now = sim.now;
    sim.controllers[0].engine.reconcile(&ip, now);
    let mut facts = sim.controllers[0].facts().clone();
    let mut moved = facts.clone();
    moved.each_timestamp(&mut |moment| *moment = moment.plus(LATER));
    let refused = Fact::Wrote {
        ip,
        write,
        outcome: WriteOutcome::Refused("no".to_owned()),
    };
    facts.apply(refused.clone(), now, now);
    moved.apply(refused, now.plus(LATER), now.plus(LATER));
    let decided = decisions(&facts, now);
    assert!(decided.contains("Claim"), "the other edit tries\n{decided}");
    assert_eq!(decisions(&moved, now.plus(LATER)), decided);
}
