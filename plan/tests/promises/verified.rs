//! If a block has a probe, the condition `Verified` says what its target sees for this claim. No decision waits for it,
//! and without a probe there are no extra writes.
//! Rules: R4.41 to R4.44.

use mooring_plan::address::Address;
use mooring_plan::names::{ClaimId, NodeName, PodUid};
use mooring_plan::objects::{AddressReport, AddressState, Condition, DataPath, ProbeOutcome};
use mooring_plan::reason::Reason;

use crate::sim::{Sim, address};

const TARGET: &str = "198.51.100.7:7000";

/// A reserved IP in a block with the node part, with or without a probe; the node has a node part.
fn asking(probe: bool) -> Sim {
    let mut sim = Sim::reserved(&["n1"]);
    sim.change_block("block", |block| {
        let spec = block.spec.as_mut().unwrap();
        spec.data_path = DataPath::NodePart;
        spec.probe = probe;
    });
    sim.settle();
    sim.count_from_here();
    sim.kube.start_node_part(&NodeName::from("n1"));
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    // From here on, only the test itself sends reports.
    sim.kube.stop_node_part(&NodeName::from("n1"));
    sim
}

fn verified(sim: &Sim) -> Option<Condition> {
    sim.the_ip("partner").status.conditions.verified.clone()
}

fn seen(observed: &str, round_trip: u64) -> ProbeOutcome {
    ProbeOutcome {
        target: TARGET.to_owned(),
        observed: Some(address(observed)),
        round_trip: Some(round_trip),
        message: String::new(),
    }
}

fn failed(observed: Option<Address>, message: &str) -> ProbeOutcome {
    ProbeOutcome {
        target: TARGET.to_owned(),
        observed,
        round_trip: None,
        message: message.to_owned(),
    }
}

/// The node part of n1 reports "partner" with this outcome of the probe.
fn report_probe(sim: &mut Sim, probe: Option<ProbeOutcome>) {
    report_probe_with(sim, probe, |_| {});
}

fn report_probe_with(
    sim: &mut Sim,
    probe: Option<ProbeOutcome>,
    change: impl FnOnce(&mut AddressReport),
) {
    sim.node_part_reports("n1", env!("CARGO_PKG_VERSION"), |report| {
        report.probe = probe;
        change(report);
    });
    sim.settle();
}

/// How many Events of this reason were posted.
fn events(sim: &Sim, reason: Reason) -> usize {
    sim.rules.notices(reason).len()
}

#[test]
fn an_address_that_the_target_sees_is_verified_with_its_round_trip_time() {
    let mut sim = asking(true);
    report_probe(&mut sim, Some(seen("203.0.113.10", 3)));
    let condition = verified(&sim).unwrap();
    assert_eq!(
        (condition.status, condition.reason),
        (true, Reason::Verified)
    );
    assert_eq!(
        condition.message,
        "198.51.100.7:7000 sees 203.0.113.10 (round trip 3 ms)"
    );
    sim.expect_event("IP partner", Reason::Verified);
}

#[test]
fn another_source_address_is_reported_and_blocks_nothing() {
    let mut sim = asking(true);
    report_probe(&mut sim, Some(seen("203.0.113.10", 3)));
    sim.count_from_here();
    let other = failed(
        Some(address("192.0.2.1")),
        "198.51.100.7:7000 sees 192.0.2.1",
    );
    report_probe(&mut sim, Some(other));
    let condition = verified(&sim).unwrap();
    assert_eq!(
        (condition.status, condition.reason),
        (false, Reason::NotVerified)
    );
    assert_eq!(
        condition.message,
        "node n1: 198.51.100.7:7000 sees 192.0.2.1"
    );
    sim.expect_event("IP partner", Reason::NotVerified);
    sim.expect_attached("partner", "a");
    let ready = sim.the_ip("partner").status.conditions.ready.clone();
    assert!(ready.unwrap().status, "{}", sim.story());
    sim.expect_cost(0, 1, 0);
}

#[test]
fn another_target_that_sees_the_address_is_named() {
    let mut sim = asking(true);
    report_probe(&mut sim, Some(seen("203.0.113.10", 3)));
    let other = ProbeOutcome {
        target: "198.51.100.8:7000".to_owned(),
        ..seen("203.0.113.10", 3)
    };
    report_probe(&mut sim, Some(other));
    let condition = verified(&sim).unwrap();
    assert!(
        condition.message.starts_with("198.51.100.8:7000"),
        "{condition:?}"
    );
}

#[test]
fn a_silent_target_is_reported_with_the_reason() {
    let mut sim = asking(true);
    report_probe(&mut sim, Some(failed(None, "no answer within 3 s")));
    let condition = verified(&sim).unwrap();
    assert_eq!(
        (condition.status, condition.reason),
        (false, Reason::NotVerified)
    );
    assert_eq!(condition.message, "node n1: no answer within 3 s");
}

#[test]
fn an_unchanged_outcome_costs_nothing_and_has_one_event() {
    let mut sim = asking(true);
    report_probe(&mut sim, Some(seen("203.0.113.10", 3)));
    sim.count_from_here();
    let reported = events(&sim, Reason::Verified);
    assert_eq!(reported, 1, "{}", sim.story());
    report_probe(&mut sim, Some(seen("203.0.113.10", 3)));
    // After a restart, the node part measured another round trip time.
    report_probe(&mut sim, Some(seen("203.0.113.10", 8)));
    assert_eq!(events(&sim, Reason::Verified), reported);
    sim.expect_cost(0, 0, 0);
}

#[test]
fn without_a_probe_in_the_block_there_is_no_condition() {
    let mut sim = asking(false);
    sim.expect_cost(1, 3, 1);
    sim.count_from_here();
    report_probe(&mut sim, Some(seen("203.0.113.10", 3)));
    assert_eq!(verified(&sim), None);
    assert_eq!(events(&sim, Reason::Verified), 0);
    sim.expect_cost(0, 0, 0);
}

#[test]
fn before_the_first_outcome_there_is_no_condition_and_no_additional_write() {
    let mut sim = asking(true);
    sim.expect_cost(1, 3, 1);
    sim.count_from_here();
    report_probe(&mut sim, None);
    assert_eq!(verified(&sim), None);
    sim.expect_cost(0, 0, 0);
}

#[test]
fn an_outcome_of_another_claim_pod_or_address_is_ignored() {
    let mut sim = asking(true);
    let outcome = || Some(seen("203.0.113.10", 3));
    report_probe_with(&mut sim, outcome(), |report| report.claim = ClaimId(1));
    assert_eq!(verified(&sim), None, "{}", sim.story());
    report_probe_with(&mut sim, outcome(), |report| report.pod = PodUid::from("b"));
    assert_eq!(verified(&sim), None, "{}", sim.story());
    report_probe_with(&mut sim, outcome(), |report| {
        report.address = address("203.0.113.11");
    });
    assert_eq!(verified(&sim), None, "{}", sim.story());
    report_probe(&mut sim, outcome());
    assert!(verified(&sim).unwrap().status, "{}", sim.story());
}

#[test]
fn a_new_claim_starts_without_an_outcome() {
    let mut sim = asking(true);
    report_probe(&mut sim, Some(seen("203.0.113.10", 3)));
    // The same pod, node, ENI and address: only the claim is different.
    sim.found_on("203.0.113.10", None);
    sim.settle();
    sim.expect_on("203.0.113.10", Some("eni-n1"));
    assert_eq!(verified(&sim), None, "{}", sim.story());
}

#[test]
fn the_last_outcome_stays_while_the_node_part_is_away_or_restarts() {
    let mut sim = asking(true);
    report_probe(&mut sim, Some(seen("203.0.113.10", 3)));
    sim.count_from_here();
    report_probe(&mut sim, None);
    sim.kube.node_reports.clear();
    sim.kube.bump();
    sim.settle();
    sim.restart(0);
    sim.settle();
    assert!(verified(&sim).unwrap().status, "{}", sim.story());
    assert_eq!(events(&sim, Reason::Verified), 1);
    sim.expect_cost(0, 0, 0);
}

#[test]
fn the_condition_is_removed_with_the_probe() {
    let mut sim = asking(true);
    report_probe(&mut sim, Some(seen("203.0.113.10", 3)));
    sim.change_block("block", |block| block.spec.as_mut().unwrap().probe = false);
    sim.settle();
    assert_eq!(verified(&sim), None, "{}", sim.story());
}

#[test]
fn verified_addresses_are_counted_for_blocks_with_a_probe() {
    let count = |sim: &Sim| sim.controllers[0].facts().probed_addresses();
    assert!(count(&asking(false)).is_empty());
    let mut sim = asking(true);
    let of = |sim: &Sim, state: &'static str| count(sim)[&("block".into(), state)];
    assert_eq!((of(&sim, "verified"), of(&sim, "not_verified")), (0, 0));
    report_probe(&mut sim, Some(seen("203.0.113.10", 3)));
    assert_eq!((of(&sim, "verified"), of(&sim, "not_verified")), (1, 0));
    report_probe(&mut sim, Some(failed(None, "no answer within 3 s")));
    assert_eq!((of(&sim, "verified"), of(&sim, "not_verified")), (0, 1));
}

#[test]
fn an_attached_address_that_is_not_programmed_is_counted_as_that() {
    for probe in [true, false] {
        let mut sim = asking(probe);
        let of = |sim: &Sim| {
            let counts = sim.controllers[0].facts().addresses_by_state();
            ["attached", "not_programmed"].map(|state| counts[&("block".into(), state)])
        };
        assert_eq!(of(&sim), [1, 0]);
        report_probe_with(&mut sim, None, |report| {
            report.state = AddressState::NotProgrammed("eth1 is down: bring it up".to_owned());
        });
        assert_eq!(of(&sim), [0, 1]);
        report_probe(&mut sim, None);
        assert_eq!(of(&sim), [1, 0]);
    }
}

#[test]
fn the_condition_is_removed_while_the_node_passes_no_packets() {
    let mut sim = asking(true);
    report_probe(&mut sim, Some(seen("203.0.113.10", 3)));
    sim.count_from_here();
    report_probe_with(&mut sim, None, |report| {
        report.state = AddressState::NotProgrammed("eth1 is down: bring it up".to_owned());
    });
    assert_eq!(verified(&sim), None, "{}", sim.story());
    // One write: that the address is not programmed.
    sim.expect_cost(0, 1, 0);
}
