//! A free address goes to the workload that had it last, and to another workload only if that one has no pod for it.
//! Rules: R3.12 to R3.16.

use std::time::Duration;

use mooring_plan::objects::Workload;
use mooring_plan::reason::Reason;

use crate::sim::Sim;

/// Pod "a" of one Deployment holds the address on n1; "waits" of another Deployment, which is older than any successor
/// of "a", waits on n2.
fn with_another_waiting() -> Sim {
    let mut sim = Sim::reserved(&["n1", "n2", "n3"]);
    sim.next_revision("a", "n1", 1);
    sim.settle();
    sim.pod("waits").on("n2").replica_set("other1", 1, "other");
    sim.containers_ready("waits");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim
}

fn ends(sim: &mut Sim, pod: &str) {
    sim.delete_pod(pod);
    sim.remove_pod(pod);
}

#[test]
fn a_successor_of_the_same_replica_set_precedes_an_older_pod() {
    let mut sim = with_another_waiting();
    sim.delete_pod("a");
    sim.pod("b").on("n3").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.remove_pod("a");
    sim.settle();
    sim.expect_attached("partner", "b");
    let workload = sim.the_ip("partner").status.workload.clone();
    assert_eq!(workload.unwrap().uid.as_str(), "dep");
}

#[test]
fn a_successor_of_the_same_deployment_precedes_an_older_pod() {
    let mut sim = with_another_waiting();
    sim.replica_set("rs1", 1, "dep", 0);
    sim.delete_pod("a");
    sim.pod("b").on("n3").replica_set("rs2", 2, "dep");
    sim.settle();
    sim.remove_pod("a");
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn a_successor_without_a_node_precedes_an_older_pod() {
    let mut sim = with_another_waiting();
    sim.delete_pod("a");
    sim.pod("b").replica_set("rs1", 1, "dep");
    sim.remove_pod("a");
    sim.wait(Duration::from_secs(50));
    sim.expect_free("partner");
    sim.expect_event("waits", Reason::HandoverWaiting);
    sim.change_pod("b", |pod| pod.node = Some("n3".into()));
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn a_successor_without_a_node_for_a_minute_blocks_no_other_pod() {
    let mut sim = with_another_waiting();
    sim.delete_pod("a");
    sim.pod("b").replica_set("rs1", 1, "dep");
    sim.remove_pod("a");
    sim.wait(Duration::from_secs(90));
    sim.expect_attached("partner", "waits");
}

#[test]
fn a_successor_that_is_created_after_the_deletion_is_awaited() {
    let mut sim = Sim::reserved(&["n1", "n2", "n3"]);
    sim.pod("a").on("n1").of_controller("set");
    sim.settle();
    sim.pod("waits").on("n2").replica_set("other1", 1, "other");
    sim.containers_ready("waits");
    sim.settle();
    ends(&mut sim, "a");
    sim.wait(Duration::from_secs(4));
    sim.expect_free("partner");
    sim.pod("b").on("n3").of_controller("set");
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn another_workload_gets_it_after_five_seconds_without_a_successor() {
    let mut sim = with_another_waiting();
    ends(&mut sim, "a");
    sim.wait(Duration::from_secs(4));
    sim.expect_free("partner");
    sim.expect_event("waits", Reason::HandoverWaiting);
    sim.wait(Duration::from_secs(10));
    sim.expect_attached("partner", "waits");
    let workload = sim.the_ip("partner").status.workload.clone();
    assert_eq!(workload.unwrap().uid.as_str(), "other");
}

#[test]
fn a_much_later_pod_gets_the_address_at_once() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("a").on("n1").of_controller("set");
    sim.settle();
    ends(&mut sim, "a");
    sim.wait(Duration::from_secs(30));
    sim.expect_free("partner");
    sim.pod("b").on("n2").of_controller("another");
    sim.wait(Duration::from_secs(1));
    sim.expect_attached("partner", "b");
}

#[test]
fn a_later_leader_prefers_the_same_workload() {
    let mut sim = with_another_waiting();
    sim.delete_pod("a");
    sim.pod("b").replica_set("rs1", 1, "dep");
    sim.wait(Duration::from_secs(2));
    sim.remove_pod("a");
    sim.wait(Duration::from_secs(2));
    sim.restart(0);
    sim.wait(Duration::from_secs(20));
    sim.expect_free("partner");
    sim.change_pod("b", |pod| pod.node = Some("n3".into()));
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn an_owner_of_the_same_uid_in_another_namespace_is_another_workload() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("a").on("n1").of_controller("set");
    sim.settle();
    let status = sim.the_ip("partner").status.clone();
    assert_eq!(
        status.workload,
        Some(Workload {
            namespace: sim.the_pod("a").key.namespace.clone(),
            uid: "set".into()
        })
    );
    let elsewhere = Workload {
        namespace: "elsewhere".into(),
        uid: "set".into(),
    };
    let name = sim.the_ip("partner").name.clone();
    sim.kube
        .change_ip(&name, None, |ip| ip.status.workload = Some(elsewhere));
    ends(&mut sim, "a");
    sim.pod("b").on("n2").of_controller("set");
    sim.wait(Duration::from_secs(4));
    sim.expect_free("partner");
}

#[test]
fn after_failover_a_successor_precedes_an_older_pod() {
    let mut sim = with_another_waiting();
    sim.delete_pod("a");
    sim.pod("b").on("n3").replica_set("rs1", 1, "dep");
    sim.remove_node("n1");
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn after_a_pod_without_a_controller_the_oldest_gets_it() {
    let mut sim = Sim::reserved(&["n1", "n2", "n3"]);
    sim.pod("a").on("n1");
    sim.settle();
    sim.pod("waits").on("n2").of_controller("other");
    sim.pod("younger").on("n3");
    sim.settle();
    ends(&mut sim, "a");
    sim.settle();
    sim.expect_attached("partner", "waits");
    assert!(sim.the_ip("partner").status.workload.is_some());
}
