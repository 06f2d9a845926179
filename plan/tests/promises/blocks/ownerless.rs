//! An `IPAddress` of Mooring that belongs to no IP is released when that is certain; no other one is released.
//! Rules: R2.22 to R2.24.

use std::time::Duration;

use mooring_plan::facts::{Fact, Kind, WriteOutcome};
use mooring_plan::names::{BlockName, IpName, IpUid, ResourceVersion};
use mooring_plan::objects::Reservation;
use mooring_plan::step::{BlockStep, Read};

use super::{carry_out, settle_block, steps, world};
use crate::sim::{INTERVAL, Sim, address};

const LATE: &str = "203.0.113.77";

/// Carries out the create that was in flight when its IP was deleted.
pub(super) fn reserved_late(sim: &mut Sim) {
    let (name, uid) = (IpName::from("gone"), IpUid::from("ip-gone"));
    sim.kube.reserve(&name, &uid, address(LATE));
    sim.kube.delete_reservation(address(LATE));
}

fn change(sim: &mut Sim, change: impl FnOnce(&mut Reservation)) {
    let version = sim.kube.bump();
    let held = sim.kube.reservations.get_mut(&address(LATE)).unwrap();
    change(held);
    held.version = version;
}

fn about_it(sim: &mut Sim) -> Vec<BlockStep> {
    let ours = |step: &BlockStep| matches!(step, BlockStep::ReadIp(_) | BlockStep::Release(_));
    steps(sim).into_iter().filter(ours).collect()
}

/// Takes more than two inventories, and carries out the steps of the block.
fn in_time(sim: &mut Sim) {
    for _ in 0..4 {
        sim.wait(INTERVAL);
        settle_block(sim);
    }
}

fn reserved(sim: &Sim) -> bool {
    sim.kube.reservations.contains_key(&address(LATE))
}

#[test]
fn a_block_is_not_gone_before_its_last_reservation() {
    let mut sim = world();
    for ip in ["partner", "spare"] {
        sim.delete_ip(ip);
    }
    sim.remove_pod("a");
    sim.settle();
    settle_block(&mut sim);
    reserved_late(&mut sim);
    sim.change_block("block", |block| block.deleting = true);
    settle_block(&mut sim);
    let block = BlockName::from("block");
    assert!(sim.kube.blocks[&block].finalizer, "{}", sim.story());
    let waits = &sim.kube.blocks[&block].status.conditions["Ready"].message;
    let left = "It waits for these IPAddress objects: 203.0.113.";
    assert!(waits.contains(left), "{waits}");
    assert!(!waits.contains("delete them"), "{waits}");
    in_time(&mut sim);
    assert!(!reserved(&sim), "{}", sim.story());
    assert!(!sim.kube.blocks[&block].finalizer, "{}", sim.story());
}

#[test]
fn a_reservation_after_the_deletion_of_its_ip_is_released() {
    let mut sim = world();
    settle_block(&mut sim);
    reserved_late(&mut sim);
    assert_eq!(about_it(&mut sim), [], "no inventory was begun since");
    sim.wait(INTERVAL);
    assert_eq!(about_it(&mut sim), [], "one proves nothing");
    sim.wait(INTERVAL * 2);
    let asking = BlockStep::ReadIp(IpName::from("gone"));
    assert_eq!(
        about_it(&mut sim),
        std::slice::from_ref(&asking),
        "of its IP, first"
    );
    carry_out(&mut sim, asking);
    let held = sim.kube.reservations[&address(LATE)].clone();
    assert_eq!(about_it(&mut sim), [BlockStep::Release(held.clone())]);
    carry_out(&mut sim, BlockStep::Release(held));
    assert_eq!(about_it(&mut sim), [], "nothing is left to do");
    sim.ip("next", LATE);
    sim.settle();
    sim.expect_free("next");
}

#[test]
fn a_release_that_fails_delays_no_other_one() {
    let mut sim = world();
    settle_block(&mut sim);
    reserved_late(&mut sim);
    let higher = address("203.0.113.78");
    let (name, uid) = (IpName::from("lost"), IpUid::from("ip-lost"));
    sim.kube.reserve(&name, &uid, higher);
    sim.kube.delete_reservation(higher);
    for _ in 0..3 {
        sim.wait(INTERVAL);
    }
    let forbidden =
        |step: &BlockStep| matches!(step, BlockStep::Release(of) if of.address == address(LATE));
    for _ in 0..4 {
        for step in about_it(&mut sim) {
            if forbidden(&step) {
                let refused = WriteOutcome::Refused("a policy".to_owned());
                let (now, block) = (sim.now, BlockName::from("block"));
                let facts = sim.controllers[0].facts_mut();
                facts.apply(Fact::BlockWrote(block, step, refused), now, now);
            } else {
                carry_out(&mut sim, step);
            }
        }
    }
    assert!(reserved(&sim));
    assert!(
        !sim.kube.reservations.contains_key(&higher),
        "{}",
        sim.story()
    );
}

#[test]
fn a_not_found_for_its_ip_expires_soon() {
    let mut sim = world();
    settle_block(&mut sim);
    reserved_late(&mut sim);
    for _ in 0..3 {
        sim.wait(INTERVAL);
    }
    let asking = about_it(&mut sim);
    carry_out(&mut sim, asking[0].clone());
    sim.now = sim.now.plus(Duration::from_millis(5_001));
    assert_eq!(about_it(&mut sim), asking, "asked again");
}

#[test]
fn an_assigned_address_stays_reserved() {
    let mut sim = world();
    reserved_late(&mut sim);
    sim.found_on(LATE, Some("eni-n2"));
    in_time(&mut sim);
    assert!(reserved(&sim));
    // A user detached the address, as the condition of the block says.
    sim.found_on(LATE, None);
    in_time(&mut sim);
    assert!(!reserved(&sim));
}

#[test]
fn one_inventory_without_the_address_releases_nothing() {
    let mut sim = world();
    reserved_late(&mut sim);
    sim.found_on(LATE, Some("eni-n2"));
    in_time(&mut sim);
    sim.found_on(LATE, None);
    let looked = sim.counts.inventories;
    while sim.counts.inventories == looked {
        sim.wait(Duration::from_secs(1));
    }
    assert_eq!(about_it(&mut sim), []);
}

#[test]
fn an_ip_unknown_to_the_watch_keeps_its_reservation() {
    let mut sim = world();
    sim.controllers[0].stuck.insert(Kind::Ip);
    sim.ip("slow", LATE);
    let (name, uid) = (IpName::from("slow"), sim.the_ip("slow").uid.clone());
    sim.kube.reserve(&name, &uid, address(LATE));
    in_time(&mut sim);
    assert!(reserved(&sim));
}

#[test]
fn an_unreadable_ip_is_read_again_after_two_inventories() {
    let mut sim = world();
    settle_block(&mut sim);
    reserved_late(&mut sim);
    for _ in 0..3 {
        sim.wait(INTERVAL);
    }
    let name = IpName::from("gone");
    assert_eq!(about_it(&mut sim), [BlockStep::ReadIp(name.clone())]);
    let (now, read) = (sim.now, Read::Ip(name.clone()));
    let failed = Fact::ReadFailed {
        ip: name,
        read,
        outcome: None,
    };
    sim.controllers[0].facts_mut().apply(failed, now, now);
    assert_eq!(about_it(&mut sim), []);
    sim.wait(INTERVAL * 3);
    assert_eq!(about_it(&mut sim).len(), 1, "it is asked again");
}

#[test]
fn reservations_of_others_or_of_existing_ips_are_kept() {
    type Change = fn(&mut Reservation);
    let changes: [(&str, Change); 5] = [
        ("not managed by us", |held| held.managed = false),
        ("not made for an IP", |held| held.parent = None),
        ("its label names one that lives", |held| {
            held.label = Some(IpUid::from("ip-lives"));
        }),
        ("its owner is one that lives", |held| {
            held.owner = Some(IpUid::from("ip-lives"));
        }),
        ("references stripped, and its name lives", |held| {
            (held.label, held.owner) = (None, None);
            held.parent = Some(IpName::from("spare"));
        }),
    ];
    for (what, changed) in changes {
        let mut sim = world();
        settle_block(&mut sim);
        reserved_late(&mut sim);
        let spare = sim.the_ip("spare").uid.clone();
        change(&mut sim, |held| {
            changed(held);
            for of in [&mut held.label, &mut held.owner] {
                if of.as_ref() == Some(&IpUid::from("ip-lives")) {
                    *of = Some(spare.clone());
                }
            }
        });
        for _ in 0..3 {
            sim.wait(INTERVAL);
        }
        assert_eq!(about_it(&mut sim), [], "{what}");
    }
}

#[test]
fn another_ip_of_the_same_name_does_not_keep_the_reservation() {
    let mut sim = world();
    reserved_late(&mut sim);
    sim.ip("gone", "203.0.113.78");
    sim.settle();
    in_time(&mut sim);
    assert!(!reserved(&sim));
    sim.expect_free("gone");
}

#[test]
fn a_changed_reservation_is_not_released() {
    let mut sim = world();
    settle_block(&mut sim);
    reserved_late(&mut sim);
    for _ in 0..3 {
        sim.wait(INTERVAL);
    }
    let asking = about_it(&mut sim);
    carry_out(&mut sim, asking[0].clone());
    let releasing = about_it(&mut sim);
    assert!(matches!(&releasing[..], [BlockStep::Release(_)]));
    let version = sim.kube.bump();
    assert!(version > ResourceVersion(1));
    change(&mut sim, |held| held.label = Some(IpUid::from("another")));
    carry_out(&mut sim, releasing[0].clone());
    assert!(reserved(&sim));
}

#[test]
fn a_recreated_reservation_is_checked_again() {
    let mut sim = world();
    settle_block(&mut sim);
    reserved_late(&mut sim);
    for _ in 0..3 {
        sim.wait(INTERVAL);
    }
    assert_eq!(about_it(&mut sim).len(), 1, "its IP is asked for");
    change(&mut sim, |held| held.uid = "another-object".to_owned());
    assert_eq!(about_it(&mut sim), [], "nothing was looked at since");
}

#[test]
fn a_released_reservation_that_a_late_read_shows_again_is_forgotten() {
    let mut sim = world();
    settle_block(&mut sim);
    reserved_late(&mut sim);
    let held = sim.kube.reservations[&address(LATE)].clone();
    in_time(&mut sim);
    assert!(!reserved(&sim), "{}", sim.story());
    let shown = Fact::ReservationRead(held.address, Some(held.clone()));
    sim.apply(shown);
    sim.wait(INTERVAL * 3);
    let asking = BlockStep::ReadIp(IpName::from("gone"));
    assert_eq!(about_it(&mut sim), [asking]);
    let (block, release) = (BlockName::from("block"), BlockStep::Release(held));
    sim.apply(Fact::BlockWrote(block, release, WriteOutcome::NotFound));
    assert_eq!(about_it(&mut sim), []);
}
