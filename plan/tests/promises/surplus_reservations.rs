//! A reservation of an address that its IP does not have is released, but only after a read of the IP.
//! Rules: R2.20, R5.14.

use std::time::Duration;

use mooring_plan::facts::{Fact, WriteOutcome};
use mooring_plan::names::IpName;
use mooring_plan::objects::Reservation;
use mooring_plan::step::{Read, Step, Write};

use crate::reservation::reservation;
use crate::sim::{Sim, address};

#[test]
fn the_answer_to_a_release_keeps_a_recreated_reservation() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    // A process that has ended reserved this address; its create is executed late, after our release.
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
    facts.apply(
        Fact::ReservationGone(first.address, first.uid.clone()),
        now,
        now,
    );
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
    // Later than any read of `settle`.
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
    // The try before deleted it but did not remove its finalizer; the watch has shown that.
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
