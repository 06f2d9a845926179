//! After an answered read, the backoff of reads of this kind begins again with one second.
//! Rules: R5.14, R5.15.

use std::time::Duration;

use mooring_plan::facts::{Fact, Kind};
use mooring_plan::names::IpName;
use mooring_plan::objects::Reservation;
use mooring_plan::step::{Read, Step};
use mooring_world::objects::reservation_of_others;

use crate::inventories::world;
use crate::sim::{Sim, address};

/// Fails reads of one type: five in a row, and one later, after an answer.
fn waits_after_an_answer(sim: &mut Sim, sort: fn(&Read) -> bool, again: impl FnOnce(&mut Sim)) {
    let name = IpName::from("partner");
    let wanted = |sim: &mut Sim| {
        for _ in 0..2_000 {
            sim.deliver(0);
            let facts = sim.controllers[0].facts();
            match facts.decide(&name, sim.now).step {
                Some(Step::Read(read)) if sort(&read) => return read,
                _ => {}
            }
            if sim.step(0).is_err() {
                sim.now = sim.now.plus(Duration::from_millis(100));
            }
        }
        panic!("it is never read\n{}", sim.story());
    };
    let mut wait = Duration::ZERO;
    for times in [5, 1] {
        for _ in 0..times {
            let read = wanted(sim);
            let now = sim.now;
            let failed = Fact::ReadFailed {
                ip: name.clone(),
                read,
                outcome: None,
            };
            let facts = sim.controllers[0].facts_mut();
            facts.apply(failed, now, now);
            wait = facts.decide(&name, now).again.unwrap().since(now);
        }
        if times == 5 {
            assert!(wait > Duration::from_secs(8), "{wait:?} after five");
            wanted(sim);
            sim.step(0).unwrap();
            break;
        }
    }
    again(sim);
    let read = wanted(sim);
    let now = sim.now;
    let facts = sim.controllers[0].facts_mut();
    facts.apply(
        Fact::ReadFailed {
            ip: name.clone(),
            read,
            outcome: None,
        },
        now,
        now,
    );
    wait = facts.decide(&name, now).again.unwrap().since(now);
    assert!(wait <= Duration::from_secs(1), "{wait:?}\n{}", sim.story());
}

#[test]
fn a_read_of_a_rollout_that_is_answered_ends_its_waits() {
    let sorts: [fn(&Read) -> bool; 3] = [
        |read| matches!(read, Read::Node(_)),
        |read| matches!(read, Read::Pod(key) if key.name != "a"),
        |read| matches!(read, Read::ReplicaSets(..)),
    ];
    for sort in sorts {
        let mut sim = world();
        sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
        sim.settle();
        sim.next_revision("b", "n2", 2);
        waits_after_an_answer(&mut sim, sort, |sim| {
            sim.settle();
            sim.expect_attached("partner", "b");
            sim.next_revision("c", "n3", 3);
        });
    }
}

#[test]
fn a_read_of_an_instance_that_is_answered_ends_its_waits() {
    let mut sim = world();
    sim.change_block("block", |block| {
        if let Ok(spec) = &mut block.spec {
            spec.failover_after = Duration::from_hours(1);
        }
    });
    sim.pod("a").on("n1");
    sim.settle();
    sim.change_node("n1", |node| node.ready = false);
    sim.delete_pod("a");
    sim.pod("b").on("n2");
    let sort = |read: &Read| matches!(read, Read::Instance(_));
    waits_after_an_answer(&mut sim, sort, |_| {});
}

#[test]
fn a_read_of_the_ip_that_is_answered_ends_its_waits() {
    let mut sim = world();
    sim.settle();
    // The watch lags, and another client has written the IP: the claim has a conflict.
    sim.controllers[0].stuck.insert(Kind::Ip);
    let change = |sim: &mut Sim| {
        let name = IpName::from("partner");
        sim.kube.change_ip(&name, None, |ip| ip.generation += 1);
    };
    change(&mut sim);
    sim.pod("a").on("n1");
    let sort = |read: &Read| matches!(read, Read::Ip(_));
    waits_after_an_answer(&mut sim, sort, |sim| {
        sim.settle();
        change(sim);
        sim.delete_pod("a");
        sim.remove_pod("a");
    });
}

/// A foreign `IPAddress` that the watch does not show.
fn reserve_for_other(sim: &mut Sim, text: &str) {
    let held = Reservation {
        version: sim.kube.bump(),
        ..reservation_of_others(&format!("service-{text}"), address(text), None)
    };
    sim.kube.reservations.insert(held.address, held);
}

#[test]
fn a_read_of_a_reservation_that_is_answered_ends_its_waits() {
    let mut sim = world();
    reserve_for_other(&mut sim, "203.0.113.20");
    reserve_for_other(&mut sim, "203.0.113.30");
    sim.edit("partner", "203.0.113.20");
    let sort = |read: &Read| matches!(read, Read::Reservation(_));
    waits_after_an_answer(&mut sim, sort, |sim| {
        sim.settle();
        sim.edit("partner", "203.0.113.30");
    });
}

#[test]
fn a_list_of_reservations_that_is_answered_ends_its_waits() {
    let mut sim = Sim::new();
    sim.ip_of_block("partner", "block");
    let sort = |read: &Read| matches!(read, Read::Reservations(_));
    waits_after_an_answer(&mut sim, sort, |sim| {
        sim.settle();
        sim.delete_ip("partner");
    });
}
