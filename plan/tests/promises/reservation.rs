//! The IP that creates the `IPAddress` of an address first has the address.
//! Rules: R2.2, R2.6 to R2.17, R8.25.

use std::time::Duration;

use mooring_plan::facts::{Fact, WriteOutcome};
use mooring_plan::names::{IpName, IpUid};
use mooring_plan::objects::{DesiredIp, Namespaces, Reservation};
use mooring_plan::reason::Reason;
use mooring_plan::step::{Read, Step, Write};
use mooring_world::objects::reservation_of_others;

use crate::sim::{Sim, address};

fn reservation(of: &str, parent: Option<&str>) -> Reservation {
    let parent = parent.map(IpName::from);
    reservation_of_others("ipaddress-by-another", address(of), parent.as_ref())
}

fn put(sim: &mut Sim, mut held: Reservation) {
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
    // .0 to .3 are AWS's, .4 is another IP's, .5 is on an interface.
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
    let said = sim
        .the_ip("partner")
        .status
        .conditions
        .reserved
        .clone()
        .unwrap();
    assert!(said.message.contains("Service default/db"), "{said:?}");
    sim.kube.delete_reservation(address("203.0.113.10"));
    sim.settle();
    sim.expect_reason("partner", Reason::Unclaimed);
}

#[test]
fn a_recreated_ip_is_another_ip_and_gets_the_address_of_the_first() {
    let mut sim = Sim::new();
    // What an IP left whose finalizer was stripped by hand, before the garbage collector came.
    let mut left = reservation("203.0.113.10", Some("partner"));
    left.owner = Some(IpUid::from("ip-of-old"));
    left.label = Some(IpUid::from("ip-of-old"));
    left.managed = true;
    left.finalizer = true;
    put(&mut sim, left);
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.expect_free("partner");
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
    let mut sim = Sim::new();
    let mut left = reservation("203.0.113.10", Some("old"));
    left.owner = Some(IpUid::from("ip-of-old"));
    left.label = Some(IpUid::from("ip-of-old"));
    left.managed = true;
    left.finalizer = true;
    put(&mut sim, left);
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.expect_free("partner");
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
        let mut sim = Sim::new();
        sim.node("n1");
        sim.ip("partner", "203.0.113.10");
        sim.pod("a").on("n1");
        sim.settle();
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
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1");
    sim.settle();
    sim.count_from_here();
    sim.kube.delete_reservation(address("203.0.113.10"));
    sim.settle();
    sim.expect_attached("partner", "a");
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    // It still reserves when the address has no holder, and is deleted with its IP.
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
    // Finalizer, then the reservation.
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
        sim.ip_wishing(
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

#[test]
fn the_answer_to_a_release_keeps_a_recreated_reservation() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    // A process that ended reserved this one; its Create arrives late, after ours was released.
    let name = IpName::from("partner");
    let ip = sim.the_ip("partner").clone();
    let first = Reservation {
        label: Some(sim.the_ip("partner").uid.clone()),
        managed: true,
        ..reservation("203.0.113.20", Some("partner"))
    };
    let again = Reservation {
        uid: "ipaddress-made-late".to_owned(),
        ..first.clone()
    };
    let facts = sim.controllers[0].facts_mut();
    let now = sim.now;
    facts.apply(Fact::Reservation(first.clone()), now, now);
    facts.apply(Fact::ReservationGone(first.address), now, now);
    facts.apply(Fact::Reservation(again.clone()), now, now);
    let released = Write::Release(first);
    let answer = Fact::Wrote {
        ip: name.clone(),
        write: released,
        outcome: WriteOutcome::Done(None),
    };
    facts.apply(answer, now, now);
    let step = facts.decide(&name, now).step;
    assert_eq!(step, Some(Step::Read(Read::Ip(name.clone()))));
    facts.apply(Fact::IpRead(name.clone(), Some(ip)), now, now);
    let step = facts.decide(&name, now).step;
    assert_eq!(step, Some(Step::Write(Write::Release(again))));
}

#[test]
fn a_reservation_of_another_leader_is_not_released_for_an_old_watch() {
    let mut sim = Sim::new();
    sim.ip_of_block("partner", "block");
    sim.settle();
    let name = IpName::from("partner");
    let old = sim.the_ip("partner").clone();
    let given = Reservation {
        label: Some(old.uid.clone()),
        managed: true,
        finalizer: true,
        ..reservation("203.0.113.20", Some("partner"))
    };
    let facts = sim.controllers[0].facts_mut();
    // Later than any read that `settle` may have needed.
    let now = sim.now.plus(Duration::from_mins(1));
    facts.apply(Fact::Reservation(given), now, now);
    let step = facts.decide(&name, now).step;
    assert_eq!(step, Some(Step::Read(Read::Ip(name.clone()))));
    let mut newer = old.clone();
    newer.version.0 += 10;
    newer.status.address = Some(address("203.0.113.20"));
    facts.apply(Fact::IpRead(name.clone(), Some(newer)), now, now);
    let step = facts.decide(&name, now).step;
    let lets_go = |step: &Step| match step {
        Step::Write(Write::Release(held)) => held.address == address("203.0.113.20"),
        _ => false,
    };
    assert!(!step.as_ref().is_some_and(lets_go), "{step:?}");
}

#[test]
fn a_release_with_a_conflict_is_repeated_without_a_new_watch_event() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    let name = IpName::from("partner");
    // Deleted by the try before, which did not come to its finalizer; the watch has shown that.
    let left = Reservation {
        label: Some(sim.the_ip("partner").uid.clone()),
        managed: true,
        deleting: true,
        ..reservation("203.0.113.20", Some("partner"))
    };
    let ip = sim.the_ip("partner").clone();
    let facts = sim.controllers[0].facts_mut();
    let now = sim.now;
    facts.apply(Fact::Reservation(left.clone()), now, now);
    let release = Write::Release(left);
    let answer = Fact::Wrote {
        ip: name.clone(),
        write: release.clone(),
        outcome: WriteOutcome::Conflict,
    };
    facts.apply(answer, now, now);
    facts.apply(Fact::IpRead(name.clone(), Some(ip)), now, now);
    let waiting = facts.decide(&name, now);
    assert_eq!(waiting.step, None, "not at once: a watch may be on its way");
    let then = waiting.again.unwrap();
    assert!(then <= now.plus(Duration::from_secs(1)));
    assert_eq!(facts.decide(&name, then).step, Some(Step::Write(release)));
}
