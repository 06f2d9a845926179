//! Addresses that are reserved by a foreign `IPAddress`.
//! Rules: R2.7, R2.14, R2.15.

use std::time::Duration;

use mooring_plan::block::BlockRange;
use mooring_plan::facts::{Fact, WriteOutcome};
use mooring_plan::names::{IpName, IpUid, ResourceVersion};
use mooring_plan::objects::{DesiredIp, Namespaces, Reservation};
use mooring_plan::reason::Reason;
use mooring_plan::step::{Read, Step, Write};
use mooring_plan::time::Instant;
use mooring_world::objects::reservation_of_others;

use crate::sim::{INTERVAL, Sim, address};

/// Without our label the watch does not show it.
fn held_by(parent: Option<&str>) -> Reservation {
    let parent = parent.map(IpName::from);
    let address = address("203.0.113.10");
    Reservation {
        finalizer: true,
        ..reservation_of_others("ipaddress-of-before", address, parent.as_ref())
    }
}

fn put(sim: &mut Sim, held: Reservation) {
    let version = sim.kube.bump();
    let held = Reservation { version, ..held };
    sim.kube.reservations.insert(held.address, held);
}

fn asked(sim: &Sim) -> Vec<Instant> {
    let asks = |step: &Step| matches!(step, Step::Read(Read::Reservation(_)));
    let taken = sim.taken.iter().filter(|(_, _, step)| asks(step));
    taken.map(|(at, _, _)| *at).collect()
}

#[test]
fn the_present_owner_is_read_at_once_and_then_twice_a_minute() {
    let mut sim = Sim::new();
    put(&mut sim, held_by(None));
    sim.ip("partner", "203.0.113.10");
    sim.wait(Duration::from_secs(1));
    assert_eq!(asked(&sim).len(), 1, "{}", sim.story());
    sim.expect_not_reserved("partner", Reason::AddressInUse);
    sim.wait(INTERVAL);
    assert_eq!(asked(&sim).len(), 3, "{}", sim.story());
    sim.wait(INTERVAL * 4);
    assert!(asked(&sim).len() <= 11, "{}", sim.story());
}

#[test]
fn a_reservation_is_ours_by_its_label_or_its_owner() {
    for by_label in [true, false] {
        let mut sim = Sim::new();
        sim.ip("partner", "203.0.113.10");
        let ours = Some(sim.the_ip("partner").uid.clone());
        let (label, owner) = if by_label { (ours, None) } else { (None, ours) };
        put(
            &mut sim,
            Reservation {
                label,
                owner,
                ..held_by(Some("another"))
            },
        );
        sim.settle();
        sim.expect_free("partner");
        let held = &sim.kube.reservations[&address("203.0.113.10")];
        assert_eq!(held.uid, "ipaddress-of-before", "{}", sim.story());
        let uid = Some(&sim.the_ip("partner").uid);
        assert_eq!((held.label.as_ref(), held.owner.as_ref()), (uid, uid));
    }
}

#[test]
fn an_outdated_ip_takes_nothing_from_its_successor() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    let name = IpName::from("partner");
    let before = sim.the_ip("partner").clone();
    let mut recreated = before.clone();
    recreated.uid = IpUid::from("recreated");
    let mut stripped = sim.kube.reservations[&address("203.0.113.10")].clone();
    (stripped.label, stripped.owner) = (None, None);
    stripped.version = ResourceVersion(1_000);
    let now = sim.now;
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::Reservation(stripped), now, now);
    facts.apply(Fact::IpRead(name.clone(), Some(recreated)), now, now);
    facts.apply(Fact::Ip(before), now, now);
    let step = facts.decide(&name, now).step;
    assert_eq!(step, Some(Step::Read(Read::Ip(name))));
}

#[test]
fn after_a_lost_answer_reservations_are_listed_before_the_next_try() {
    let mut sim = Sim::new();
    sim.ip_of_block("partner", "block");
    sim.step_until(|step| matches!(step, Step::Read(Read::Reservations(_))));
    sim.controllers[0]
        .stuck
        .insert(mooring_plan::facts::Kind::Reservation);
    sim.lost_answers.push_back(true);
    sim.step_until(|step| matches!(step, Step::Write(Write::Reserve { .. })));
    sim.taken.clear();
    sim.settle();
    let listed = |step: &Step| matches!(step, Step::Read(Read::Reservations(_)));
    let first = sim.taken.iter().position(|(_, _, step)| listed(step));
    let reserves = |step: &Step| matches!(step, Step::Write(Write::Reserve { .. }));
    let second = sim.taken.iter().position(|(_, _, step)| reserves(step));
    assert!(first.is_some(), "{}", sim.story());
    assert!(
        second.is_none_or(|second| first < Some(second)),
        "{}",
        sim.story()
    );
    assert_eq!(sim.kube.reservations.len(), 1, "{}", sim.story());
}

#[test]
fn without_a_specified_address_one_in_use_is_skipped() {
    let mut sim = Sim::new();
    put(
        &mut sim,
        Reservation {
            address: address("203.0.113.4"),
            ..held_by(None)
        },
    );
    sim.ip_asking_for(
        "partner",
        DesiredIp {
            block: Some("block".into()),
            allowed_namespaces: Namespaces::All,
            ..DesiredIp::default()
        },
    );
    sim.settle();
    let given = sim.the_ip("partner").status.address;
    assert_eq!(given, Some(address("203.0.113.5")), "{}", sim.story());
}

#[test]
fn an_own_reservation_causes_no_read_even_if_recreated() {
    let mut sim = Sim::new();
    put(&mut sim, held_by(None));
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.expect_not_reserved("partner", Reason::AddressInUse);
    let gone = |sim: &mut Sim| {
        sim.kube.reservations.clear();
        sim.kube.bump();
        sim.settle();
        sim.expect_free("partner");
    };
    gone(&mut sim);
    sim.taken.clear();
    gone(&mut sim);
    assert!(asked(&sim).is_empty(), "{}", sim.story());
}

/// IPs that want any address of a block that has two; "a" and "b" have them, and "c" lost the race for both
/// while no watch showed them.
fn two_of_three() -> Sim {
    let mut sim = Sim::new();
    sim.change_block("block", |block| {
        let spec = block.spec.as_mut().unwrap();
        spec.range = BlockRange::parse("203.0.113.8/31", []).unwrap();
    });
    for name in ["a", "b"] {
        sim.ip_of_block(name, "block");
    }
    sim.settle();
    sim.ip_of_block("c", "block");
    sim.step_until(|step| matches!(step, Step::Write(Write::AddFinalizer { .. })));
    let ip = sim.the_ip("c");
    let (name, uid, version) = (ip.name.clone(), ip.uid.clone(), ip.version);
    for lost in ["203.0.113.8", "203.0.113.9"] {
        let write = Write::Reserve {
            ip: name.clone(),
            uid: uid.clone(),
            version,
            address: address(lost),
        };
        let fact = Fact::Wrote {
            ip: name.clone(),
            write,
            outcome: WriteOutcome::AlreadyExists,
        };
        let (facts, now) = (sim.controllers[0].facts_mut(), sim.now);
        facts.apply(fact, now, now);
    }
    sim.wait(Duration::from_secs(1));
    sim.expect_not_reserved("c", Reason::BlockExhausted);
    sim
}

#[test]
fn a_freed_address_goes_to_an_ip_that_lost_the_race() {
    let mut sim = two_of_three();
    sim.settle();
    sim.delete_ip("a");
    sim.wait(Duration::from_secs(5));
    assert!(!sim.has_ip("a"), "{}", sim.story());
    let given = sim.the_ip("c").status.address;
    assert_eq!(given, Some(address("203.0.113.8")), "{}", sim.story());
}

#[test]
fn an_address_that_is_freed_unseen_goes_to_an_ip_that_lost_the_race() {
    let mut sim = Sim::new();
    sim.change_block("block", |block| {
        let spec = block.spec.as_mut().unwrap();
        spec.range = BlockRange::parse("203.0.113.10/32", []).unwrap();
    });
    put(&mut sim, held_by(None));
    sim.ip_of_block("partner", "block");
    sim.settle();
    sim.expect_not_reserved("partner", Reason::BlockExhausted);
    sim.kube.reservations.clear();
    sim.kube.bump();
    sim.wait(INTERVAL);
    let given = sim.the_ip("partner").status.address;
    assert_eq!(given, Some(address("203.0.113.10")), "{}", sim.story());
}
