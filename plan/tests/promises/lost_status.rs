//! The gate of a pod follows the status: if the status names no holder any more, no gate is `True`.
//! Rule: R4.11.

use mooring_plan::facts::Kind;
use mooring_plan::names::IpName;
use mooring_plan::objects::IpStatus;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Step, Write};

use crate::sim::Sim;

const ADDRESS: &str = "203.0.113.10";

/// A foreign client replaces the status of "partner", which pod "a" on n1 holds, with an empty one.
fn status_lost() -> Sim {
    let mut sim = Sim::attached(&["n1", "n2"]);
    wipe(&mut sim);
    sim
}

fn wipe(sim: &mut Sim) {
    sim.note("the status is wiped by hand");
    let name = IpName::from("partner");
    sim.kube
        .change_ip(&name, None, |ip| ip.status = IpStatus::default());
    sim.taken.clear();
}

fn first_change(sim: &Sim) -> &Step {
    let mut changes = sim.taken.iter().map(|(_, _, step)| step);
    changes
        .find(|step| !matches!(step, Step::Read(_)))
        .unwrap_or_else(|| panic!("nothing was changed\n{}", sim.story()))
}

fn is_denial(step: &Step) -> bool {
    matches!(step, Step::Write(Write::Gate(gate)) if !gate.status)
}

#[test]
fn the_pod_is_denied_first_and_the_remedy_is_reported() {
    let mut sim = status_lost();
    sim.settle();
    assert!(is_denial(first_change(&sim)), "{}", sim.story());
    assert_eq!(sim.saying_attached(sim.the_ip("partner")).count(), 0);
    sim.expect_on(ADDRESS, Some("eni-n1"));
    sim.expect_reason("partner", Reason::AddressInUse);
    let conditions = &sim.the_ip("partner").status.conditions;
    let message = conditions.attached.clone().unwrap().message;
    assert!(message.contains("take-from: eni-n1"), "{message}");
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    sim.take_from("partner", "eni-n1");
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn the_pod_is_denied_before_the_ip_is_deleted() {
    let mut sim = status_lost();
    sim.delete_ip("partner");
    sim.settle();
    assert!(is_denial(first_change(&sim)), "{}", sim.story());
    sim.expect_gone("partner");
    sim.expect_denied("a", Reason::StalePod);
}

#[test]
fn the_pod_is_denied_even_if_no_address_can_be_reserved() {
    let mut sim = Sim::attached(&["n1"]);
    sim.kube.blocks.clear();
    wipe(&mut sim);
    sim.settle();
    assert!(is_denial(first_change(&sim)), "{}", sim.story());
    assert_eq!(sim.saying_attached(sim.the_ip("partner")).count(), 0);
    sim.expect_not_reserved("partner", Reason::BlockMissing);
}

#[test]
fn a_pod_without_the_annotation_gets_the_reason_not_requested() {
    let mut sim = status_lost();
    sim.remove_annotation("a");
    sim.settle();
    sim.expect_released("a");
}

#[test]
fn a_lagging_leader_denies_no_pod_of_another_leader() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.second_controller();
    sim.deliver(1);
    let _ = sim.step(1);
    sim.controllers[1].stuck.insert(Kind::Ip);
    sim.leader = Some(0);
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.taken.clear();
    sim.leader = Some(1);
    sim.settle();
    sim.expect_attached("partner", "a");
    let denials = sim.taken.iter().filter(|(_, _, step)| is_denial(step));
    assert_eq!(denials.count(), 0, "{}", sim.story());
}
