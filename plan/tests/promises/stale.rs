//! An API server that shows old data, and a watch that does not show the last writes yet.
//! Rules: R1.7, R1.8.

use std::time::Duration;

use mooring_plan::facts::Kind;

use crate::sim::Sim;

fn attached(reassign: bool) -> Sim {
    let mut sim = Sim::new();
    for node in ["n1", "n2"] {
        sim.node(node);
    }
    sim.ip("partner", "203.0.113.10");
    if reassign {
        sim.allow_reassignment("partner");
    }
    sim.next_revision("old", "n1", 1);
    sim.settle();
    sim.expect_attached("partner", "old");
    sim.count_from_here();
    sim
}

/// From here on the watches of these kinds show nothing more.
fn stop(sim: &mut Sim, kinds: impl IntoIterator<Item = Kind>) {
    sim.controllers[0].stuck.extend(kinds);
}

fn go_on(sim: &mut Sim) {
    sim.controllers[0].stuck.clear();
}

#[test]
fn a_move_without_watch_events_costs_no_extra_call_or_write() {
    for reassign in [false, true] {
        for kinds in [
            &[Kind::Ip][..],
            &[Kind::Pod],
            &[Kind::Reservation],
            &Kind::ALL,
        ] {
            let mut sim = attached(reassign);
            sim.next_revision("new", "n2", 2);
            sim.deliver(0);
            stop(&mut sim, kinds.iter().copied());
            sim.wait(Duration::from_mins(3));
            sim.expect_cost(if reassign { 1 } else { 2 }, 3, 2);
            go_on(&mut sim);
            sim.settle();
            sim.expect_attached("partner", "new");
            sim.expect_cost(0, 0, 0);
        }
    }
}

#[test]
fn an_attach_and_a_delete_without_watch_events_are_done_once() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("web").on("n1");
    sim.settle();
    sim.expect_attached("partner", "web");
    sim.delete_ip("partner");
    sim.deliver(0);
    sim.count_from_here();
    stop(&mut sim, Kind::ALL);
    sim.wait(Duration::from_mins(2));
    go_on(&mut sim);
    sim.settle();
    sim.expect_gone("partner");
    assert_eq!(sim.counts.calls(), 1, "{}", sim.story());
}

/// A process that starts with a list from before the holder existed.
#[test]
fn a_list_older_than_the_holder_takes_nothing_from_it() {
    for reassign in [false, true] {
        let mut sim = Sim::new();
        for node in ["n1", "n2"] {
            sim.node(node);
        }
        sim.ip("partner", "203.0.113.10");
        if reassign {
            sim.allow_reassignment("partner");
        }
        // In the old data the pod waits for a node; in the present data it is gone.
        sim.pod("gone").on("n2");
        sim.deliver(0);
        let old = sim.kube.clone();
        sim.remove_pod("gone");
        sim.pod("holder").on("n1");
        sim.settle();
        sim.expect_attached("partner", "holder");
        sim.count_from_here();
        let now = std::mem::replace(&mut sim.kube, old);
        sim.restart(0);
        sim.deliver(0);
        sim.kube = now;
        stop(&mut sim, Kind::ALL);
        sim.wait(Duration::from_mins(10));
        assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
        sim.expect_attached("partner", "holder");
        go_on(&mut sim);
        sim.settle();
        sim.expect_attached("partner", "holder");
        assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    }
}

/// The stale data still show the holder, or a successor that is gone: both are read before any step.
#[test]
fn a_successor_in_stale_data_takes_nothing_over() {
    for reassign in [false, true] {
        let mut sim = attached(reassign);
        sim.pod("new").on("n2").replica_set("rs2", 2, "dep");
        sim.deliver(0);
        // In the stale data the pod is ready; after a moment it is gone, without an event.
        sim.containers_ready("new");
        let ready = sim.the_pod("new").clone();
        sim.controllers[0].facts_mut().apply(
            mooring_plan::facts::Fact::Pod(ready),
            sim.now,
            sim.now,
        );
        sim.remove_pod("new");
        stop(&mut sim, [Kind::Pod]);
        sim.wait(Duration::from_mins(5));
        sim.expect_cost(0, 0, 0);
        sim.expect_attached("partner", "old");
    }
}
