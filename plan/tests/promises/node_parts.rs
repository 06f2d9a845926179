//! Reports of node parts, and the MAC address in the status: which IPs are affected, and which Events are posted.
//! Rules: R4.35, R4.36, R4.39, R4.41.

use std::time::Duration;

use mooring_plan::facts::{Affected, Fact};
use mooring_plan::names::{BootId, IpName, MacAddress, NodeName};
use mooring_plan::objects::{DataPath, NodeReport, ProbeOutcome};
use mooring_plan::reason::Reason;
use mooring_plan::step::{StatusWrite, Step, Write};

use crate::sim::{Sim, address};

/// A reserved IP in a block that uses the node part and has a probe; the node has no node part yet.
fn asking() -> Sim {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.change_block("block", |block| {
        let spec = block.spec.as_mut().unwrap();
        spec.data_path = DataPath::NodePart;
        spec.probe = true;
    });
    sim.settle();
    sim
}

/// The same, and pod "a" is ready. From here on, only the test itself sends reports.
fn programmed() -> Sim {
    let mut sim = asking();
    sim.kube.start_node_part(&NodeName::from("n1"));
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.kube.stop_node_part(&NodeName::from("n1"));
    sim
}

/// The probe reports this source address.
fn observes(sim: &mut Sim, observed: &str) {
    let observed = address(observed);
    let probe = ProbeOutcome {
        target: "198.51.100.7:7000".to_owned(),
        observed: Some(observed),
        round_trip: None,
        message: format!("198.51.100.7:7000 sees {observed}"),
    };
    sim.node_part_reports("n1", env!("CARGO_PKG_VERSION"), |report| {
        report.probe = Some(probe);
    });
}

fn writes_conditions(step: &Step) -> bool {
    let written = StatusWrite::Conditions;
    matches!(step, Step::Write(Write::Status { change, .. }) if *change == written)
}

fn mac(sim: &Sim) -> Option<MacAddress> {
    sim.the_ip("partner").status.mac.clone()
}

#[test]
fn a_node_that_has_not_programmed_it_is_reported_once_a_healthy_attach_would_be_over() {
    let mut sim = asking();
    sim.pod("a").on("n1");
    sim.wait(Duration::from_millis(1500));
    let reported = sim.rules.reported("a", Reason::NotProgrammed);
    assert!(!reported, "{}", sim.story());
    sim.wait(Duration::from_secs(5));
    sim.expect_event("a", Reason::NotProgrammed);
}

#[test]
fn an_outcome_of_the_probe_is_reported_together_with_the_condition() {
    let mut sim = programmed();
    for (observed, reason) in [
        ("203.0.113.10", Reason::Verified),
        ("192.0.2.1", Reason::NotVerified),
    ] {
        observes(&mut sim, observed);
        sim.step_until(writes_conditions);
        let verified = sim.the_ip("partner").status.conditions.verified.clone();
        assert_eq!(verified.unwrap().reason, reason, "{}", sim.story());
        sim.expect_event("IP partner", reason);
    }
}

#[test]
fn the_verified_condition_has_the_current_generation() {
    let mut sim = programmed();
    observes(&mut sim, "203.0.113.10");
    sim.settle();
    sim.allow_reassignment("partner");
    sim.settle();
    let ip = sim.the_ip("partner");
    let verified = ip.status.conditions.verified.as_ref().unwrap();
    assert_eq!(verified.generation, ip.generation, "{}", sim.story());
}

#[test]
fn a_mac_address_that_no_inventory_shows_is_kept_for_its_interface_and_for_no_other() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    let first = Some(MacAddress::from("mac-of-eni-n1"));
    assert_eq!(mac(&sim), first);
    sim.ec2.shows = |interface| {
        interface.mac = None;
        true
    };
    sim.settle();
    sim.allow_reassignment("partner");
    sim.settle();
    assert_eq!(mac(&sim), first, "{}", sim.story());
    sim.delete_pod("a");
    sim.deliver(0);
    sim.remove_pod("a");
    sim.pod("b").on("n2");
    sim.settle();
    sim.expect_attached("partner", "b");
    assert_eq!(mac(&sim), None, "{}", sim.story());
}

#[test]
fn where_no_node_part_is_asked_for_nothing_is_written_for_a_mac_address_alone() {
    let mut sim = Sim::attached(&["n1"]);
    let partner = IpName::from("partner");
    sim.kube
        .change_ip(&partner, None, |ip| ip.status.mac = None);
    sim.count_from_here();
    sim.settle();
    sim.expect_cost(0, 0, 0);
}

#[test]
fn a_heartbeat_concerns_ips_only_if_the_node_part_was_away_or_is_another() {
    let mut sim = programmed();
    let mut report = NodeReport {
        node: NodeName::from("n1"),
        version: "1".to_owned(),
        boot: None,
        heartbeat: 10,
        addresses: [].into(),
    };
    let one = Affected::One(IpName::from("partner"));
    let facts = sim.controllers[0].facts_mut();
    let mut now = sim.now;
    let mut send = |report: &NodeReport, later: u64| {
        now = now.plus(Duration::from_secs(later));
        facts.apply(Fact::NodeReport(report.clone()), now, now)
    };
    assert_eq!(send(&report, 1), one);
    report.heartbeat = 20;
    assert_eq!(send(&report, 29), Affected::Nothing);
    report.heartbeat = 30;
    assert_eq!(send(&report, 30), one);
    report.heartbeat = 40;
    assert_eq!(send(&report, 10), Affected::Nothing);
    report.version = "2".to_owned();
    assert_eq!(send(&report, 10), one);
    report.boot = BootId::parse("1b4e28ba-2fa1-11d2-883f-0016d3cca427");
    assert_eq!(send(&report, 10), one);
}
