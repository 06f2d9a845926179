//! After a reboot the kernel of a node has nothing, so a report from before it does not count.
//! Rules: R4.38, R4.42, R4.45.

use mooring_plan::names::{BootId, NodeName};
use mooring_plan::objects::{Condition, ProbeOutcome};
use mooring_plan::reason::Reason;

use crate::programmed::{asking, expect_not_programmed, programmed, ready, start};
use crate::sim::{Sim, address};

/// A boot of a node.
fn boot(number: u8) -> BootId {
    BootId::parse(&format!("5a7e0000-0000-4000-8000-0000000000{number:02}")).unwrap()
}

fn boots(sim: &mut Sim, node: Option<BootId>, report: Option<BootId>) {
    sim.change_node("n1", |shown| shown.boot = node);
    if let Some(shown) = sim.kube.node_reports.get_mut(&NodeName::from("n1")) {
        shown.boot = report;
    }
    sim.settle();
}

/// Pod "a" is ready on node "n1", whose node part says which boot it describes.
fn programmed_in_first_boot() -> Sim {
    let mut sim = asking(&["n1"]);
    sim.change_node("n1", |node| node.boot = Some(boot(1)));
    start(&mut sim, "n1");
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    assert!(condition(&sim).status, "{}", sim.story());
    sim
}

fn condition(sim: &Sim) -> Condition {
    let conditions = &sim.the_ip("partner").status.conditions;
    conditions.programmed.clone().unwrap()
}

#[test]
fn a_node_that_was_rebooted_and_has_no_node_part_is_reported_and_the_gate_stays_open() {
    let mut sim = programmed_in_first_boot();
    sim.count_from_here();
    sim.kube.reboot(&NodeName::from("n1"), boot(2));
    sim.settle();
    sim.expect_attached("partner", "a");
    assert_eq!(condition(&sim).reason, Reason::NotProgrammed);
    assert_eq!(ready(&sim).reason, Reason::NotProgrammed, "{}", sim.story());
    let message = ready(&sim).message;
    assert!(message.contains("node n1 was rebooted"), "{message}");
    sim.expect_event("IP partner", Reason::NotProgrammed);
    sim.expect_event("a", Reason::NotProgrammed);
    sim.expect_cost(0, 1, 0);
    // The process is restarted: what it sees says the same.
    sim.restart(0);
    sim.settle();
    assert!(!condition(&sim).status, "{}", sim.story());

    start(&mut sim, "n1");
    sim.settle();
    assert!(condition(&sim).status && ready(&sim).status);
}

#[test]
fn a_report_from_before_a_reboot_opens_no_gate() {
    let mut sim = asking(&["n1"]);
    sim.pod("a").on("n1");
    sim.settle();
    sim.node_part_reports("n1", "0.0.1", |_| {});
    boots(&mut sim, Some(boot(2)), Some(boot(1)));
    expect_not_programmed(&sim, "a");
    boots(&mut sim, Some(boot(2)), Some(boot(2)));
    sim.expect_attached("partner", "a");
}

/// The node part or the kubelet does not say it, for example a node part of an earlier version.
#[test]
fn a_boot_that_one_side_does_not_know_takes_nothing_from_a_pod() {
    for (node, report) in [(Some(boot(2)), None), (None, Some(boot(1))), (None, None)] {
        let mut sim = programmed(&["n1"]);
        sim.kube.stop_node_part(&NodeName::from("n1"));
        sim.count_from_here();
        boots(&mut sim, node, report);
        assert!(condition(&sim).status && ready(&sim).status);
        sim.expect_cost(0, 0, 0);
    }
}

#[test]
fn after_a_reboot_nothing_is_verified() {
    let mut sim = programmed_in_first_boot();
    sim.kube.stop_node_part(&NodeName::from("n1"));
    sim.change_block("block", |block| block.spec.as_mut().unwrap().probe = true);
    let observed = address("203.0.113.10");
    sim.node_part_reports("n1", "0.0.1", |report| {
        report.probe = Some(ProbeOutcome {
            target: "198.51.100.7:7000".to_owned(),
            observed: Some(observed),
            round_trip: None,
            message: String::new(),
        });
    });
    boots(&mut sim, Some(boot(1)), Some(boot(1)));
    let verified = |sim: &Sim| sim.the_ip("partner").status.conditions.verified.clone();
    assert!(verified(&sim).unwrap().status, "{}", sim.story());
    sim.kube.reboot(&NodeName::from("n1"), boot(2));
    sim.settle();
    assert_eq!(verified(&sim), None, "{}", sim.story());
}
