//! How often EC2 is asked about a node, and how soon the taint of a node is written again.
//! Rule: R3.39.

use std::time::Duration;

use mooring_plan::cloud::InstanceState;
use mooring_plan::facts::{Fact, WriteOutcome};
use mooring_plan::names::NodeName;
use mooring_plan::objects::DataPath;
use mooring_plan::step::NodeStep;
use mooring_plan::time::Instant;

use crate::fast_failover::{fast, not_ready, reports};
use crate::sim::Sim;

/// The times between consecutive questions.
fn gaps(sim: &Sim) -> Vec<Duration> {
    let asked = sim.questions();
    asked.windows(2).map(|two| two[1].since(two[0])).collect()
}

fn begin_at_once(gaps: &[Duration]) -> usize {
    let two_seconds = Duration::from_millis(2100);
    gaps.iter().take_while(|gap| **gap <= two_seconds).count()
}

#[test]
fn half_a_minute_is_fifteen_questions_and_then_they_are_rarer() {
    let mut sim = fast(&["n1", "n2"]);
    sim.node_taken.clear();
    not_ready(&mut sim, "n1");
    sim.wait(Duration::from_mins(3));
    let gaps = gaps(&sim);
    assert_eq!(begin_at_once(&gaps), 15, "{gaps:?}");
    assert!(gaps.len() < 40, "{gaps:?}");
}

/// The block uses the node part, and the node part of n1 sends these heartbeats.
fn with_heartbeats(sim: &mut Sim, beats: std::ops::Range<i64>) {
    sim.change_block("block", |block| {
        block.spec.as_mut().unwrap().data_path = DataPath::NodePart;
    });
    for beat in beats {
        reports(sim, "n1", beat);
        sim.wait(Duration::from_secs(10));
    }
}

#[test]
fn a_heartbeat_of_a_ready_node_makes_the_next_question_a_new_one() {
    let mut sim = fast(&["n1", "n2"]);
    with_heartbeats(&mut sim, 1..2);
    // The node part does not report: the questions become less frequent.
    sim.wait(Duration::from_mins(5));
    with_heartbeats(&mut sim, 2..4);
    sim.node_taken.clear();
    sim.wait(Duration::from_mins(1));
    let gaps = gaps(&sim);
    assert!(begin_at_once(&gaps) >= 10, "{gaps:?}");
}

#[test]
fn the_heartbeats_of_a_node_that_is_not_ready_do_not_hasten_the_questions() {
    let mut sim = fast(&["n1", "n2"]);
    not_ready(&mut sim, "n1");
    with_heartbeats(&mut sim, 1..31);
    sim.node_taken.clear();
    with_heartbeats(&mut sim, 31..61);
    let asked = sim.questions().len();
    assert!(asked <= 20, "{asked}");
}

/// The instance of n1 has ended, and the write of its taint ends with this outcome; no watch shows the result yet.
fn the_write_ends(outcome: WriteOutcome) -> (Sim, Instant) {
    let mut sim = fast(&["n1", "n2"]);
    sim.instance("n1", InstanceState::Stopped);
    not_ready(&mut sim, "n1");
    sim.deliver(0);
    let now = sim.now;
    let node = NodeName::from("n1");
    let instance = crate::sim::instance_of("n1");
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::NodeAsked(node.clone(), None), now, now);
    let stopped = Some(InstanceState::Stopped);
    facts.apply(Fact::InstanceRead(instance, stopped), now, now);
    assert!(writes_a_taint(&sim, now));
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::NodeWrote(node, outcome), now, now);
    (sim, now)
}

fn writes_a_taint(sim: &Sim, now: Instant) -> bool {
    let (steps, _) = sim.controllers[0].facts().node_steps(now);
    let mut steps = steps.iter();
    steps.any(|(_, step)| matches!(step, NodeStep::SetTaint(..)))
}

#[test]
fn a_taint_that_was_written_is_not_written_again_before_the_watch_shows_it() {
    let (sim, at) = the_write_ends(WriteOutcome::Done(None));
    assert!(!writes_a_taint(&sim, at.plus(Duration::from_millis(1900))));
    assert!(writes_a_taint(&sim, at.plus(Duration::from_secs(2))));
}

#[test]
fn a_taint_whose_write_conflicts_is_written_again_within_a_moment() {
    let (sim, at) = the_write_ends(WriteOutcome::Conflict);
    assert!(!writes_a_taint(&sim, at.plus(Duration::from_millis(100))));
    assert!(writes_a_taint(&sim, at.plus(Duration::from_millis(200))));
}
