//! Which waiting pod gets a free address, and which reasons the others get.
//! Rules: R3.12 to R3.16, R3.25, R3.31 to R3.33.

use std::time::Duration;

use mooring_plan::objects::Pod;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Step, Write};

use crate::sim::{Fault, Sim};

/// Pod "a" of one Deployment had the address and is gone; its replacement "b" has no node yet; "waits", of another
/// Deployment, is ready for the address.
fn with_a_successor(change: impl FnOnce(&mut Pod)) -> Sim {
    let mut sim = Sim::reserved(&["n1", "n2", "n3"]);
    sim.next_revision("a", "n1", 1);
    sim.settle();
    sim.pod("waits").on("n2").replica_set("other1", 1, "other");
    sim.containers_ready("waits");
    sim.settle();
    sim.delete_pod("a");
    sim.pod("b").replica_set("rs1", 1, "dep");
    sim.change_pod("b", change);
    sim.deliver(0);
    sim.remove_pod("a");
    sim.wait(Duration::from_secs(30));
    sim
}

#[test]
fn a_successor_that_can_never_hold_it_is_not_awaited_for_a_minute() {
    let sim = with_a_successor(|pod| pod.gated = false);
    sim.expect_attached("partner", "waits");
    let sim = with_a_successor(|_| {});
    sim.expect_free("partner");
}

#[test]
fn only_pods_of_the_oldest_ones_deployment_are_preferred_to_it() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.ip("other", "203.0.113.20");
    sim.settle();
    // Its ReplicaSet is known already because of another address.
    sim.pod("c")
        .on("n2")
        .asks("other")
        .replica_set("b2", 2, "dep-b");
    sim.containers_ready("c");
    sim.settle();
    sim.expect_attached("other", "c");
    sim.pod("oldest").on("n1").replica_set("a1", 1, "dep-a");
    sim.pod("ready").on("n2").of_replica_set("b2", 2, "dep-b");
    sim.containers_ready("ready");
    sim.wait(Duration::from_secs(5));
    sim.expect_attached("partner", "oldest");
}

#[test]
fn the_containers_of_a_pod_that_is_not_ready_are_reported_before_its_other_gates() {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2"]);
    sim.pod("new").on("n2").replica_set("rs2", 2, "dep");
    let gate = "example.com/other".to_owned();
    sim.change_pod("new", |pod| pod.unready_gates = [gate].into());
    sim.settle();
    let reported = sim.rules.notices(Reason::HandoverWaiting);
    assert!(!reported.is_empty(), "{}", sim.story());
    for notice in reported {
        assert!(
            notice.message.contains("its containers are ready"),
            "{notice:?}"
        );
    }
}

#[test]
fn a_pod_without_a_node_is_named_by_the_ip_as_soon_as_it_has_waited_for_too_long() {
    let mut sim = Sim::reserved(&["n1"]);
    // The next inventory, which would also cause a decision, is later.
    sim.wait(Duration::from_secs(10));
    sim.pod("a");
    sim.wait(Duration::from_millis(2500));
    let conditions = &sim.the_ip("partner").status.conditions;
    let message = &conditions.attached.as_ref().unwrap().message;
    assert!(
        message.contains("not scheduled yet"),
        "{message}\n{}",
        sim.story()
    );
}

#[test]
fn a_pod_behind_a_claim_that_fails_gets_the_name_of_the_next_holder() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(1));
    sim.pod("b").on("n2");
    sim.wait(Duration::from_secs(10));
    sim.expect_denied("b", Reason::ClaimedByOther);
    let reported = sim.rules.notices(Reason::ClaimedByOther);
    let mut reported = reported.iter();
    assert!(reported.any(|notice| notice.message.contains("the address goes to pod")));
}

#[test]
fn a_holder_whose_gate_cannot_be_opened_is_not_denied_for_an_edit_that_waits() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.ip("other", "203.0.113.20");
    sim.settle();
    sim.refuses = |write| matches!(write, Write::Gate(gate) if gate.status);
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(1));
    sim.edit("partner", "203.0.113.20");
    sim.wait(Duration::from_mins(1));
    sim.expect_event("IP partner", Reason::AddressInUse);
    let mut taken = sim.taken.iter();
    let denied = |step: &Step| matches!(step, Step::Write(Write::Gate(gate)) if !gate.status);
    assert!(!taken.any(|(_, _, step)| denied(step)), "{}", sim.story());
    sim.refuses = |_| false;
    sim.wait(Duration::from_mins(1));
    sim.expect_attached("partner", "a");
}
