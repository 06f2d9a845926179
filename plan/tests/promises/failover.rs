//! A dead node gives the address up; one that is merely slow does not.

use mooring_plan::cloud::InstanceState;
use mooring_plan::names::{InstanceId, Millis};
use mooring_plan::reason::Reason;
use mooring_plan::step::Write;

use crate::sim::{Sim, address};

/// "a" holds it on n1 and is being deleted; "b" of the same `ReplicaSet` waits on n2.
fn draining() -> Sim {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.next_revision("a", "n1", 1);
    sim.settle();
    sim.delete_pod("a");
    sim.pod("b").on("n2").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.count_from_here();
    sim
}

#[test]
fn a_pod_that_ends_slowly_on_a_healthy_node_keeps_it_until_it_is_gone() {
    let mut sim = draining();
    sim.wait(Millis::seconds(3600));
    sim.expect_attached("partner", "a");
    sim.expect_cost(0, 0, 0);
    sim.pod_goes("a");
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn a_node_that_is_gone_gives_it_up() {
    let mut sim = draining();
    sim.node_goes("n1");
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_denied("a", Reason::MovedTo);
    sim.expect_cost(2, 3, 2);
}

#[test]
fn an_unreachable_node_gives_it_up() {
    let mut sim = draining();
    sim.node_unreachable("n1");
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn the_out_of_service_taint_gives_it_up() {
    let mut sim = draining();
    sim.change_node("n1", |node| node.out_of_service = true);
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn the_same_name_with_another_instance_is_another_node() {
    let mut sim = draining();
    sim.change_node("n1", |node| {
        node.instance = Some(InstanceId::from("i-other"));
    });
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn a_node_that_has_no_instance_yet_says_nothing() {
    let mut sim = draining();
    sim.change_node("n1", |node| node.instance = None);
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_cost(0, 0, 0);
    sim.node_is_well("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn a_kubelet_that_is_away_for_seconds_moves_nothing() {
    let mut sim = draining();
    sim.change_node("n1", |node| node.ready = false);
    sim.wait(Millis::seconds(20));
    sim.change_node("n1", |node| node.ready = true);
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_cost(0, 0, 0);
}

#[test]
fn one_that_stays_away_gives_it_up_after_failover_after_and_the_grace_period() {
    let mut sim = draining();
    sim.change_node("n1", |node| node.ready = false);
    sim.wait(Millis::seconds(25));
    sim.expect_attached("partner", "a");
    sim.wait(Millis::seconds(20));
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn the_grace_period_counts_from_when_the_deletion_was_seen() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.change_node("n1", |node| node.ready = false);
    sim.wait(Millis::seconds(300));
    sim.pod("b").on("n2");
    sim.change_pod("a", |pod| pod.deleting = Some(120));
    sim.wait(Millis::seconds(110));
    sim.expect_attached("partner", "a");
    sim.wait(Millis::seconds(20));
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn a_node_that_is_not_ready_with_a_stopped_instance_gives_it_up_at_once() {
    let mut sim = draining();
    sim.instance("n1", InstanceState::Stopped);
    sim.change_node("n1", |node| node.ready = false);
    sim.wait(Millis::seconds(5));
    sim.expect_attached("partner", "b");
    sim.expect_cost(2, 2, 2);
}

#[test]
fn a_terminated_instance_takes_its_interface_along_and_the_address_moves() {
    let mut sim = draining();
    sim.instance("n1", InstanceState::Terminated);
    sim.node_goes("n1");
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn a_holder_that_nobody_deletes_keeps_it_on_a_dead_node() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("a").on("n1");
    sim.pod("b").on("n2");
    sim.settle();
    sim.count_from_here();
    sim.node_unreachable("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_cost(0, 0, 0);
}

#[test]
fn a_statefulset_pod_on_a_dead_node_waits_and_says_so() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("db-0").on("n1");
    sim.settle();
    sim.node_dies_under("db-0", "n1");
    sim.settle();
    sim.expect_attached("partner", "db-0");
    sim.expect_event("db-0", Reason::NoEligibleNode);
    // The taint lets the controller of the StatefulSet replace it, under the same name.
    sim.change_node("n1", |node| node.out_of_service = true);
    sim.pod_goes("db-0");
    sim.pod("db-0").on("n2");
    sim.settle();
    sim.expect_attached("partner", "db-0");
    sim.expect_on("203.0.113.10", Some("eni-n2"));
}

#[test]
fn a_pod_created_again_under_its_name_is_another_claim() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("db-0").on("n1");
    sim.settle();
    sim.count_from_here();
    sim.delete_pod("db-0");
    sim.wait(Millis::seconds(1));
    sim.pod_goes("db-0");
    sim.pod("db-0").on("n2");
    sim.settle();
    sim.expect_attached("partner", "db-0");
    sim.expect_on("203.0.113.10", Some("eni-n2"));
    assert!(sim.counts.calls() <= 2, "{}", sim.story());
}

#[test]
fn a_pod_that_ends_gives_it_up() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("job").on("n1");
    sim.settle();
    sim.change_pod("job", |pod| pod.ended = true);
    sim.settle();
    sim.expect_free("partner");
    sim.expect_denied("job", Reason::Detaching);
}

#[test]
fn a_force_deleted_pods_address_is_taken_off_before_the_next_gets_it() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.pod("b").on("n2");
    sim.pod_goes("a");
    sim.count_from_here();
    sim.settle();
    sim.expect_attached("partner", "b");
    assert_eq!((sim.counts.unassigns, sim.counts.assigns), (1, 1));
}

/// The node dies under the holder while this is refused, and the waiting pod has the address soon.
fn gives_it_up_although(refused: fn(&Write) -> bool, needs_it: fn(&mut Sim)) {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.refuses = refused;
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.wait(Millis::seconds(10));
    needs_it(&mut sim);
    sim.wait(Millis::seconds(120));
    sim.pod("b").on("n2").replica_set("rs1", 1, "dep");
    sim.node_dies_under("a", "n1");
    sim.wait(Millis::seconds(5));
    let claim = sim.the_ip("partner").status.claim.as_ref();
    let claim = claim.map(|claim| claim.pod.name.as_str());
    assert_eq!(claim, Some("b"), "{}", sim.story());
    sim.refuses = |_| false;
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn what_keeps_being_refused_for_the_holder_does_not_hide_it() {
    // The holder is never told that it has the address.
    gives_it_up_although(
        |write| matches!(write, Write::Gate(gate) if gate.status && gate.pod.name == "a"),
        |_| {},
    );
    // References of its `IPAddress` are not put back.
    gives_it_up_although(
        |write| matches!(write, Write::MendReservation(..)),
        |sim| {
            let version = sim.kube.bump();
            let held = sim.kube.reservations.get_mut(&address("203.0.113.10"));
            let held = held.unwrap();
            held.owner = None;
            held.version = version;
        },
    );
    // An address that it is to change to is not reserved.
    gives_it_up_although(
        |write| matches!(write, Write::Reserve(_, _, _, new) if *new == address("203.0.113.20")),
        |sim| sim.edit("partner", "203.0.113.20"),
    );
}
