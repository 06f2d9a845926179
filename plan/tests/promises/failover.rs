//! A failed node releases the address; a slow one does not.
//! Rules: R1.19, R3.19 to R3.22, R3.26.

use std::time::Duration;

use mooring_plan::cloud::InstanceState;
use mooring_plan::names::InstanceId;
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Call, StatusWrite, Step, Write};

use crate::sim::{Fault, Sim, address, interface_of, status_write};

/// Pod "a" holds the address on n1 and is being deleted; "b" of the same `ReplicaSet` waits on n2.
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
fn a_slowly_terminating_pod_on_a_healthy_node_keeps_its_address() {
    let mut sim = draining();
    sim.wait(Duration::from_hours(1));
    sim.expect_attached("partner", "a");
    sim.expect_cost(0, 0, 0);
    sim.remove_pod("a");
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn a_deleted_node_releases_the_address() {
    let mut sim = draining();
    sim.remove_node("n1");
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_denied("a", Reason::MovedTo);
    sim.expect_cost(2, 3, 2);
}

#[test]
fn an_unreachable_node_releases_the_address() {
    let mut sim = draining();
    sim.node_unreachable("n1");
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn the_out_of_service_taint_releases_the_address() {
    let mut sim = draining();
    sim.change_node("n1", |node| node.out_of_service = true);
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn a_failover_that_waits_for_an_inventory_says_so() {
    let mut sim = draining();
    sim.describe_fails = Some(Outcome::Denied);
    sim.wait(Duration::from_secs(130));
    sim.node_unreachable("n1");
    sim.wait(Duration::from_secs(10));
    sim.expect_attached("partner", "a");
    sim.expect_denied("b", Reason::AccessDenied);
    sim.describe_fails = None;
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
fn a_node_without_an_instance_proves_nothing() {
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
fn a_short_outage_of_a_kubelet_moves_nothing() {
    let mut sim = draining();
    sim.change_node("n1", |node| node.ready = false);
    sim.wait(Duration::from_secs(20));
    sim.change_node("n1", |node| node.ready = true);
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_cost(0, 0, 0);
}

#[test]
fn a_long_outage_of_a_node_releases_after_failover_after_and_grace_period() {
    let mut sim = draining();
    sim.change_node("n1", |node| node.ready = false);
    sim.wait(Duration::from_secs(25));
    sim.expect_attached("partner", "a");
    sim.wait(Duration::from_secs(20));
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn the_grace_period_counts_from_when_the_deletion_was_seen() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.change_node("n1", |node| node.ready = false);
    sim.wait(Duration::from_mins(5));
    sim.pod("b").on("n2");
    sim.change_pod("a", |pod| pod.deleting = Some(120));
    sim.wait(Duration::from_secs(110));
    sim.expect_attached("partner", "a");
    sim.wait(Duration::from_secs(20));
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn an_unready_node_with_a_stopped_instance_releases_at_once() {
    let mut sim = draining();
    sim.instance("n1", InstanceState::Stopped);
    sim.change_node("n1", |node| node.ready = false);
    sim.wait(Duration::from_secs(5));
    sim.expect_attached("partner", "b");
    sim.expect_cost(2, 2, 2);
}

#[test]
fn a_terminated_instance_deletes_its_interface_and_the_address_moves() {
    let mut sim = draining();
    sim.instance("n1", InstanceState::Terminated);
    sim.remove_node("n1");
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn a_holder_that_is_not_deleted_keeps_its_address_on_a_failed_node() {
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
fn a_statefulset_pod_of_a_failed_node_waits_with_a_reason() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("db-0").on("n1");
    sim.settle();
    sim.node_fails_under("db-0", "n1");
    sim.settle();
    sim.expect_attached("partner", "db-0");
    sim.expect_event("db-0", Reason::NoEligibleNode);
    let [reported] = sim
        .rules
        .notices(Reason::NoEligibleNode)
        .try_into()
        .unwrap();
    let first = "Make sure first that the machine is off";
    assert!(reported.message.contains(first), "{reported:?}");
    // Because of the taint, the controller of the StatefulSet replaces the pod with the same name.
    sim.change_node("n1", |node| node.out_of_service = true);
    sim.remove_pod("db-0");
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
    sim.wait(Duration::from_secs(1));
    sim.remove_pod("db-0");
    sim.pod("db-0").on("n2");
    sim.settle();
    sim.expect_attached("partner", "db-0");
    sim.expect_on("203.0.113.10", Some("eni-n2"));
    assert!(sim.counts.calls() <= 2, "{}", sim.story());
}

#[test]
fn an_ended_pod_releases_the_address() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("job").on("n1");
    sim.settle();
    sim.change_pod("job", |pod| pod.ended = true);
    sim.settle();
    sim.expect_free("partner");
    sim.expect_denied("job", Reason::Detaching);
}

#[test]
fn the_address_of_a_force_deleted_pod_is_unassigned_before_the_next_assign() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.pod("b").on("n2");
    sim.remove_pod("a");
    sim.count_from_here();
    sim.settle();
    sim.expect_attached("partner", "b");
    assert_eq!((sim.counts.unassigns, sim.counts.assigns), (1, 1));
}

/// Asserts that the waiting pod gets the address soon when the node of the holder fails while `refused` writes fail.
fn expect_released_despite(refused: fn(&Write) -> bool, needs_it: fn(&mut Sim)) {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.refuses = refused;
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.wait(Duration::from_secs(10));
    needs_it(&mut sim);
    sim.wait(Duration::from_mins(2));
    sim.pod("b").on("n2").replica_set("rs1", 1, "dep");
    sim.node_fails_under("a", "n1");
    sim.wait(Duration::from_secs(5));
    let claim = sim.the_ip("partner").status.claim.as_ref();
    let claim = claim.map(|claim| claim.pod.name.as_str());
    assert_eq!(claim, Some("b"), "{}", sim.story());
    sim.refuses = |_| false;
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn a_repeated_refusal_for_the_holder_does_not_hide_the_failover() {
    // The gate of the holder can never be set to `True`.
    expect_released_despite(
        |write| matches!(write, Write::Gate(gate) if gate.status && gate.pod.name == "a"),
        |_| {},
    );
    // The references of its `IPAddress` cannot be repaired.
    expect_released_despite(
        |write| matches!(write, Write::RepairReservation { .. }),
        |sim| {
            let version = sim.kube.bump();
            let held = sim.kube.reservations.get_mut(&address("203.0.113.10"));
            let held = held.unwrap();
            held.owner = None;
            held.version = version;
        },
    );
    // Its label cannot be put back.
    expect_released_despite(
        |write| matches!(write, Write::Label { .. }),
        |sim| sim.change_pod("a", |pod| pod.label = None),
    );
    // The new address of an edit cannot be reserved.
    expect_released_despite(
        |write| matches!(write, Write::Reserve { address: new, .. } if *new == address("203.0.113.20")),
        |sim| sim.edit("partner", "203.0.113.20"),
    );
}

#[test]
fn a_failover_that_ec2_refuses_does_not_go_back_to_the_failed_node() {
    let mut sim = draining();
    sim.taken.clear();
    sim.ec2.faults.extend([Fault::None, Fault::NoRoom]);
    sim.node_unreachable("n1");
    sim.settle();
    let reverts = status_write(StatusWrite::Revert);
    let back = |step: &Step| match step {
        Step::Call(Call::Assign { interface, .. }) => *interface == interface_of("n1"),
        step => reverts(step),
    };
    let back = sim.taken.iter().find(|(.., step)| back(step));
    assert!(back.is_none(), "{back:?}\n{}", sim.story());
    sim.expect_attached("partner", "b");
}
