//! The IP that creates the `IPAddress` of an address first has the address.
//! Rules: R2.2, R2.6, R2.13 to R2.17, R8.25.

use mooring_plan::names::IpName;
use mooring_plan::objects::{DesiredIp, Namespaces, Reservation};
use mooring_plan::reason::Reason;
use mooring_plan::step::{Step, Write};
use mooring_world::objects::reservation_of_others;

use crate::sim::{Sim, address};

pub fn reservation(of: &str, parent: Option<&str>) -> Reservation {
    let parent = parent.map(IpName::from);
    reservation_of_others("ipaddress-by-another", address(of), parent.as_ref())
}

pub fn put(sim: &mut Sim, mut held: Reservation) {
    held.version = sim.kube.bump();
    sim.kube.reservations.insert(held.address, held);
}

#[test]
fn a_specified_address_is_reserved_for_its_ip() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    let held = &sim.kube.reservations[&address("203.0.113.10")];
    assert_eq!(held.owner.as_ref(), Some(&sim.the_ip("partner").uid));
    assert!(held.finalizer && held.managed);
}

#[test]
fn without_an_address_the_lowest_free_one_is_allocated() {
    let mut sim = Sim::new();
    sim.ip("first", "203.0.113.4");
    sim.node("n1");
    sim.found_on("203.0.113.5", Some("eni-n1"));
    sim.settle();
    sim.ip_of_block("partner", "block");
    sim.settle();
    // AWS reserves .0 to .3, another IP has .4, and .5 is on an ENI.
    assert_eq!(
        sim.the_ip("partner").status.address,
        Some(address("203.0.113.6"))
    );
}

#[test]
fn two_of_one_block_never_get_the_same() {
    let mut sim = Sim::new();
    sim.second_controller();
    for name in ["a", "b", "c", "d"] {
        sim.ip_of_block(name, "block");
    }
    sim.settle();
    let mut given: Vec<_> = ["a", "b", "c", "d"]
        .iter()
        .filter_map(|name| sim.the_ip(name).status.address)
        .collect();
    given.sort_unstable();
    given.dedup();
    assert_eq!(given.len(), 4, "{}", sim.story());
    assert_eq!(sim.kube.reservations.len(), 4, "{}", sim.story());
}

#[test]
fn an_address_of_another_ip_is_refused_until_that_ip_is_deleted() {
    let mut sim = Sim::new();
    sim.ip("other", "203.0.113.10");
    sim.settle();
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.expect_not_reserved("partner", Reason::AddressInUse);
    assert!(
        sim.the_ip("partner")
            .status
            .conditions
            .reserved
            .as_ref()
            .unwrap()
            .message
            .contains("other")
    );
    sim.expect_event("IP partner", Reason::AddressInUse);
    sim.delete_ip("other");
    sim.settle();
    sim.expect_gone("other");
    sim.expect_reason("partner", Reason::Unclaimed);
    assert_eq!(
        sim.the_ip("partner").status.address,
        Some(address("203.0.113.10"))
    );
}

#[test]
fn an_address_of_a_service_is_refused_and_the_service_named() {
    let mut sim = Sim::new();
    put(&mut sim, reservation("203.0.113.10", None));
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.expect_not_reserved("partner", Reason::AddressInUse);
    let reserved = sim
        .the_ip("partner")
        .status
        .conditions
        .reserved
        .clone()
        .unwrap();
    assert!(
        reserved.message.contains("Service default/db"),
        "{reserved:?}"
    );
    sim.kube.delete_reservation(address("203.0.113.10"));
    sim.settle();
    sim.expect_reason("partner", Reason::Unclaimed);
}

#[test]
fn a_crash_between_reservation_and_status_takes_no_second_address() {
    let mut sim = Sim::new();
    sim.ip_of_block("partner", "block");
    sim.step_until(|step| matches!(step, Step::Write(Write::Reserve { .. })));
    sim.restart(0);
    sim.settle();
    assert_eq!(sim.kube.reservations.len(), 1, "{}", sim.story());
}

#[test]
fn a_lost_answer_takes_no_second_address() {
    let mut sim = Sim::new();
    sim.ip_of_block("partner", "block");
    // The first write (finalizer) is answered; the answer to the second one (reservation) is lost.
    sim.lost_answers.extend([false, true]);
    sim.settle();
    assert_eq!(sim.kube.reservations.len(), 1, "{}", sim.story());
    sim.expect_free("partner");
}

#[test]
fn an_address_outside_every_block_waits_for_one() {
    let mut sim = Sim::new();
    sim.ip("partner", "198.51.100.7");
    sim.settle();
    sim.expect_not_reserved("partner", Reason::BlockMissing);
}

#[test]
fn a_full_block_is_reported_and_allocates_the_next_free_address() {
    let mut sim = Sim::new();
    sim.change_block("block", |block| {
        let spec = block.spec.as_mut().unwrap();
        spec.range = mooring_plan::block::BlockRange::parse("203.0.113.8/31", []).unwrap();
    });
    for name in ["a", "b", "c"] {
        sim.ip_asking_for(
            name,
            DesiredIp {
                block: Some("block".into()),
                allowed_namespaces: Namespaces::All,
                ..DesiredIp::default()
            },
        );
        sim.settle();
    }
    sim.expect_not_reserved("c", Reason::BlockExhausted);
    sim.delete_ip("a");
    sim.settle();
    sim.expect_gone("a");
    assert_eq!(
        sim.the_ip("c").status.address,
        Some(address("203.0.113.8")),
        "{}",
        sim.story()
    );
}
