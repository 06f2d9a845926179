//! Which IP a reservation belongs to: after its IP was created again, and after a user removed its owner, its label, or
//! the reservation itself.
//! Rules: R2.7 to R2.12, R2.25.

use mooring_plan::names::{IpName, IpUid};
use mooring_plan::objects::Reservation;
use mooring_plan::reason::Reason;

use crate::reservation::{put, reservation};
use crate::sim::{INTERVAL, Sim, address};

/// A reservation that was made for an IP of this name, which is gone: a user removed the finalizer of that IP, and
/// garbage collection has not run yet.
fn left_by(earlier: &str, text: &str) -> Reservation {
    let mut left = reservation(text, Some(earlier));
    left.owner = Some(IpUid::from("ip-of-old"));
    left.label = Some(IpUid::from("ip-of-old"));
    left.managed = true;
    left.finalizer = true;
    left
}

/// The IP `partner`, created while the address still has the reservation of an earlier IP of this name.
fn partner_after(earlier: &str) -> Sim {
    let mut sim = Sim::new();
    put(&mut sim, left_by(earlier, "203.0.113.10"));
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

/// "partner" asks for any address of the block, while the address has the reservation of an earlier IP of this name.
#[test]
fn a_recreated_ip_without_an_address_gets_the_address_of_the_first() {
    for released_soon in [false, true] {
        let mut sim = Sim::new();
        sim.node("n1");
        sim.ip("other", "203.0.113.10");
        sim.settle();
        let mut left = left_by("partner", "203.0.113.20");
        // Garbage collection has found that the owner is gone. The finalizer keeps the reservation.
        left.deleting = released_soon;
        put(&mut sim, left);
        sim.ip_of_block("partner", "block");
        sim.pod("a").on("n1");
        sim.settle();
        sim.expect_attached("partner", "a");
        sim.expect_on("203.0.113.20", Some("eni-n1"));
        let held = &sim.kube.reservations[&address("203.0.113.20")];
        let uid = Some(&sim.the_ip("partner").uid);
        assert_eq!((held.owner.as_ref(), held.label.as_ref()), (uid, uid));
    }
}

/// The address is still where the earlier IP had it. Another address would not be known to the partner.
#[test]
fn a_recreated_ip_names_the_interface_that_still_has_its_address() {
    let mut sim = Sim::new();
    sim.node("n1");
    put(&mut sim, left_by("partner", "203.0.113.20"));
    sim.found_on("203.0.113.20", Some("eni-n1"));
    sim.ip_of_block("partner", "block");
    sim.pod("a").on("n1");
    sim.settle();
    assert_eq!(
        sim.the_ip("partner").status.address,
        Some(address("203.0.113.20"))
    );
    sim.expect_reason("partner", Reason::AddressInUse);
    sim.take_from("partner", "eni-n1");
    sim.settle();
    sim.expect_attached("partner", "a");
}

/// These reservations are no addresses of "partner": of an IP of another name, of an IP that exists, outside of what can
/// be allocated, and one that no call can move.
#[test]
fn an_ip_without_an_address_takes_no_reservation_of_another() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("other", "203.0.113.30");
    sim.settle();
    put(&mut sim, left_by("earlier", "203.0.113.20"));
    let mut of_other = left_by("partner", "203.0.113.21");
    of_other.label = Some(sim.the_ip("other").uid.clone());
    put(&mut sim, of_other);
    put(&mut sim, left_by("partner", "203.0.113.2"));
    sim.new_interface("eni-primary", "203.0.113.22");
    put(&mut sim, left_by("partner", "203.0.113.22"));
    sim.wait(INTERVAL);
    sim.ip_of_block("partner", "block");
    sim.settle();
    assert_eq!(
        sim.the_ip("partner").status.address,
        Some(address("203.0.113.4")),
        "{}",
        sim.story()
    );
}
