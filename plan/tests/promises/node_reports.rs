//! What the node part reports of an address: which reports count, and what IP and pod say of them.
//! Rules: R4.36, R4.38 to R4.40.

use std::time::Duration;

use mooring_plan::names::{ClaimId, NodeName, PodUid};
use mooring_plan::objects::{AddressReport, AddressState};
use mooring_plan::reason::Reason;

use crate::programmed::{asking, expect_not_programmed, programmed, ready, start, stop};
use crate::sim::Sim;

/// Sets the report about "partner" in the `IPNode` of this node.
fn report(sim: &mut Sim, node: &str, change: impl FnOnce(&mut AddressReport)) {
    sim.node_part_reports(node, "0.0.1", change);
}

#[test]
fn a_report_for_an_earlier_claim_is_ignored() {
    let mut sim = programmed(&["n1"]);
    stop(&mut sim, "n1");
    // The same pod, node, ENI and address: only the claim is different.
    sim.found_on("203.0.113.10", None);
    sim.settle();
    sim.expect_on("203.0.113.10", Some("eni-n1"));
    expect_not_programmed(&sim, "a");
    start(&mut sim, "n1");
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn a_report_for_another_pod_address_or_node_is_ignored() {
    let mut sim = asking(&["n1", "n2"]);
    sim.pod("a").on("n1");
    sim.settle();
    report(&mut sim, "n1", |report| {
        report.pod = PodUid::from("another");
    });
    sim.settle();
    expect_not_programmed(&sim, "a");
    report(&mut sim, "n1", |report| {
        report.address = crate::sim::address("203.0.113.11");
    });
    sim.settle();
    expect_not_programmed(&sim, "a");
    report(&mut sim, "n1", |report| report.claim = ClaimId(1));
    sim.settle();
    expect_not_programmed(&sim, "a");
    report(&mut sim, "n2", |_| {});
    sim.settle();
    expect_not_programmed(&sim, "a");
    report(&mut sim, "n1", |_| {});
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn the_reason_of_the_node_is_shown_on_ip_and_pod() {
    let mut sim = asking(&["n1"]);
    sim.pod("a").on("n1");
    sim.settle();
    sim.count_from_here();
    report(&mut sim, "n1", |report| {
        report.state = AddressState::NotProgrammed("eth1 is down: bring it up".to_owned());
    });
    sim.settle();
    expect_not_programmed(&sim, "a");
    let message = "node n1: eth1 is down: bring it up";
    assert_eq!(ready(&sim).message, message);
    let notices = sim.rules.notices(Reason::NotProgrammed);
    assert!(
        notices.iter().any(|notice| notice.message == message),
        "{notices:?}"
    );
    // The reason at the gate is the same as before.
    sim.expect_cost(0, 1, 0);
}

#[test]
fn a_node_that_stops_passing_packets_is_reported_and_the_gate_stays_open() {
    let mut sim = programmed(&["n1"]);
    stop(&mut sim, "n1");
    sim.count_from_here();
    report(&mut sim, "n1", |report| {
        report.state = AddressState::NotProgrammed("eth1 is down: bring it up".to_owned());
    });
    sim.settle();
    sim.expect_attached("partner", "a");
    assert_eq!(ready(&sim).reason, Reason::NotProgrammed, "{}", sim.story());
    sim.expect_event("IP partner", Reason::NotProgrammed);
    sim.expect_cost(0, 1, 0);
}

#[test]
fn a_node_part_without_a_heartbeat_for_half_a_minute_is_reported_away() {
    let mut sim = asking(&["n1"]);
    start(&mut sim, "n1");
    sim.settle();
    stop(&mut sim, "n1");
    sim.pod("a").on("n1");
    sim.settle();
    expect_not_programmed(&sim, "a");
    assert!(
        ready(&sim).message.contains("does not report any more"),
        "{:?}",
        ready(&sim)
    );
}

#[test]
fn a_clock_step_on_a_node_does_not_report_it_away() {
    let node = NodeName::from("n1");
    let mut sim = asking(&["n1"]);
    start(&mut sim, "n1");
    sim.settle();
    // The test itself writes the reports; no node part runs.
    stop(&mut sim, "n1");
    sim.pod("a").on("n1");
    for heartbeat in [7_200_000, 3_600_000, 90_000_000, 20, 3_600_000, 10] {
        sim.kube.bump();
        let report = sim.kube.node_reports.get_mut(&node).unwrap();
        report.heartbeat = heartbeat;
        sim.wait(Duration::from_secs(20));
        expect_not_programmed(&sim, "a");
        let message = ready(&sim).message;
        assert!(!message.contains("does not report any more"), "{message}");
    }
    // The heartbeat does not change for longer than three intervals.
    sim.wait(Duration::from_secs(40));
    let message = ready(&sim).message;
    assert!(message.contains("does not report any more"), "{message}");
}

#[test]
fn a_node_part_of_another_version_is_reported_with_its_version() {
    let mut sim = asking(&["n1"]);
    sim.pod("a").on("n1");
    sim.settle();
    report(&mut sim, "n1", |report| report.claim = ClaimId(1));
    sim.wait(Duration::from_secs(5));
    assert!(
        ready(&sim).message.contains("version 0.0.1"),
        "{:?}",
        ready(&sim)
    );
}

#[test]
fn an_unsupported_network_of_the_node_is_reported_with_a_remedy() {
    let mut sim = asking(&["n1"]);
    sim.pod("a").on("n1");
    sim.settle();
    report(&mut sim, "n1", |report| {
        report.state = AddressState::Unsupported("use hostNetwork".to_owned());
    });
    sim.settle();
    sim.expect_denied("a", Reason::UnsupportedDataPath);
    assert_eq!(ready(&sim).reason, Reason::UnsupportedDataPath);
    assert_eq!(ready(&sim).message, "node n1: use hostNetwork");
    sim.expect_event("a", Reason::UnsupportedDataPath);
}
