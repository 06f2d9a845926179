//! The ENI that has the address is detached from its instance, and no other ENI is attached.
//! Rules: R3.23, R4.29.

use std::time::Duration;

use mooring_plan::reason::Reason;
use mooring_plan::step::{Call, StatusWrite, Step};

use crate::sim::{INTERVAL, Sim, instance_of, interface_of, status_write};

/// Detaches the ENI of this node, or attaches it again. The ENI keeps its addresses.
fn attach(sim: &mut Sim, node: &str, attached: bool) {
    sim.note(format!("eni-{node} is attached: {attached}"));
    sim.ec2.remember(sim.now);
    if attached {
        sim.ec2.attach(&interface_of(node), &instance_of(node));
    } else {
        sim.ec2.detach(&interface_of(node));
    }
}

#[test]
fn the_holder_of_a_detached_interface_is_denied_once() {
    let mut sim = Sim::attached(&["n1"]);
    attach(&mut sim, "n1", false);
    sim.wait(INTERVAL * 2);
    let expect_denied = |sim: &Sim| {
        let gate = sim.the_pod("a").gate.clone().unwrap();
        assert!(!gate.status, "{gate:?}\n{}", sim.story());
        assert!(!gate.reason.is_empty(), "{gate:?}\n{}", sim.story());
        sim.expect_reason("partner", Reason::NoEligibleNode);
    };
    expect_denied(&sim);
    sim.count_from_here();
    sim.wait(Duration::from_hours(1));
    sim.expect_cost(0, 0, 0);
    expect_denied(&sim);
    attach(&mut sim, "n1", true);
    sim.wait(INTERVAL + Duration::from_secs(3));
    sim.expect_attached("partner", "a");
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn a_rollout_continues_although_the_holder_lost_its_interface() {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2"]);
    attach(&mut sim, "n1", false);
    sim.wait(INTERVAL * 2);
    sim.expect_reason("partner", Reason::NoEligibleNode);
    sim.next_revision("b", "n2", 2);
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn an_address_is_not_unassigned_for_a_target_that_is_gone() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.next_revision("b", "n2", 2);
    sim.step_until(status_write(StatusWrite::Claim));
    attach(&mut sim, "n2", false);
    let from = sim.now;
    sim.now = from.plus(INTERVAL);
    sim.taken.clear();
    sim.settle();
    sim.expect_attached("partner", "a");
    let off = |step: &Step| matches!(step, Step::Call(Call::Unassign { .. }));
    let taken_off = sim.taken.iter().any(|(_, _, step)| off(step));
    assert!(!taken_off, "{}", sim.story());
}
