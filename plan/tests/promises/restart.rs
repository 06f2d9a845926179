//! The process can be killed between any two steps: the next process reaches the same result.
//! Rules: R1.24, R6.9, R6.12.

use std::time::Duration;

use mooring_plan::facts::{Fact, Facts, Kind, Settings};
use mooring_plan::names::{BlockName, IpName, ResourceVersion};
use mooring_plan::objects::Ip;
use mooring_plan::step::{Read, StatusWrite, Step, Write};

use crate::sim::{Fault, INTERVAL, Sim, status_write};

/// Runs a world with a kill after its first write, then again with a kill after its second write, and so on; checks the
/// end of each run.
fn killed_anywhere(begin: impl Fn() -> Sim, end: impl Fn(&Sim)) {
    let mut kills = 0;
    loop {
        let mut sim = begin();
        let killed = sim.changes(kills);
        sim.restart(0);
        sim.settle();
        end(&sim);
        sim.count_from_here();
        sim.restart(0);
        sim.settle();
        assert_eq!(
            (sim.counts.calls(), sim.counts.writes()),
            (0, 0),
            "after {kills}\n{}",
            sim.story()
        );
        if !killed {
            break;
        }
        kills += 1;
    }
    assert!(kills > 2, "nothing was done");
}

/// Runs a world with two kills, after any two of its writes.
fn killed_twice(begin: impl Fn() -> Sim, end: impl Fn(&Sim)) {
    for first in 0..8 {
        for second in 0..8 {
            let mut sim = begin();
            sim.changes(first);
            sim.restart(0);
            sim.changes(second);
            sim.restart(0);
            sim.settle();
            end(&sim);
        }
    }
}

fn anywhere(begin: impl Fn() -> Sim, end: impl Fn(&Sim)) {
    killed_anywhere(&begin, &end);
    killed_twice(&begin, &end);
}

fn attached(reassign: bool) -> Sim {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.node("n2");
    sim.ip("partner", "203.0.113.10");
    if reassign {
        sim.allow_reassignment("partner");
    }
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim
}

#[test]
fn an_attach() {
    let begin = || {
        let mut sim = Sim::new();
        sim.node("n1");
        sim.ip("partner", "203.0.113.10");
        sim.pod("a").on("n1");
        sim
    };
    anywhere(begin, |sim| sim.expect_attached("partner", "a"));
}

#[test]
fn a_move() {
    for reassign in [false, true] {
        for node in ["n1", "n2"] {
            let begin = || {
                let mut sim = attached(reassign);
                sim.pod("b").on(node).replica_set("rs2", 2, "dep");
                sim.containers_ready("b");
                sim
            };
            anywhere(begin, |sim| sim.expect_attached("partner", "b"));
        }
    }
}

#[test]
fn a_failover() {
    let begin = || {
        let mut sim = attached(false);
        sim.pod("b").on("n2").replica_set("rs1", 1, "dep");
        sim.delete_pod("a");
        sim.node_unreachable("n1");
        sim
    };
    anywhere(begin, |sim| sim.expect_attached("partner", "b"));
}

#[test]
fn an_edit() {
    let begin = || {
        let mut sim = attached(false);
        sim.edit("partner", "203.0.113.20");
        sim
    };
    anywhere(begin, |sim| {
        sim.expect_attached("partner", "a");
        sim.expect_on("203.0.113.10", None);
        assert_eq!(sim.kube.reservations.len(), 1, "{}", sim.story());
    });
}

#[test]
fn a_delete() {
    let begin = || {
        let mut sim = attached(false);
        sim.delete_ip("partner");
        sim
    };
    anywhere(begin, |sim| {
        sim.expect_gone("partner");
        sim.expect_on("203.0.113.10", None);
    });
}

#[test]
fn a_detach() {
    let begin = || {
        let mut sim = attached(false);
        sim.delete_pod("a");
        let _ = sim.step(0);
        sim.remove_pod("a");
        sim
    };
    anywhere(begin, |sim| sim.expect_free("partner"));
}

#[test]
fn an_annotation_removed() {
    let begin = || {
        let mut sim = attached(false);
        sim.remove_annotation("a");
        sim
    };
    anywhere(begin, |sim| {
        sim.expect_free("partner");
        assert_eq!(sim.the_pod("a").label, None, "{}", sim.story());
    });
}

#[test]
fn after_a_kill_between_call_and_record_no_call_is_repeated() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1");
    sim.step_until(|step| matches!(step, mooring_plan::step::Step::Call(_)));
    sim.restart(0);
    sim.count_from_here();
    sim.settle();
    sim.expect_attached("partner", "a");
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

#[test]
fn nothing_is_decided_before_every_kind_was_listed() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    let (block, ip) = (BlockName::from("block"), IpName::from("partner"));
    let now = sim.now;
    let mut facts = Facts::new(Settings {
        inventory_interval: INTERVAL,
    });
    let mut known = sim.the_ip("partner").clone();
    known.finalizer = false;
    facts.apply(Fact::Ip(known), now, now);
    let known = sim.kube.blocks[&block].clone();
    facts.apply(Fact::Block(known), now, now);
    for kind in Kind::ALL {
        assert_eq!(facts.decide(&ip, now).step, None, "before {kind:?}");
        assert_eq!(facts.block_steps(&block, now), (vec![], vec![]));
        facts.apply(Fact::Synced(kind), now, now);
    }
    assert!(facts.decide(&ip, now).step.is_some());
    assert_ne!(facts.block_steps(&block, now).0, []);
}

#[test]
fn a_new_leader_reads_an_ip_before_it_acts_on_a_watch() {
    let mut sim = attached(false);
    sim.settle();
    let name = IpName::from("partner");
    let mut facts = sim.controllers[0].facts().clone();
    facts.lead_begins(sim.now);
    let first = facts.decide(&name, sim.now).step;
    assert_eq!(first, Some(Step::Read(Read::Ip(name.clone()))));
    facts.apply(Fact::IpRead(name.clone(), None), sim.now, sim.now);
    let next = facts.decide(&name, sim.now).step;
    let only_denies = matches!(&next, Some(Step::Write(Write::Gate(gate))) if !gate.status);
    assert!(only_denies, "another has let it go: {next:?}");
}

#[test]
fn a_late_deletion_event_does_not_apply_to_a_recreated_ip() {
    let mut sim = attached(false);
    sim.settle();
    let name = IpName::from("partner");
    let facts = sim.controllers[0].facts_mut();
    let first = facts.ip(&name).unwrap().clone();
    let second = Ip {
        uid: "recreated".into(),
        version: ResourceVersion(first.version.0 + 10),
        ..first.clone()
    };
    facts.apply(
        Fact::IpRead(name.clone(), Some(second.clone())),
        sim.now,
        sim.now,
    );
    facts.apply(Fact::IpGone(name.clone(), first.uid), sim.now, sim.now);
    assert_eq!(facts.ip(&name), Some(&second));
    facts.apply(
        Fact::IpGone(name.clone(), second.uid.clone()),
        sim.now,
        sim.now,
    );
    assert_eq!(facts.ip(&name), None);
}

#[test]
fn an_earlier_not_found_does_not_apply_to_a_recreated_ip() {
    let mut sim = attached(false);
    sim.settle();
    let name = IpName::from("partner");
    let facts = sim.controllers[0].facts_mut();
    let first = facts.ip(&name).unwrap().clone();
    let begun = sim.now;
    let seen = begun.plus(Duration::from_millis(1));
    let second = Ip {
        uid: "recreated".into(),
        version: ResourceVersion(first.version.0 + 10),
        ..first
    };
    facts.apply(Fact::Ip(second.clone()), seen, seen);
    let missed = Fact::IpRead(name.clone(), None);
    let answered = seen.plus(Duration::from_millis(1));
    facts.apply(missed.clone(), begun, answered);
    assert_eq!(facts.ip(&name), Some(&second));
    // A read that was begun later counts.
    facts.apply(missed, answered, answered);
    assert_eq!(facts.ip(&name), None);
}

/// Its `ReplicaSets` were read by the former process, and none is read while the claim is not recorded.
#[test]
fn a_claim_that_goes_back_after_a_kill_names_the_same_workload() {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2"]);
    let workload = sim.the_ip("partner").status.workload.clone();
    assert_eq!(workload.as_ref().unwrap().uid, "dep".into());
    sim.next_revision("b", "n2", 2);
    sim.step_until(status_write(StatusWrite::Claim));
    sim.restart(0);
    sim.ec2.faults.extend([Fault::None, Fault::NoRoom]);
    sim.step_until(status_write(StatusWrite::Revert));
    let status = &sim.the_ip("partner").status;
    assert_eq!(status.workload, workload, "{}", sim.story());
}
