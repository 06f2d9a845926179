//! An address goes from one pod to the next.

use mooring_plan::names::Millis;

use crate::sim::{self, Sim};

fn attached() -> Sim {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.node("n2");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.count_from_here();
    sim
}

#[test]
fn without_reassignment_it_is_taken_off_first() {
    let mut sim = attached();
    sim.pod("b").on("n2").replica_set("rs2", 2, "dep");
    sim.containers_ready("b");
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_cost(2, 2, 2);
}

#[test]
fn with_reassignment_one_call_moves_it() {
    let mut sim = attached();
    sim.allow_reassignment("partner");
    sim.settle();
    sim.count_from_here();
    sim.pod("b").on("n2").replica_set("rs2", 2, "dep");
    sim.containers_ready("b");
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_cost(1, 2, 2);
}

#[test]
fn on_the_same_interface_no_call_is_made() {
    let mut sim = attached();
    sim.pod("b").on("n1").replica_set("rs2", 2, "dep");
    sim.containers_ready("b");
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_cost(0, 2, 2);
}

#[test]
fn the_third_holder_costs_no_more_than_the_second() {
    let mut sim = attached();
    sim.pod("b").on("n2").replica_set("rs2", 2, "dep");
    sim.containers_ready("b");
    sim.settle();
    sim.delete_pod("a");
    sim.tell(0);
    sim.pod_goes("a");
    sim.settle();
    sim.count_from_here();
    sim.pod("c").on("n1").replica_set("rs3", 3, "dep");
    sim.containers_ready("c");
    sim.settle();
    sim.expect_attached("partner", "c");
    sim.expect_cost(2, 2, 2);
}

#[test]
fn at_rest_nothing_is_written_and_each_period_costs_one_describe() {
    let mut sim = attached();
    sim.settle();
    sim.count_from_here();
    sim.wait(Millis(sim::INTERVAL.0 * 5));
    let counts = sim.counts;
    assert_eq!(
        (counts.calls(), counts.writes(), counts.inventories),
        (0, 0, 5),
        "{}",
        sim.story()
    );
}
