//! Deployments that swap their IPs wait for each other forever: their pods get this reason, and the remedy.
//! Rule: R3.30.

use std::time::Duration;

use mooring_plan::reason::Reason;
use mooring_plan::step::{Step, Write};

use crate::sim::Sim;

/// Deployments "x0", "x1", ... each have the IP of the same name; then each rolls out with the IP of the next one.
fn rotated(count: usize) -> Sim {
    let mut sim = Sim::new();
    sim.node("n1");
    for n in 0..count {
        sim.ip(&format!("ip{n}"), &format!("203.0.113.{}", 10 + n));
        sim.pod(&format!("old{n}"))
            .on("n1")
            .asks(&format!("ip{n}"))
            .replica_set(&format!("x{n}-aaa"), 1, &format!("uid{n}"));
    }
    sim.settle();
    for n in 0..count {
        let next = (n + 1) % count;
        sim.pod(&format!("new{n}"))
            .on("n1")
            .asks(&format!("ip{next}"))
            .replica_set(&format!("x{n}-bbb"), 2, &format!("uid{n}"))
            .ready();
    }
    sim.wait(Duration::from_mins(1));
    sim
}

fn gate_message(sim: &Sim, pod: &str) -> String {
    let gates = sim
        .taken
        .iter()
        .rev()
        .filter_map(|(_, _, step)| match step {
            Step::Write(Write::Gate(gate)) if gate.pod.name == pod => Some(gate.message.clone()),
            _ => None,
        });
    gates.into_iter().next().unwrap_or_default()
}

/// A reason stays until there is another one; a new pod of Deployment "x" gets no reason about a cycle.
fn expect_no_cycle_reported(sim: &mut Sim, ip: &str, x: usize) {
    sim.pod("late")
        .on("n1")
        .asks(ip)
        .of_replica_set(&format!("x{x}-bbb"), 2, &format!("uid{x}"));
    sim.wait(Duration::from_secs(30));
    sim.expect_denied("late", Reason::ClaimedByOther);
}

#[test]
fn a_swap_of_two_reports_which_waits_for_which() {
    let mut sim = rotated(2);
    for pod in ["new0", "new1"] {
        sim.expect_denied(pod, Reason::Deadlock);
        sim.expect_event(pod, Reason::Deadlock);
    }
    assert_eq!(
        gate_message(&sim, "new0"),
        "pod default/new0 waits for IP ip1, held by Deployment x1, which waits for IP ip0, held by Deployment x0: scale \
         one of them to 0 first, or use strategy Recreate",
        "{}",
        sim.story()
    );
    sim.count_from_here();
    sim.wait(Duration::from_hours(1));
    sim.expect_cost(0, 0, 0);
}

#[test]
fn the_remedy_in_the_message_works() {
    let mut sim = rotated(2);
    // Scaled to 0.
    sim.remove_pod("old0");
    sim.remove_pod("new0");
    sim.settle();
    sim.expect_attached("ip0", "new1");
    // The Deployment deletes the old pod, because the new one is ready.
    sim.remove_pod("old1");
    sim.pod("new0")
        .on("n1")
        .asks("ip1")
        .of_replica_set("x0-bbb", 2, "uid0");
    sim.settle();
    sim.expect_attached("ip1", "new0");
}

#[test]
fn a_longer_cycle_is_reported_in_full() {
    let sim = rotated(4);
    for n in 0..4 {
        let pod = format!("new{n}");
        sim.expect_denied(&pod, Reason::Deadlock);
        assert_eq!(gate_message(&sim, &pod).matches("held by").count(), 4);
    }
}

#[test]
fn a_chain_of_waits_is_no_cycle() {
    let mut sim = rotated(3);
    sim.remove_pod("new2");
    sim.wait(Duration::from_secs(30));
    expect_no_cycle_reported(&mut sim, "ip1", 0);
}

#[test]
fn a_pod_outside_of_the_cycle_is_not_reported() {
    let mut sim = rotated(2);
    sim.ip("ip2", "203.0.113.12");
    sim.pod("outside")
        .on("n1")
        .asks("ip0")
        .replica_set("x2-aaa", 1, "uid2");
    sim.wait(Duration::from_secs(30));
    sim.expect_denied("outside", Reason::ClaimedByOther);
    sim.expect_denied("new0", Reason::Deadlock);
    sim.expect_denied("new1", Reason::Deadlock);
}

#[test]
fn a_deleted_pod_waits_for_no_address() {
    let left: [fn(&mut mooring_plan::objects::Pod); 3] = [
        |pod| pod.ended = true,
        |pod| pod.deleting = Some(30),
        |pod| pod.annotated = false,
    ];
    for leave in left {
        let mut sim = rotated(2);
        sim.change_pod("new0", leave);
        sim.wait(Duration::from_secs(30));
        expect_no_cycle_reported(&mut sim, "ip0", 1);
    }
}

#[test]
fn a_deleted_holder_ends_a_cycle() {
    let mut sim = rotated(2);
    sim.delete_pod("old1");
    sim.wait(Duration::from_secs(30));
    expect_no_cycle_reported(&mut sim, "ip0", 1);
}
