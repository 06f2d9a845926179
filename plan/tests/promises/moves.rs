//! Moves of an address from one pod to the next.
//! Rules: R1.11, R4.2, R4.3, R4.31.

use std::time::Duration;

use mooring_plan::step::{Read, Step, Write};

use crate::sim::{self, Sim};

fn attached() -> Sim {
    Sim::attached_by_deployment(&["n1", "n2"])
}

#[test]
fn without_reassignment_the_address_is_unassigned_first() {
    let mut sim = attached();
    sim.next_revision("b", "n2", 2);
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_cost(2, 3, 2);
}

#[test]
fn with_reassignment_one_call_moves_it() {
    let mut sim = attached();
    sim.allow_reassignment("partner");
    sim.settle();
    sim.count_from_here();
    sim.next_revision("b", "n2", 2);
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_cost(1, 3, 2);
}

#[test]
fn on_the_same_interface_no_call_is_made() {
    let mut sim = attached();
    sim.next_revision("b", "n1", 2);
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_cost(0, 2, 2);
}

#[test]
fn the_third_holder_costs_no_more_than_the_second() {
    let mut sim = attached();
    sim.next_revision("b", "n2", 2);
    sim.settle();
    sim.delete_pod("a");
    sim.deliver(0);
    sim.remove_pod("a");
    sim.settle();
    sim.count_from_here();
    sim.next_revision("c", "n1", 3);
    sim.settle();
    sim.expect_attached("partner", "c");
    sim.expect_cost(2, 3, 2);
}

#[test]
fn at_rest_each_period_costs_one_describe_and_no_write() {
    let mut sim = attached();
    sim.settle();
    sim.count_from_here();
    sim.wait(sim::INTERVAL * 5);
    let counts = sim.counts;
    assert_eq!(
        (counts.calls(), counts.writes(), counts.inventories),
        (0, 0, 5),
        "{}",
        sim.story()
    );
}

/// The time until the gate of the pod is `True`.
fn until_gate_true(sim: &mut Sim, pod: &str) -> Duration {
    let from = sim.now;
    let late = from.plus(Duration::from_secs(10));
    while !sim.the_pod(pod).reports_attached() {
        sim.wait(Duration::from_millis(1));
        assert!(sim.now < late, "never\n{}", sim.story());
    }
    sim.now.since(from)
}

/// Moves the address to the other of two nodes. Returns the steps, the time until the gate is `True`, and the numbers
/// of writes and calls until the world is at rest.
fn next_move(sim: &mut Sim, turn: u64) -> (Vec<String>, Duration, sim::Counts) {
    let (before, after) = (format!("p{turn}"), format!("p{}", turn + 1));
    sim.count_from_here();
    sim.taken.clear();
    sim.trace.clear();
    let revision = turn + 2;
    let set = format!("rs{revision}");
    sim.pod(&after)
        .on(if turn.is_multiple_of(2) { "n2" } else { "n1" })
        .replica_set(&set, revision, "dep");
    sim.containers_ready(&after);
    let took = until_gate_true(sim, &after);
    sim.remove_pod(&before);
    sim.kube.replica_sets.remove(&format!("rs{}", turn + 1));
    sim.settle();
    sim.expect_attached("partner", &after);
    let kind = |step: &Step| match step {
        Step::Read(Read::Pod(_)) => "read pod".to_owned(),
        Step::Read(_) => "read".to_owned(),
        Step::Write(Write::Status { change, .. }) => format!("{change:?}"),
        Step::Write(Write::Gate(gate)) => format!("gate {}", gate.status),
        Step::Write(_) => "write".to_owned(),
        Step::Call(call) => call.action().to_string(),
    };
    let steps = sim.taken.iter().map(|(_, _, step)| kind(step)).collect();
    (steps, took, sim.counts)
}

#[test]
fn the_cost_of_a_move_does_not_depend_on_earlier_moves() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("p0").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    let first = next_move(&mut sim, 0);
    for turn in 1..1000 {
        let _ = next_move(&mut sim, turn);
    }
    let last = next_move(&mut sim, 1000);
    assert_eq!(last, first, "{}", sim.story());
    assert!(sim.the_ip("partner").status.previous.is_empty());
}

#[test]
fn a_second_move_in_a_row_is_as_fast_after_many_interfaces() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    for n in 0..18 {
        sim.node(&format!("n{n}"));
    }
    sim.pod("p0").on("n0");
    sim.settle();
    let mut took = Vec::new();
    for n in 1..18 {
        sim.pod(&format!("p{n}")).on(&format!("n{n}"));
        sim.remove_pod(&format!("p{}", n - 1));
        took.push(until_gate_true(&mut sim, &format!("p{n}")));
        // After the first moves the world comes to rest; the later moves follow after 3 s.
        if n <= 11 {
            sim.settle();
        } else {
            sim.wait(Duration::from_secs(3));
        }
    }
    let slowest = took.iter().max();
    assert!(slowest <= took.first(), "{took:?}\n{}", sim.story());
}
