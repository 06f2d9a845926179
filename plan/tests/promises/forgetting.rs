//! What no decision needs any more is not kept: a process runs for months.

use mooring_plan::facts::Fact;
use mooring_plan::names::{Millis, NodeName};

use crate::sim::Sim;

fn knows(sim: &Sim, what: &str) -> bool {
    format!("{:?}", sim.controllers[0].facts).contains(what)
}

#[test]
fn an_answer_to_a_read_is_kept_for_ten_seconds() {
    let mut sim = Sim::reserved(&["n1"]);
    let gone = NodeName::from("node-of-old");
    let asked = sim.now;
    let facts = &mut sim.controllers[0].facts;
    facts.apply(Fact::NodeRead(gone.clone(), None), asked, asked);
    let answered = |sim: &mut Sim, now: Millis| {
        let fact = Fact::NodeRead(NodeName::from("another"), None);
        sim.controllers[0].facts.apply(fact, now, now);
    };
    answered(&mut sim, asked.plus(Millis::seconds(10)));
    assert!(knows(&sim, gone.as_str()));
    answered(&mut sim, asked.plus(Millis(10_001)));
    assert!(!knows(&sim, gone.as_str()));
}

#[test]
fn replica_sets_that_are_not_asked_for_are_forgotten_after_ten_minutes() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("a").on("n1").replica_set("rs-of-old", 1, "dep");
    sim.wait(Millis::seconds(10));
    sim.delete_pod("a");
    sim.tell(0);
    sim.pod_goes("a");
    sim.ip("other", "203.0.113.20");
    let another = |sim: &mut Sim, n: u64| {
        let (pod, set) = (format!("b{n}"), format!("rs-of-b{n}"));
        sim.pod(&pod)
            .on("n2")
            .replica_set(&set, 1, &set)
            .asks("other");
        sim.wait(Millis::seconds(10));
    };
    another(&mut sim, 1);
    assert!(knows(&sim, "rs-of-old"));
    sim.pod_goes("b1");
    sim.wait(Millis::seconds(580));
    another(&mut sim, 2);
    assert!(!knows(&sim, "rs-of-old"));
    assert!(knows(&sim, "rs-of-b2"));
}
