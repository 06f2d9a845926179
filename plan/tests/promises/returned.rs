//! What happens to an address that could not be assigned to its target, and how it is reported.
//! Rules: R2.4, R2.5, R2.8, R5.3 to R5.5.

use std::time::Duration;

use mooring_plan::cloud::Subnet;
use mooring_plan::facts::{CallError, Fact};
use mooring_plan::names::{IpName, SubnetId};
use mooring_plan::objects::Pod;
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{StatusWrite, Step, Write};

use crate::sim::{Fault, INTERVAL, SUBNET, Sim, address, instance_of, interface_of, status_write};

fn attached() -> Sim {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2", "n3"]);
    sim.taken.clear();
    sim
}

#[test]
fn a_full_interface_is_reported_and_remembered_once() {
    let mut sim = attached();
    sim.ec2.faults.extend([Fault::None, Fault::NoRoom]);
    sim.next_revision("b", "n2", 2);
    sim.step_until(status_write(StatusWrite::Revert));
    sim.expect_event("IP partner", Reason::NodeFull);
    let status = sim.the_ip("partner").status.clone();
    let places: Vec<_> = status
        .previous
        .iter()
        .map(|entry| &entry.interface)
        .collect();
    assert_eq!(places, [&interface_of("n2")], "it may be there after all");
}

#[test]
fn a_claim_does_not_return_to_a_pod_without_the_annotation() {
    let leaves: [fn(&mut Pod); 2] = [|pod| pod.annotated = false, |pod| pod.ended = true];
    for leave in leaves {
        let mut sim = attached();
        sim.next_revision("b", "n2", 2);
        sim.step_until(status_write(StatusWrite::Claim));
        sim.change_pod("a", leave);
        sim.ec2.faults.extend([Fault::NoRoom; 8]);
        sim.settle();
        let back = status_write(StatusWrite::Revert);
        assert!(!sim.taken.iter().any(|(_, _, step)| back(step)));
        sim.expect_attached("partner", "b");
    }
}

#[test]
fn a_drift_is_reported_as_a_drift() {
    let mut sim = attached();
    sim.found_on("203.0.113.10", None);
    sim.settle();
    sim.expect_event("IP partner", Reason::DriftRepaired);
    let mut sim = attached();
    sim.found_on("203.0.113.10", Some("eni-n3"));
    sim.wait(INTERVAL * 2);
    sim.expect_event("IP partner", Reason::AddressInUse);
    assert!(!sim.rules.reported("IP partner", Reason::DriftRepaired));
}

#[test]
fn an_address_on_a_recent_place_is_not_foreign() {
    let mut sim = attached();
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_secs(2));
    sim.expect_attached("partner", "b");
    sim.found_on("203.0.113.10", Some("eni-n1"));
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_event("IP partner", Reason::DriftRepaired);
    assert!(!sim.rules.reported("IP partner", Reason::AddressInUse));
}

#[test]
fn a_deleted_block_gets_no_new_reservation_and_keeps_the_old_ones() {
    let mut sim = attached();
    sim.change_block("block", |block| block.deleting = true);
    sim.ip("late", "203.0.113.20");
    sim.settle();
    sim.expect_not_reserved("late", Reason::BlockMissing);
    sim.edit("partner", "203.0.113.30");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_on("203.0.113.30", Some("eni-n1"));
}

#[test]
fn nothing_is_reserved_before_the_subnet_and_its_interfaces_are_known() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.kube
        .change_ip(&IpName::from("partner"), None, |ip| ip.finalizer = true);
    sim.deliver(0);
    let (now, subnet) = (sim.now, SubnetId::from(SUBNET));
    let cidrs = vec!["203.0.113.0/24".parse().unwrap()];
    let known = Fact::SubnetRead(subnet.clone(), Subnet::untagged(cidrs));
    let listed = Fact::InventoryDone(subnet, Vec::new());
    let ip = sim.the_ip("partner").clone();
    let reserves = |facts: &[&Fact]| {
        let mut facts_with = sim.controllers[0].facts().clone();
        let read = Fact::IpRead(ip.name.clone(), Some(ip.clone()));
        facts_with.apply(read, now, now);
        for fact in facts {
            facts_with.apply((*fact).clone(), now, now);
        }
        let step = facts_with.decide(&IpName::from("partner"), now).step;
        matches!(step, Some(Step::Write(Write::Reserve { .. })))
    };
    assert!(!reserves(&[&known]), "no inventory");
    assert!(!reserves(&[&listed]), "no range");
    assert!(reserves(&[&known, &listed]));
}

#[test]
fn a_reservation_without_label_or_owner_is_repaired_at_once() {
    for label in [true, false] {
        let mut sim = attached();
        let version = sim.kube.bump();
        let held = sim.kube.reservations.get_mut(&address("203.0.113.10"));
        let held = held.unwrap();
        if label {
            held.label = None;
        } else {
            held.owner = None;
        }
        held.version = version;
        sim.taken.clear();
        sim.wait(Duration::from_secs(1));
        let first = sim.taken.first().map(|(_, _, step)| step);
        assert!(
            matches!(first, Some(Step::Write(Write::RepairReservation { .. }))),
            "{first:?}"
        );
    }
}

#[test]
fn previous_places_stay_listed_when_a_claim_returns() {
    let mut sim = attached();
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_secs(2));
    sim.expect_attached("partner", "b");
    sim.ec2.faults.extend([Fault::None, Fault::NoRoom]);
    sim.next_revision("c", "n3", 3);
    sim.step_until(status_write(StatusWrite::Revert));
    let previous = &sim.the_ip("partner").status.previous;
    let places: Vec<_> = previous.iter().map(|entry| &entry.interface).collect();
    let expected = [&interface_of("n1"), &interface_of("n3")];
    assert_eq!(places, expected, "{}", sim.story());
}

#[test]
fn an_address_is_unassigned_from_previous_places_before_it_is_free() {
    let mut sim = attached();
    sim.next_revision("b", "n2", 2);
    sim.step_until(status_write(StatusWrite::Claim));
    sim.remove_pod("a");
    sim.ec2.faults.extend([Fault::None, Fault::NoRoom]);
    sim.step_until(status_write(StatusWrite::Detach));
    let clear = status_write(StatusWrite::Clear);
    assert!(!sim.taken.iter().any(|(_, _, step)| clear(step)));
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn an_address_that_a_late_call_put_on_a_refused_target_is_unassigned() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("a").on("n1");
    sim.step_until(status_write(StatusWrite::Claim));
    let Some((name, Step::Call(call))) = sim.in_hand(0) else {
        panic!("no call\n{}", sim.story());
    };
    sim.found_on("203.0.113.10", Some("eni-n1"));
    let now = sim.now;
    let shown = Fact::InventoryDone(SubnetId::from(SUBNET), sim.ec2.describe(now));
    let refused = CallError::new(Outcome::NoRoom, "as the test has it");
    let facts = sim.controllers[0].facts_mut();
    facts.apply(shown, now, now);
    facts.apply(
        Fact::Called {
            ip: name,
            call,
            result: Err(refused),
        },
        now,
        now,
    );
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn an_address_on_a_moved_interface_stays_and_is_reported() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("a").on("n1");
    sim.step_until(|step| matches!(step, Step::Call(_)));
    sim.ec2.attach(&interface_of("n1"), &instance_of("n2"));
    sim.wait(INTERVAL);
    sim.expect_reason("partner", Reason::NoEligibleNode);
    assert!(sim.the_ip("partner").status.claim.is_some());
    sim.expect_on("203.0.113.10", Some("eni-n1"));
}
