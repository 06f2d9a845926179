//! Facts that no decision needs are removed, because a process runs for months.

use std::time::Duration;

use mooring_plan::facts::{Fact, WriteOutcome};
use mooring_plan::names::{IpName, NodeName, ResourceVersion};
use mooring_plan::step::Write;
use mooring_plan::time::Instant;

use crate::sim::Sim;

fn knows(sim: &Sim, what: &str) -> bool {
    format!("{:?}", sim.controllers[0].facts()).contains(what)
}

#[test]
fn an_answer_to_a_read_is_kept_for_ten_seconds() {
    let mut sim = Sim::reserved(&["n1"]);
    let gone = NodeName::from("node-of-old");
    let asked = sim.now;
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::NodeRead(gone.clone(), None), asked, asked);
    let answered = |sim: &mut Sim, now: Instant| {
        let fact = Fact::NodeRead(NodeName::from("another"), None);
        sim.controllers[0].facts_mut().apply(fact, now, now);
    };
    answered(&mut sim, asked.plus(Duration::from_secs(10)));
    assert!(knows(&sim, gone.as_str()));
    answered(&mut sim, asked.plus(Duration::from_millis(10_001)));
    assert!(!knows(&sim, gone.as_str()));
}

#[test]
fn replica_sets_that_are_not_asked_for_are_forgotten_after_ten_minutes() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("a").on("n1").replica_set("rs-of-old", 1, "dep");
    sim.wait(Duration::from_secs(10));
    sim.delete_pod("a");
    sim.deliver(0);
    sim.remove_pod("a");
    sim.ip("other", "203.0.113.20");
    let another = |sim: &mut Sim, n: u64| {
        let (pod, set) = (format!("b{n}"), format!("rs-of-b{n}"));
        sim.pod(&pod)
            .on("n2")
            .replica_set(&set, 1, &set)
            .asks("other");
        sim.wait(Duration::from_secs(10));
    };
    another(&mut sim, 1);
    assert!(knows(&sim, "rs-of-old"));
    sim.remove_pod("b1");
    sim.wait(Duration::from_secs(580));
    another(&mut sim, 2);
    assert!(!knows(&sim, "rs-of-old"));
    assert!(knows(&sim, "rs-of-b2"));
}

#[test]
fn replica_sets_of_another_deployment_are_not_kept() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.replica_set("rs-of-other", 1, "other", 1);
    sim.pod("a").on("n1").replica_set("rs-of-a", 1, "dep");
    sim.settle();
    assert!(knows(&sim, "rs-of-a"));
    assert!(!knows(&sim, "rs-of-other"), "its labels were the same");
}

#[test]
fn stale_reads_are_dropped_for_the_model() {
    let mut sim = Sim::reserved(&["n1"]);
    let gone = NodeName::from("node-of-old");
    let asked = sim.now.plus(Duration::from_secs(1));
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::NodeRead(gone.clone(), None), asked, asked);
    facts.forget_stale_reads(asked.plus(Duration::from_secs(5)));
    assert!(knows(&sim, gone.as_str()));
    let facts = sim.controllers[0].facts_mut();
    facts.forget_stale_reads(asked.plus(Duration::from_millis(5_001)));
    assert!(!knows(&sim, gone.as_str()));
}

#[test]
fn two_writes_differ_for_the_model_only_with_a_read_in_between() {
    let sim = Sim::reserved(&["n1"]);
    let begun = sim.now.plus(Duration::from_secs(1));
    let facts = sim.controllers[0].facts();
    let written_at = |at: Instant| {
        let mut facts = facts.clone();
        let name = IpName::from("partner");
        let write = Write::DropTakeFrom {
            ip: name.clone(),
            version: ResourceVersion(1),
        };
        facts.apply(
            Fact::Wrote {
                ip: name,
                write,
                outcome: WriteOutcome::Done(None),
            },
            at,
            at,
        );
        facts.apply(Fact::NodeRead("another".into(), None), begun, begun);
        facts.forget_stale_reads(begun);
        facts
    };
    let before = |by: u64| Instant::from_millis(begun.as_millis() - by);
    assert_eq!(written_at(before(1)), written_at(before(2)));
    assert_eq!(written_at(begun), written_at(before(2)), "no earlier");
}

#[test]
fn a_deleted_holder_is_forgotten_when_no_place_names_it() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    let gone = sim.the_pod("a").uid.clone();
    sim.pod("b").on("n2").replica_set("rs1", 1, "dep");
    sim.remove_pod("a");
    sim.relist(0);
    sim.wait(Duration::from_secs(5));
    sim.expect_attached("partner", "b");
    assert!(knows(&sim, gone.as_str()));
    sim.next_revision("c", "n1", 2);
    sim.settle();
    sim.expect_attached("partner", "c");
    assert!(!knows(&sim, gone.as_str()));
}
