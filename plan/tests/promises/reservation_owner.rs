//! Which IP a reservation belongs to: after its IP was created again, and after a user removed its owner, its label, or
//! the reservation itself.
//! Rules: R2.7 to R2.12.

use mooring_plan::names::{IpName, IpUid};
use mooring_plan::reason::Reason;

use crate::reservation::{put, reservation};
use crate::sim::{Sim, address};

/// The IP `partner`, created while the address still has the reservation of an earlier IP of this name: a user removed
/// the finalizer of the earlier IP, and garbage collection has not run yet.
fn partner_after(earlier: &str) -> Sim {
    let mut sim = Sim::new();
    let mut left = reservation("203.0.113.10", Some(earlier));
    left.owner = Some(IpUid::from("ip-of-old"));
    left.label = Some(IpUid::from("ip-of-old"));
    left.managed = true;
    left.finalizer = true;
    put(&mut sim, left);
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.expect_free("partner");
    sim
}

#[test]
fn a_recreated_ip_is_another_ip_and_gets_the_address_of_the_first() {
    let sim = partner_after("partner");
    let held = &sim.kube.reservations[&address("203.0.113.10")];
    assert_eq!(
        held.owner.as_ref(),
        Some(&sim.the_ip("partner").uid),
        "{}",
        sim.story()
    );
    assert_eq!(held.label.as_ref(), Some(&sim.the_ip("partner").uid));
}

#[test]
fn a_reservation_left_by_another_ip_is_deleted_and_recreated() {
    let sim = partner_after("old");
    let held = &sim.kube.reservations[&address("203.0.113.10")];
    assert_eq!(
        held.parent,
        Some(IpName::from("partner")),
        "{}",
        sim.story()
    );
}

#[test]
fn a_removed_owner_or_label_is_restored() {
    for strip in 0..3 {
        let mut sim = Sim::attached(&["n1"]);
        let version = sim.kube.bump();
        let held = sim
            .kube
            .reservations
            .get_mut(&address("203.0.113.10"))
            .unwrap();
        if strip != 1 {
            held.owner = None;
        }
        if strip != 0 {
            held.label = None;
            held.managed = false;
        }
        held.version = version;
        sim.settle();
        sim.expect_attached("partner", "a");
        let held = &sim.kube.reservations[&address("203.0.113.10")];
        let uid = Some(&sim.the_ip("partner").uid);
        assert_eq!(
            (held.owner.as_ref(), held.label.as_ref(), held.managed),
            (uid, uid, true),
            "{}",
            sim.story()
        );
    }
}

#[test]
fn a_manual_deletion_of_a_reservation_detaches_nothing() {
    let mut sim = Sim::attached(&["n1"]);
    sim.kube.delete_reservation(address("203.0.113.10"));
    sim.settle();
    sim.expect_attached("partner", "a");
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    // It still reserves the address without a holder, and is deleted with its IP.
    sim.delete_pod("a");
    sim.remove_pod("a");
    sim.settle();
    sim.expect_free("partner");
    sim.ip("thief", "203.0.113.10");
    sim.pod("b").on("n1");
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_not_reserved("thief", Reason::AddressInUse);
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
    sim.expect_free("thief");
}
