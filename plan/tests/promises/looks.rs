//! When the next inventory is taken, and which of two contradicting facts counts.
//! Rules: R1.9, R1.12, R1.14, R1.16, R1.17.

use std::time::Duration;

use mooring_plan::facts::{Fact, Kind};
use mooring_plan::names::{IpName, SubnetId};
use mooring_plan::objects::Reservation;
use mooring_plan::step::{Call, Read, StatusWrite, Step};
use mooring_world::objects::reservation_of_others;

use crate::sim::{INTERVAL, SUBNET, Sim, address, interface_of, status_write};

fn world() -> Sim {
    Sim::reserved(&["n1", "n2", "n3"])
}

/// An inventory of what is now; how long until the next is due.
fn look(sim: &mut Sim) -> Duration {
    let (list, begun) = (sim.ec2.describe(sim.now), sim.now);
    let subnet = SubnetId::from(SUBNET);
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::InventoryBegun(subnet.clone()), begun, begun);
    facts.apply(Fact::InventoryDone(subnet.clone(), list), begun, begun);
    facts.inventory_due(&subnet).since(begun)
}

fn passes(sim: &mut Sim, length: Duration) {
    sim.now = sim.now.plus(length);
}

/// An answer to a call of ours, which EC2 has executed, or only reports as executed.
fn answered(sim: &mut Sim, call: Call, really: bool) {
    let now = sim.now;
    if really {
        sim.ec2.execute(&call, now).unwrap();
    }
    let fact = Fact::Called {
        ip: IpName::from("partner"),
        call,
        result: Ok(()),
    };
    sim.controllers[0].facts_mut().apply(fact, now, now);
    passes(sim, Duration::from_millis(1));
}

fn assign(node: &str) -> Call {
    let address = address("203.0.113.10");
    Call::Assign {
        interface: interface_of(node),
        address,
        reassign: mooring_plan::cloud::Reassign::Allow,
    }
}

const SECOND: Duration = Duration::from_secs(2);

#[test]
fn the_first_inventory_is_followed_by_a_second_and_then_one_per_interval() {
    let mut sim = world();
    sim.restart(0);
    sim.tell(0);
    assert_eq!(look(&mut sim), SECOND);
    passes(&mut sim, SECOND);
    assert_eq!(look(&mut sim), INTERVAL);
}

/// Puts an address there by hand; how long until the next look after the regular one.
fn look_after(sim: &mut Sim, text: &str, on: Option<&str>) -> Duration {
    sim.found_on(text, on);
    passes(sim, INTERVAL);
    look(sim)
}

#[test]
fn an_unexpected_move_gets_a_second_inventory() {
    let mut sim = world();
    sim.ip("wishing", "203.0.113.60");
    sim.tell(0);
    for of_an_ip in ["203.0.113.10", "203.0.113.60"] {
        let came = look_after(&mut sim, of_an_ip, Some("eni-n1"));
        assert_eq!(came, INTERVAL, "{of_an_ip} came");
        for on in [Some("eni-n2"), None] {
            let went = look_after(&mut sim, of_an_ip, on);
            assert_eq!(went, SECOND, "{of_an_ip} went to {on:?}");
            passes(&mut sim, SECOND);
            assert_eq!(look(&mut sim), INTERVAL, "and stays");
        }
    }
    look_after(&mut sim, "203.0.113.10", Some("eni-n1"));
    sim.ec2.attach(&interface_of("n1"), &"i-another".into());
    passes(&mut sim, INTERVAL);
    let on_another_machine = look(&mut sim);
    assert_eq!(on_another_machine, SECOND, "its interface is elsewhere");
}

#[test]
fn an_unrelated_address_gets_no_second_inventory() {
    let mut sim = world();
    for on in [Some("eni-n1"), Some("eni-n2"), None] {
        let next = look_after(&mut sim, "203.0.113.50", on);
        assert_eq!(next, INTERVAL, "on {on:?}");
    }
}

#[test]
fn only_an_interface_that_an_ip_names_gets_a_second_inventory() {
    let mut sim = world();
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    // Its primary address goes with it.
    sim.ec2.delete_interface(&interface_of("n2"));
    passes(&mut sim, INTERVAL);
    assert_eq!(look(&mut sim), INTERVAL, "nothing of ours is there");
    sim.ec2.detach(&interface_of("n1"));
    // The address is off it already, by our own word.
    let off = Call::Unassign {
        interface: interface_of("n1"),
        address: address("203.0.113.10"),
    };
    answered(&mut sim, off, true);
    passes(&mut sim, INTERVAL);
    assert_eq!(look(&mut sim), SECOND, "the status names it");
}

#[test]
fn foreign_changes_in_the_subnet_cost_no_inventory() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    let until = sim.now.plus(Duration::from_mins(10));
    let others = |number: u32| format!("203.0.113.{}", 100 + number % 7);
    // A pod of the CNI's comes and another goes, each second.
    for second in 1.. {
        if sim.now >= until {
            break;
        }
        sim.found_on(&others(second - 1), None);
        sim.found_on(&others(second), Some("eni-n2"));
        sim.wait(Duration::from_secs(1));
    }
    let looks = sim.counts.inventories;
    assert!((9..=11).contains(&looks), "{looks} in ten minutes");
}

#[test]
fn after_a_proof_inventories_come_once_per_interval_again() {
    let mut sim = world();
    // It keeps the subnet.
    sim.ip("other", "203.0.113.11");
    sim.pod("a").on("n1");
    sim.step_until(status_write(StatusWrite::Claim));
    sim.remove_pod("a");
    sim.delete_ip("partner");
    sim.wait(Duration::from_mins(1));
    sim.expect_gone("partner");
    assert_eq!(look(&mut sim), INTERVAL, "{}", sim.story());
}

#[test]
fn a_seen_own_write_needs_no_second_inventory() {
    let mut sim = world();
    answered(&mut sim, assign("n1"), true);
    assert_eq!(look(&mut sim), INTERVAL);
}

#[test]
fn an_unseen_own_write_gets_an_inventory_after_the_lag() {
    let mut sim = world();
    answered(&mut sim, assign("n1"), false);
    let until = Duration::from_secs(10);
    assert_eq!(look(&mut sim), until);
    passes(&mut sim, until);
    assert_eq!(look(&mut sim), SECOND, "that is one; it takes two");
}

#[test]
fn an_inventory_during_a_write_proves_nothing() {
    let mut sim = world();
    let now = sim.now;
    answered(&mut sim, assign("n1"), false);
    sim.now = now;
    assert_eq!(look(&mut sim), INTERVAL);
}

/// The supposed place of the address: where a call would unassign it.
fn supposed_place(sim: &Sim) -> Option<Read> {
    let facts = sim.controllers[0].facts();
    match facts.decide(&IpName::from("partner"), sim.now).step {
        Some(Step::Read(read)) => Some(read),
        _ => None,
    }
}

#[test]
fn an_interface_in_one_of_two_inventories_exists() {
    let mut sim = world();
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.ec2.shows = |interface| interface.id != interface_of("n1");
    passes(&mut sim, INTERVAL);
    look(&mut sim);
    assert_eq!(supposed_place(&sim), None, "one look moves nothing");
    sim.ec2.shows = |_| true;
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn a_delegated_prefix_takes_one_slot_like_an_address() {
    for (prefixes, room) in [(7, true), (8, true), (9, false)] {
        let mut sim = world();
        let interface = sim.ec2.interface_mut(&interface_of("n1"));
        interface.prefixes = (0..prefixes)
            .map(|n| format!("203.0.112.{}/28", 16 * n).parse().unwrap())
            .collect();
        sim.wait(INTERVAL);
        sim.pod("a").on("n1");
        sim.settle();
        let attached = sim.the_ip("partner").status.claim.is_some();
        assert_eq!(attached, room, "{prefixes} beside the primary one, of 10");
    }
}

/// Fails reads of one sort: five in a row, and later, after they were answered, one.
fn waits_after_an_answer(sim: &mut Sim, sort: fn(&Read) -> bool, again: impl FnOnce(&mut Sim)) {
    let name = IpName::from("partner");
    let wanted = |sim: &mut Sim| {
        for _ in 0..2_000 {
            sim.tell(0);
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

/// Foreign, and not shown by a watch of ours.
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
