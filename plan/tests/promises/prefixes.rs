//! All addresses of a prefix that is delegated to an ENI belong to that ENI: none of them is ours.
//! Rules: R2.13, R4.20, R4.24, R4.25.

use std::time::Duration;

use mooring_plan::names::InterfaceId;
use mooring_plan::objects::{IpStatus, MAX_PREVIOUS};
use mooring_plan::reason::Reason;

use crate::sim::{INTERVAL, Sim, address, interface_of};

fn delegate(sim: &mut Sim, node: &str, prefix: &str) {
    sim.ec2.remember(sim.now);
    let interface = sim.ec2.interface_mut(&interface_of(node));
    interface.prefixes.insert(prefix.parse().unwrap());
}

/// 203.0.113.0/28 and 203.0.113.32/28 are delegated to the ENI of n1.
fn delegated() -> Sim {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.node("n2");
    delegate(&mut sim, "n1", "203.0.113.0/28");
    delegate(&mut sim, "n1", "203.0.113.32/28");
    sim
}

fn expect_prefix_named(sim: &Sim, message: &str) {
    for part in ["203.0.113.32/28", "eni-n1"] {
        assert!(message.contains(part), "{message}\n{}", sim.story());
    }
    assert!(!message.contains("take-from"), "{message}");
}

#[test]
fn allocation_skips_delegated_addresses() {
    let mut sim = delegated();
    sim.ip_of_block("partner", "block");
    sim.pod("a").on("n2");
    sim.settle();
    let given = sim.the_ip("partner").status.address;
    assert_eq!(given, Some(address("203.0.113.16")), "{}", sim.story());
    sim.expect_attached("partner", "a");
}

#[test]
fn a_specified_delegated_address_waits_for_the_removal_of_the_prefix() {
    let mut sim = delegated();
    sim.ip("partner", "203.0.113.40");
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_not_reserved("partner", Reason::AddressInUse);
    let conditions = sim.the_ip("partner").status.conditions.clone();
    expect_prefix_named(&sim, &conditions.reserved.unwrap().message);
    sim.ec2.remember(sim.now);
    let interface = sim.ec2.interface_mut(&interface_of("n1"));
    interface.prefixes.clear();
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn an_address_in_a_later_prefix_is_not_taken_and_blocks_no_deletion() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.edit("partner", "203.0.113.40");
    sim.settle();
    delegate(&mut sim, "n1", "203.0.113.32/28");
    sim.take_from("partner", "eni-n1");
    sim.settle();
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_reason("partner", Reason::AddressInUse);
    let conditions = sim.the_ip("partner").status.conditions.clone();
    expect_prefix_named(&sim, &conditions.attached.unwrap().message);
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
}

#[test]
fn an_edit_to_a_delegated_address_keeps_the_address_of_the_pod() {
    let mut sim = Sim::attached(&["n1"]);
    delegate(&mut sim, "n1", "203.0.113.32/28");
    sim.edit("partner", "203.0.113.40");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_on("203.0.113.10", Some("eni-n1"));
    sim.expect_not_reserved("partner", Reason::AddressInUse);
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

#[test]
fn a_refusal_for_an_unseen_prefix_has_the_same_message() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.edit("partner", "203.0.113.40");
    sim.settle();
    delegate(&mut sim, "n1", "203.0.113.32/28");
    sim.pod("a").on("n2");
    sim.wait(INTERVAL);
    sim.expect_reason("partner", Reason::AddressInUse);
    let conditions = sim.the_ip("partner").status.conditions.clone();
    expect_prefix_named(&sim, &conditions.attached.unwrap().message);
    assert_eq!(sim.counts.assigns, 1, "{}", sim.story());
    assert!(sim.ec2.has(&InterfaceId::from("eni-n2")));
}

#[test]
fn a_move_names_the_place_it_leaves_though_a_prefix_has_the_address_there() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.40");
    for n in 0..=9 {
        sim.node(&format!("n{n}"));
    }
    sim.pod("p0").on("n0");
    sim.settle();
    for n in 1..=8 {
        sim.pod(&format!("p{n}")).on(&format!("n{n}"));
        sim.remove_pod(&format!("p{}", n - 1));
        sim.wait(Duration::from_millis(200));
    }
    sim.expect_attached("partner", "p8");
    let before = sim.the_ip("partner").status.previous.len();
    assert_eq!(before, MAX_PREVIOUS, "{}", sim.story());
    // The address was detached by hand, and the CNI delegates a prefix to the ENI.
    sim.found_on("203.0.113.40", None);
    delegate(&mut sim, "n8", "203.0.113.32/28");
    sim.wait(INTERVAL);
    sim.pod("p9").on("n9");
    sim.remove_pod("p8");
    let named = |status: &IpStatus| {
        let claim = status.claim.as_ref().and_then(|claim| claim.target());
        let mut previous = status.previous.iter().map(|entry| &entry.interface);
        let on = interface_of("n8");
        claim.is_some_and(|target| target.place.interface == on)
            || previous.any(|known| *known == on)
    };
    for _ in 0..20 {
        let status = &sim.the_ip("partner").status;
        assert!(named(status), "{status:?}\n{}", sim.story());
        sim.wait(Duration::from_millis(100));
    }
    sim.expect_event("IP partner", Reason::PreviousFull);
    // Two inventories prove the other places empty.
    sim.settle();
    sim.expect_reason("partner", Reason::AddressInUse);
    let status = &sim.the_ip("partner").status;
    assert!(named(status), "{status:?}");
    let holder = status.claim.as_ref().map(|claim| claim.pod.name.clone());
    assert_eq!(holder.as_deref(), Some("p9"), "{}", sim.story());
}
