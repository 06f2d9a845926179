//! The primary address of an ENI is never ours: EC2 neither moves nor unassigns it.
//! Rules: R4.24, R4.25.

use std::time::Duration;

use mooring_plan::names::{ClaimId, InterfaceId};
use mooring_plan::objects::{Claim, ClaimPhase, Previous};
use mooring_plan::reason::Reason;
use mooring_plan::step::Step;

use crate::sim::{INTERVAL, Sim, address, instance_of, interface_of, key};

/// The primary address of the new ENI in these tests.
const TAKEN: &str = "203.0.113.10";

/// Creates an ENI with 203.0.113.10 as its primary address.
fn make_it_primary(sim: &mut Sim) {
    sim.new_interface("eni-new", TAKEN);
}

fn becomes_a_primary_address_unclaimed() -> Sim {
    let mut sim = Sim::reserved(&["n1"]);
    make_it_primary(&mut sim);
    sim.settle();
    sim.pod("a").on("n1");
    sim.settle();
    sim
}

fn message(sim: &Sim) -> String {
    let conditions = &sim.the_ip("partner").status.conditions;
    conditions.attached.clone().unwrap().message
}

#[test]
fn it_is_not_reserved_once_an_inventory_shows_it() {
    let mut sim = Sim::new();
    sim.node("n1");
    make_it_primary(&mut sim);
    sim.ip("partner", TAKEN);
    sim.settle();
    sim.expect_not_reserved("partner", Reason::AddressInUse);
    sim.expect_event("IP partner", Reason::AddressInUse);
    assert!(sim.kube.reservations.is_empty(), "{}", sim.story());
    let reserved = sim.the_ip("partner").status.conditions.reserved.clone();
    let text = reserved.unwrap().message;
    assert!(
        text.contains("eni-new") && !text.contains("take-from"),
        "{text}"
    );
    sim.ec2.remember(sim.now);
    sim.ec2.delete_interface(&InterfaceId::from("eni-new"));
    sim.settle();
    sim.expect_free("partner");
}

#[test]
fn the_message_names_the_interface_and_does_not_recommend_take_from() {
    let sim = becomes_a_primary_address_unclaimed();
    sim.expect_reason("partner", Reason::AddressInUse);
    let text = message(&sim);
    assert!(text.contains("primary address of eni-new"), "{text}");
    assert!(!text.contains("take-from"), "{text}");
}

#[test]
fn take_from_its_interface_is_answered_and_changes_nothing() {
    let mut sim = becomes_a_primary_address_unclaimed();
    sim.take_from("partner", "eni-new");
    sim.settle();
    sim.expect_reason("partner", Reason::AddressInUse);
    let ip = sim.the_ip("partner");
    assert_eq!((&ip.status.claim, ip.status.previous.len()), (&None, 0));
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

#[test]
fn take_from_its_interface_is_answered_for_a_claim_on_its_way() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.ec2.faults.push_back(crate::sim::Fault::RequestLost);
    sim.pod("a").on("n1");
    sim.step_until(|step| matches!(step, Step::Call(_)));
    make_it_primary(&mut sim);
    sim.settle();
    sim.take_from("partner", "eni-new");
    sim.settle();
    sim.expect_reason("partner", Reason::AddressInUse);
    assert!(!message(&sim).contains("take-from"), "{}", sim.story());
    assert!(sim.the_ip("partner").status.previous.is_empty());
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
    assert_eq!(calls_to(&sim, "eni-new"), 0, "{}", sim.story());
}

/// The status of "partner" as an earlier release wrote it: `previous` names the ENI whose primary address it is.
fn names_its_interface(sim: &mut Sim, phase: ClaimPhase) {
    sim.kube.change_ip(&"partner".into(), None, |ip| {
        let entry = Previous {
            address: address(TAKEN),
            interface: InterfaceId::from("eni-new"),
            instance: None,
            holder: None,
        };
        ip.status.previous = vec![entry];
    });
    let holder = sim.the_pod("a").uid.clone();
    sim.kube.change_ip(&"partner".into(), None, |ip| {
        ip.status.claim = Some(Claim {
            pod: key("a"),
            uid: holder,
            id: ClaimId(1),
            phase,
        });
    });
    sim.count_from_here();
}

fn calls_to(sim: &Sim, interface: &str) -> usize {
    let to =
        |step: &Step| matches!(step, Step::Call(call) if call.interface().as_str() == interface);
    sim.taken.iter().filter(|(_, _, step)| to(step)).count()
}

fn target(interface: &str) -> mooring_plan::objects::Target {
    mooring_plan::objects::Target {
        node: "n1".into(),
        place: mooring_plan::names::InterfaceRef {
            interface: InterfaceId::from(interface),
            instance: instance_of("n1"),
        },
    }
}

#[test]
fn an_ip_of_an_earlier_version_with_its_interface_can_be_deleted() {
    for phase in [
        ClaimPhase::Claimed(target("eni-n1")),
        ClaimPhase::Recorded(target("eni-new")),
        ClaimPhase::Detaching,
    ] {
        let mut sim = becomes_a_primary_address_unclaimed();
        names_its_interface(&mut sim, phase);
        sim.delete_ip("partner");
        sim.wait(INTERVAL * 4);
        sim.expect_gone("partner");
        assert_eq!(calls_to(&sim, "eni-new"), 0, "{}", sim.story());
        sim.expect_on(TAKEN, Some("eni-new"));
    }
}

#[test]
fn its_interface_is_removed_from_the_previous_places() {
    let mut sim = becomes_a_primary_address_unclaimed();
    names_its_interface(&mut sim, ClaimPhase::Claimed(target("eni-n1")));
    sim.remove_pod("a");
    sim.settle();
    assert!(
        sim.the_ip("partner").status.previous.is_empty(),
        "{}",
        sim.story()
    );
}

#[test]
fn the_primary_address_of_the_target_itself_is_not_recorded() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.ec2.remember(sim.now);
    let one = sim.ec2.interface_mut(&interface_of("n1"));
    one.primary = address(TAKEN).ipv4();
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_reason("partner", Reason::AddressInUse);
    assert_eq!(sim.saying_attached(sim.the_ip("partner")).count(), 0);
    // As an earlier release recorded it.
    let holder = sim.the_pod("a").uid.clone();
    sim.kube.change_ip(&"partner".into(), None, |ip| {
        ip.status.claim = Some(Claim {
            pod: key("a"),
            uid: holder,
            id: ClaimId(1),
            phase: ClaimPhase::Recorded(target("eni-n1")),
        });
    });
    sim.settle();
    sim.expect_reason("partner", Reason::AddressInUse);
    assert_eq!(sim.saying_attached(sim.the_ip("partner")).count(), 0);
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
    assert_eq!(sim.counts.unassigns, 0, "{}", sim.story());
}

/// Describe does not show a new ENI yet: only the refusal of EC2 shows that the address is primary there.
#[test]
fn a_refused_unassign_is_not_repeated() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(5));
    sim.expect_attached("partner", "a");
    sim.found_on(TAKEN, None);
    make_it_primary(&mut sim);
    sim.ec2.lag = Duration::from_secs(8);
    names_its_interface(&mut sim, ClaimPhase::Detaching);
    sim.count_from_here();
    sim.delete_ip("partner");
    sim.wait(INTERVAL);
    let refused = sim.trace.iter().filter(|line| line.contains("Primary"));
    assert_eq!(refused.count(), 1, "{}", sim.story());
    sim.settle();
    sim.expect_gone("partner");
    assert_eq!(calls_to(&sim, "eni-new"), 1, "{}", sim.story());
}
