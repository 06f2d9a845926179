//! Where a block asks for the node part, a pod is ready only when its node passes packets for this very claim; and a
//! pod that works stays ready.
//! Rules: R4.31, R4.34 to R4.40.

use std::time::Duration;

use mooring_plan::names::{ClaimId, IpName, MacAddress, NodeName, PodUid};
use mooring_plan::objects::{AddressReport, AddressState, Condition, DataPath};
use mooring_plan::reason::Reason;
use mooring_plan::step::{Step, Write};

use crate::sim::Sim;

/// Reserved, in a block that asks for the node part. No node has one yet.
fn asking(nodes: &[&str]) -> Sim {
    let mut sim = Sim::reserved(nodes);
    set_data_path(&mut sim, DataPath::NodePart);
    sim.settle();
    sim.count_from_here();
    sim
}

/// The same, with node parts, and pod "a" on the first node has the address and is ready.
fn programmed(nodes: &[&str]) -> Sim {
    let mut sim = asking(nodes);
    for node in nodes {
        sim.kube.start_node_part(&NodeName::from(*node));
    }
    sim.pod("a").on(nodes[0]);
    sim.settle();
    sim.expect_attached("partner", "a");
    sim
}

fn set_data_path(sim: &mut Sim, data_path: DataPath) {
    sim.change_block("block", |block| {
        block.spec.as_mut().unwrap().data_path = data_path;
    });
}

fn start(sim: &mut Sim, node: &str) {
    sim.kube.start_node_part(&NodeName::from(node));
    sim.kube.bump();
}

fn stop(sim: &mut Sim, node: &str) {
    sim.kube.stop_node_part(&NodeName::from(node));
}

fn condition(sim: &Sim) -> Option<Condition> {
    sim.the_ip("partner").status.conditions.programmed.clone()
}

fn ready(sim: &Sim) -> Condition {
    sim.the_ip("partner")
        .status
        .conditions
        .ready
        .clone()
        .unwrap()
}

/// The address is recorded for the pod, and the pod is not ready: its node has not programmed it.
fn expect_not_programmed(sim: &Sim, pod: &str) {
    let claim = sim.the_ip("partner").status.claim.clone().unwrap();
    assert!(claim.recorded(), "{}", sim.story());
    assert_eq!(claim.uid, sim.the_pod(pod).uid, "{}", sim.story());
    assert!(!sim.the_pod(pod).says_attached(), "{}", sim.story());
    let said = condition(sim).unwrap();
    assert_eq!(
        (said.status, said.reason),
        (false, Reason::NotProgrammed),
        "{}",
        sim.story()
    );
    assert_eq!(ready(sim).reason, Reason::NotProgrammed, "{}", sim.story());
}

/// What a node part says of "partner" on this node, as its `IPNode` has it.
fn say(sim: &mut Sim, node: &str, change: impl FnOnce(&mut AddressReport)) {
    sim.node_part_reports(node, "0.0.1", change);
}

#[test]
fn a_pod_is_ready_when_its_node_has_programmed_the_address() {
    let sim = programmed(&["n1"]);
    let said = condition(&sim).unwrap();
    assert!(said.status, "{said:?}");
    assert_eq!(said.reason, Reason::Programmed);
    assert!(ready(&sim).status, "{}", sim.story());
}

#[test]
fn a_healthy_attach_costs_one_call_three_status_writes_and_one_gate_write() {
    let mut sim = programmed(&["n1"]);
    sim.expect_cost(1, 3, 1);
}

#[test]
fn without_the_node_part_the_pod_waits_and_its_reason_names_the_node() {
    let mut sim = asking(&["n1"]);
    sim.pod("a").on("n1");
    sim.settle();
    expect_not_programmed(&sim, "a");
    sim.expect_denied("a", Reason::NotProgrammed);
    sim.expect_event("a", Reason::NotProgrammed);
    assert!(ready(&sim).message.contains("node n1"), "{:?}", ready(&sim));
    start(&mut sim, "n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    assert!(ready(&sim).status, "{}", sim.story());
}

#[test]
fn a_pod_that_waits_for_less_than_two_seconds_costs_no_additional_write() {
    let mut sim = asking(&["n1"]);
    sim.pod("a").on("n1");
    sim.step_until(|step| matches!(step, Step::Write(Write::Status { .. })));
    sim.wait(Duration::from_millis(500));
    start(&mut sim, "n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_cost(1, 3, 1);
}

#[test]
fn a_report_for_an_earlier_claim_is_ignored() {
    let mut sim = programmed(&["n1"]);
    stop(&mut sim, "n1");
    // The same pod, node, interface and address: only the claim is another.
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
    say(&mut sim, "n1", |said| said.pod = PodUid::from("another"));
    sim.settle();
    expect_not_programmed(&sim, "a");
    say(&mut sim, "n1", |said| {
        said.address = crate::sim::address("203.0.113.11");
    });
    sim.settle();
    expect_not_programmed(&sim, "a");
    say(&mut sim, "n1", |said| said.claim = ClaimId(1));
    sim.settle();
    expect_not_programmed(&sim, "a");
    say(&mut sim, "n2", |_| {});
    sim.settle();
    expect_not_programmed(&sim, "a");
    say(&mut sim, "n1", |_| {});
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn the_reason_of_the_node_is_shown_on_ip_and_pod() {
    let mut sim = asking(&["n1"]);
    sim.pod("a").on("n1");
    sim.settle();
    sim.count_from_here();
    say(&mut sim, "n1", |said| {
        said.state = AddressState::NotProgrammed("eth1 is down: bring it up".to_owned());
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
fn a_ready_pod_stays_ready_without_node_part_or_report() {
    let mut sim = programmed(&["n1"]);
    sim.count_from_here();
    stop(&mut sim, "n1");
    sim.settle();
    sim.kube.node_reports.clear();
    sim.kube.bump();
    sim.settle();
    sim.restart(0);
    sim.settle();
    sim.expect_attached("partner", "a");
    assert!(condition(&sim).unwrap().status, "{}", sim.story());
    sim.expect_cost(0, 0, 0);
}

#[test]
fn a_node_that_stops_passing_packets_is_reported_and_the_gate_stays_open() {
    let mut sim = programmed(&["n1"]);
    stop(&mut sim, "n1");
    sim.count_from_here();
    say(&mut sim, "n1", |said| {
        said.state = AddressState::NotProgrammed("eth1 is down: bring it up".to_owned());
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
    // What it reports is made here: it programs nothing.
    stop(&mut sim, "n1");
    sim.pod("a").on("n1");
    for heartbeat in [7_200_000, 3_600_000, 90_000_000, 20, 3_600_000, 10] {
        sim.kube.bump();
        let report = sim.kube.node_reports.get_mut(&node).unwrap();
        report.heartbeat = heartbeat;
        sim.wait(Duration::from_secs(20));
        expect_not_programmed(&sim, "a");
        let said = ready(&sim).message;
        assert!(!said.contains("does not report any more"), "{said}");
    }
    // The same heartbeat for longer than three of them.
    sim.wait(Duration::from_secs(40));
    let said = ready(&sim).message;
    assert!(said.contains("does not report any more"), "{said}");
}

#[test]
fn a_node_part_of_another_version_is_reported_with_its_version() {
    let mut sim = asking(&["n1"]);
    sim.pod("a").on("n1");
    sim.settle();
    say(&mut sim, "n1", |said| said.claim = ClaimId(1));
    sim.wait(Duration::from_secs(5));
    assert!(
        ready(&sim).message.contains("version 0.0.1"),
        "{:?}",
        ready(&sim)
    );
}

#[test]
fn a_move_waits_for_the_new_node() {
    let mut sim = programmed(&["n1", "n2"]);
    stop(&mut sim, "n2");
    sim.pod("b").on("n2");
    sim.delete_pod("a");
    sim.remove_pod("a");
    sim.settle();
    sim.expect_on("203.0.113.10", Some("eni-n2"));
    expect_not_programmed(&sim, "b");
    start(&mut sim, "n2");
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn enabling_the_node_part_removes_no_readiness() {
    let mut sim = Sim::attached(&["n1"]);
    set_data_path(&mut sim, DataPath::NodePart);
    sim.settle();
    sim.expect_attached("partner", "a");
    assert!(ready(&sim).status, "{}", sim.story());
    assert!(!condition(&sim).unwrap().status, "{}", sim.story());
    sim.count_from_here();
    start(&mut sim, "n1");
    sim.settle();
    assert!(condition(&sim).unwrap().status, "{}", sim.story());
    sim.expect_cost(0, 1, 0);
}

#[test]
fn after_disabling_the_node_part_nothing_waits_for_it() {
    let mut sim = asking(&["n1"]);
    sim.pod("a").on("n1");
    sim.settle();
    expect_not_programmed(&sim, "a");
    set_data_path(&mut sim, DataPath::Foreign);
    sim.settle();
    sim.expect_attached("partner", "a");
    assert_eq!(condition(&sim), None);
    assert!(ready(&sim).status, "{}", sim.story());
}

#[test]
fn a_claim_has_the_mac_of_its_interface_and_an_old_claim_gets_it() {
    let mut sim = programmed(&["n1"]);
    let mac = Some(MacAddress::from("mac-of-eni-n1"));
    assert_eq!(sim.the_ip("partner").status.mac, mac);
    sim.count_from_here();
    sim.kube
        .change_ip(&IpName::from("partner"), None, |ip| ip.status.mac = None);
    sim.settle();
    assert_eq!(sim.the_ip("partner").status.mac, mac, "{}", sim.story());
    sim.expect_attached("partner", "a");
}

#[test]
fn every_claim_has_a_unique_id_that_its_record_keeps() {
    let mut sim = programmed(&["n1"]);
    for _ in 0..3 {
        sim.found_on("203.0.113.10", None);
        sim.settle();
    }
    sim.expect_attached("partner", "a");
    let written = sim.taken.iter().filter_map(|(_, _, step)| match step {
        Step::Write(Write::Status { status, .. }) => status.claim.as_ref(),
        _ => None,
    });
    let mut ids: Vec<(ClaimId, bool)> = written.map(|claim| (claim.id, claim.recorded())).collect();
    ids.dedup();
    let claims: Vec<ClaimId> = ids
        .iter()
        .filter(|(_, recorded)| !recorded)
        .map(|(id, _)| *id)
        .collect();
    let records: Vec<ClaimId> = ids
        .iter()
        .filter(|(_, recorded)| *recorded)
        .map(|(id, _)| *id)
        .collect();
    assert_eq!(claims.len(), 4, "{ids:?}");
    assert_eq!(claims, records, "{ids:?}");
    assert!(claims.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
}

#[test]
fn an_unsupported_network_of_the_node_is_reported_with_a_remedy() {
    let mut sim = asking(&["n1"]);
    sim.pod("a").on("n1");
    sim.settle();
    say(&mut sim, "n1", |said| {
        said.state = AddressState::Unsupported("use hostNetwork".to_owned());
    });
    sim.settle();
    sim.expect_denied("a", Reason::UnsupportedDataPath);
    assert_eq!(ready(&sim).reason, Reason::UnsupportedDataPath);
    assert_eq!(ready(&sim).message, "node n1: use hostNetwork");
    sim.expect_event("a", Reason::UnsupportedDataPath);
}
