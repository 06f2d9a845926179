//! A rollout with the default strategy completes: the address goes to the pod of the new revision when that is ready,
//! and to no other pod.
//! Rules: R1.21, R3.17, R3.23 to R3.25, R3.29, R4.32.

use std::time::Duration;

use mooring_plan::objects::Handover;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Step, Write};

use crate::sim::Sim;

fn attached() -> Sim {
    let mut sim = Sim::new();
    for node in ["n1", "n2", "n3"] {
        sim.node(node);
    }
    sim.ip("partner", "203.0.113.10");
    sim.next_revision("old", "n1", 1);
    sim.settle();
    sim.expect_attached("partner", "old");
    sim.count_from_here();
    sim
}

#[test]
fn the_new_pod_waits_until_its_containers_are_ready() {
    let mut sim = attached();
    sim.pod("new").on("n2").replica_set("rs2", 2, "dep");
    sim.settle();
    sim.expect_attached("partner", "old");
    sim.expect_event("new", Reason::HandoverWaiting);
    sim.expect_event("old", Reason::HandoverWaiting);
    sim.containers_ready("new");
    sim.settle();
    sim.expect_attached("partner", "new");
    sim.expect_denied("old", Reason::MovedTo);
    // The rollout removes the remaining old pod itself, so the user need not act.
    assert!(
        !sim.rules.reported("old", Reason::ClaimedByOther),
        "{}",
        sim.story()
    );
}

#[test]
fn with_handover_running_it_takes_over_before_it_is_ready() {
    let mut sim = attached();
    sim.pod("new")
        .on("n2")
        .replica_set("rs2", 2, "dep")
        .hands_over_running();
    sim.settle();
    sim.expect_attached("partner", "old");
    sim.change_pod("new", |pod| pod.containers_running = true);
    sim.settle();
    sim.expect_attached("partner", "new");
}

#[test]
fn an_undo_during_a_rollout_returns_the_address_for_good() {
    let mut sim = attached();
    sim.next_revision("new", "n2", 2);
    sim.settle();
    sim.expect_attached("partner", "new");
    // `rollout undo` gives the old ReplicaSet the higher revision; its pod was never deleted.
    sim.replica_set("rs1", 3, "dep", 1);
    sim.settle();
    sim.expect_attached("partner", "old");
    sim.count_from_here();
    sim.delete_pod("new");
    sim.remove_pod("new");
    sim.settle();
    sim.expect_attached("partner", "old");
    sim.expect_cost(0, 0, 0);
}

#[test]
fn the_first_of_two_replicas_keeps_it_and_the_second_gets_the_reason() {
    let mut sim = attached();
    sim.next_revision("twin", "n2", 1);
    sim.settle();
    sim.expect_attached("partner", "old");
    sim.expect_event("twin", Reason::ClaimedByOther);
    sim.expect_cost(0, 0, 1);
}

#[test]
fn a_later_pod_of_an_older_revision_gets_the_reason_once() {
    let mut sim = attached();
    sim.next_revision("new", "n2", 2);
    sim.settle();
    sim.expect_attached("partner", "new");
    sim.pod("late").on("n3").replica_set("rs1", 1, "dep");
    sim.wait(Duration::from_secs(50));
    // A rollout removes it within this time.
    assert_eq!(sim.the_pod("late").gate, None);
    sim.taken.clear();
    sim.wait(Duration::from_mins(10));
    sim.expect_denied("late", Reason::ClaimedByOther);
    sim.expect_event("late", Reason::ClaimedByOther);
    let late = sim.the_pod("late").uid.clone();
    let reported = |step: &Step| matches!(step, Step::Write(Write::Gate(gate)) if gate.uid == late);
    let reported = sim.taken.iter().filter(|(_, _, step)| reported(step));
    assert_eq!(reported.count(), 1, "{}", sim.story());
    sim.expect_attached("partner", "new");
}

#[test]
fn a_newer_pod_of_another_deployment_takes_nothing() {
    let mut sim = attached();
    sim.pod("new").on("n2").replica_set("rs9", 9, "other");
    sim.containers_ready("new");
    sim.settle();
    sim.expect_attached("partner", "old");
    sim.expect_cost(0, 0, 1);
}

/// The messages to a pod that waits for the address of the holder `old`.
fn reported(sim: &Sim) -> Vec<&str> {
    let notices = sim.rules.notices(Reason::ClaimedByOther);
    notices
        .iter()
        .map(|notice| notice.message.as_str())
        .collect()
}

#[test]
fn a_rollout_without_a_deployment_gets_the_advice_to_stop_the_old_pod_first() {
    let no_deployment = |sim: &mut Sim, set: &str| {
        let set = sim.kube.replica_sets.get_mut(set).unwrap();
        set.deployment = None;
    };
    // What is known of the holder makes no difference: the message must not change with it.
    for old_too in [true, false] {
        let mut sim = attached();
        if old_too {
            no_deployment(&mut sim, "rs1");
        }
        sim.pod("new").on("n2").replica_set("rs2", 2, "dep");
        no_deployment(&mut sim, "rs2");
        sim.containers_ready("new");
        sim.settle();
        sim.expect_attached("partner", "old");
        sim.expect_denied("new", Reason::ClaimedByOther);
        let [message] = reported(&sim).try_into().unwrap();
        assert!(
            message.contains("stop the old pod before it starts the new one"),
            "{message}"
        );
    }
    // Pods of two Deployments, and two replicas, have no rollout that could end their wait.
    for (set, deployment) in [("rs9", "other"), ("rs1", "dep")] {
        let mut sim = attached();
        sim.pod("new").on("n2").of_replica_set(set, 9, deployment);
        sim.containers_ready("new");
        sim.settle();
        let [message] = reported(&sim).try_into().unwrap();
        assert!(message.ends_with("give this one its own"), "{message}");
    }
}

#[test]
fn a_broken_new_revision_does_not_get_it_while_the_old_pod_is_replaced() {
    let mut sim = attached();
    sim.pod("broken").on("n2").replica_set("rs2", 2, "dep");
    sim.settle();
    sim.delete_pod("old");
    sim.remove_pod("old");
    sim.wait(Duration::from_secs(10));
    sim.expect_denied("broken", Reason::HandoverWaiting);
    sim.pod("next").on("n3").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.expect_attached("partner", "next");
    sim.containers_ready("broken");
    sim.settle();
    sim.expect_attached("partner", "broken");
}

#[test]
fn without_a_pod_of_the_old_revision_the_new_one_gets_it_after_a_minute() {
    let mut sim = attached();
    sim.pod("broken").on("n2").replica_set("rs2", 2, "dep");
    sim.settle();
    sim.delete_pod("old");
    sim.remove_pod("old");
    sim.settle();
    sim.expect_attached("partner", "broken");
}

#[test]
fn a_ready_pod_on_a_failed_node_takes_nothing() {
    let mut sim = attached();
    sim.pod("new").on("n2").replica_set("rs2", 2, "dep");
    sim.node_unreachable("n2");
    sim.containers_ready("new");
    sim.settle();
    sim.expect_attached("partner", "old");
    sim.expect_cost(0, 0, 1);
}

#[test]
fn a_third_revision_precedes_the_second() {
    let mut sim = attached();
    sim.pod("second").on("n2").replica_set("rs2", 2, "dep");
    sim.pod("third").on("n3").replica_set("rs3", 3, "dep");
    sim.containers_ready("second");
    sim.containers_ready("third");
    sim.settle();
    sim.expect_attached("partner", "third");
    // Nothing removes the second one here, so it gets the reason after a minute.
    sim.expect_denied("second", Reason::ClaimedByOther);
    sim.expect_cost(2, 3, 3);
}

#[test]
fn recreate_detaches_and_attaches() {
    let mut sim = attached();
    sim.delete_pod("old");
    sim.wait(Duration::from_secs(2));
    sim.remove_pod("old");
    sim.wait(Duration::from_secs(2));
    sim.replica_set("rs1", 1, "dep", 0);
    sim.pod("new").on("n2").replica_set("rs2", 2, "dep");
    sim.settle();
    sim.expect_attached("partner", "new");
    sim.expect_cost(2, 5, 1);
}

#[test]
fn the_holder_being_drained_hands_over_to_the_new_revision() {
    let mut sim = attached();
    sim.delete_pod("old");
    sim.pod("new").on("n2").replica_set("rs2", 2, "dep");
    sim.settle();
    sim.expect_attached("partner", "old");
    sim.containers_ready("new");
    sim.settle();
    sim.expect_attached("partner", "new");
}

/// Pod "new" of the next revision, whose containers are ready and whose other readiness gate is not.
fn with_a_gate_that_is_not_true() -> Sim {
    let mut sim = attached();
    sim.pod("new").on("n2").replica_set("rs2", 2, "dep");
    let gate = "example.com/warm".to_owned();
    sim.change_pod("new", |pod| pod.unready_gates = [gate].into());
    sim.containers_ready("new");
    sim
}

#[test]
fn a_pod_takes_over_when_its_other_readiness_gates_are_true() {
    let mut sim = with_a_gate_that_is_not_true();
    sim.wait(Duration::from_secs(50));
    sim.expect_attached("partner", "old");
    sim.expect_cost(0, 0, 0);
    sim.change_pod("new", |pod| pod.unready_gates.clear());
    sim.settle();
    sim.expect_attached("partner", "new");
}

#[test]
fn a_rollout_that_waits_for_another_readiness_gate_names_it() {
    let mut sim = with_a_gate_that_is_not_true();
    sim.settle();
    sim.expect_attached("partner", "old");
    sim.expect_denied("new", Reason::HandoverWaiting);
    let named = sim.taken.iter().any(|(_, _, step)| {
        matches!(step, Step::Write(Write::Gate(gate)) if gate.message.contains("example.com/warm is not"))
    });
    assert!(named, "{}", sim.story());
}

#[test]
fn with_handover_running_other_readiness_gates_are_not_asked() {
    let mut sim = with_a_gate_that_is_not_true();
    sim.change_pod("new", |pod| pod.handover = Handover::Running);
    sim.settle();
    sim.expect_attached("partner", "new");
}
