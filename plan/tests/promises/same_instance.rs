//! If several Nodes name the same instance, one is accepted; the others get neither addresses nor the label.
//! Rules: R3.2 to R3.4.

use mooring_plan::reason::Reason;

use crate::sim::{Sim, instance_of};

/// Adds a newer Node that names the instance of n1.
fn forged(sim: &mut Sim) {
    sim.node("forged");
    sim.change_node("forged", |node| {
        node.created += 1;
        node.instance = Some(instance_of("n1"));
    });
}

#[test]
fn a_pod_on_the_younger_node_waits_and_its_reason_names_both() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    forged(&mut sim);
    sim.pod("a").on("forged");
    sim.settle();
    sim.expect_free("partner");
    let notices = sim.rules.notices(Reason::NoEligibleNode);
    let message = &notices.first().expect("there is a notice").message;
    assert!(
        message.contains("node forged") && message.contains("node n1"),
        "{message}"
    );
}

#[test]
fn the_older_node_gets_the_address_as_usual() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    forged(&mut sim);
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn an_address_on_the_older_node_stays_there_without_a_call() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    forged(&mut sim);
    sim.settle();
    sim.expect_attached("partner", "a");
    assert_eq!(sim.counts.calls(), 0);
}

#[test]
fn the_younger_node_counts_after_the_older_is_deleted() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    forged(&mut sim);
    sim.pod("a").on("forged");
    sim.settle();
    sim.expect_free("partner");
    sim.remove_node("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn a_renamed_machine_counts_after_its_old_node_is_unreachable() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    forged(&mut sim);
    sim.pod("a").on("forged");
    sim.settle();
    sim.change_node("n1", |node| node.ready = false);
    sim.settle();
    sim.expect_free("partner");
    sim.node_unreachable("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
}
