//! When EC2 is asked about the instance of a node: while the node is not ready, or its node part no longer reports, and
//! less and less often.
//! Rules: R3.34, R3.35, R3.39.

use std::time::Duration;

use mooring_plan::cloud::InstanceState;
use mooring_plan::objects::DataPath;
use mooring_world::engine::leadership;

use crate::fast_failover::{
    HOUR, MOMENT, expect_no_taint_is_written, expect_taint, fast, not_ready, ready, reports,
};
use crate::sim::instance_of;

#[test]
fn a_claim_for_the_machine_before_is_no_reason_to_ask_for_the_machine_that_has_its_name_now() {
    let mut sim = fast(&["n1", "n2", "n3"]);
    sim.instance("n3", InstanceState::Stopped);
    sim.remove_node("n3");
    sim.change_node("n1", |node| {
        node.instance = Some(instance_of("n3"));
        node.ready = false;
    });
    sim.deliver(0);
    sim.node_steps(0);
    assert_eq!(sim.node_taken, [], "{}", sim.story());
}

#[test]
fn questions_come_every_two_seconds_at_first_and_then_less_often_and_none_at_rest() {
    let mut sim = fast(&["n1", "n2"]);
    sim.wait(HOUR);
    assert_eq!(sim.node_taken, [], "a node that is ready costs nothing");
    not_ready(&mut sim, "n1");
    let begun = sim.now;
    sim.wait(Duration::from_secs(29));
    let asked = sim.questions();
    assert_eq!(asked.len(), 15, "{asked:?}");
    assert!(
        asked[0] <= begun.plus(Duration::from_millis(2)),
        "the first comes at once"
    );
    for both in asked.windows(2) {
        let between = both[1].since(both[0]);
        assert!(between >= Duration::from_secs(2) && between < Duration::from_millis(2100));
    }
    sim.wait(HOUR);
    let after = sim.questions().len() - asked.len();
    assert!((120..170).contains(&after), "{after}");
    ready(&mut sim, "n1");
    sim.node_taken.clear();
    sim.wait(HOUR);
    assert_eq!(sim.node_taken, [], "{}", sim.story());
}

#[test]
fn a_process_that_does_not_lead_asks_nothing_and_writes_no_taint() {
    let mut sim = fast(&["n1", "n2"]);
    let now = sim.now;
    sim.controllers[0].engine.handle(leadership(false), now);
    sim.instance("n1", InstanceState::Stopped);
    not_ready(&mut sim, "n1");
    sim.deliver(0);
    for _ in 0..10 {
        sim.now = sim.now.plus(MOMENT);
        sim.node_steps(0);
    }
    assert_eq!(sim.node_taken, []);
}

#[test]
fn a_node_part_that_stops_reporting_leads_to_a_question() {
    let mut sim = fast(&["n1", "n2"]);
    reports(&mut sim, "n1", 1);
    sim.instance("n1", InstanceState::Stopped);
    // The block does not use the node part, so its reports have no effect.
    expect_no_taint_is_written(&mut sim);
    sim.change_block("block", |block| {
        block.spec.as_mut().unwrap().data_path = DataPath::NodePart;
    });
    reports(&mut sim, "n1", 2);
    sim.node_taken.clear();
    sim.wait(Duration::from_secs(14));
    assert_eq!(sim.node_taken, [], "a heartbeat comes every 10 s");
    sim.wait(Duration::from_secs(2));
    expect_taint(&sim, "n1", true);
}

#[test]
fn a_node_part_that_stops_on_an_instance_that_runs_takes_no_node_out_of_service() {
    let mut sim = fast(&["n1", "n2"]);
    sim.change_block("block", |block| {
        block.spec.as_mut().unwrap().data_path = DataPath::NodePart;
    });
    reports(&mut sim, "n1", 1);
    expect_no_taint_is_written(&mut sim);
    assert!(!sim.questions().is_empty());
    // After each new heartbeat the questions stop.
    reports(&mut sim, "n1", 2);
    sim.node_taken.clear();
    sim.wait(Duration::from_secs(14));
    assert_eq!(sim.node_taken, []);
}
