//! When the next inventory is taken, and which of two contradicting facts counts.
//! Rules: R1.9, R1.12, R1.14, R1.16, R1.17.

use std::time::Duration;

use mooring_plan::facts::{CallError, Fact};
use mooring_plan::names::{IpName, SubnetId};
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{Call, Read, StatusWrite, Step};

use crate::sim::{INTERVAL, SUBNET, Sim, address, interface_of, status_write};

pub fn world() -> Sim {
    Sim::reserved(&["n1", "n2", "n3"])
}

/// Takes an inventory now; returns the time until the next one is due.
fn look(sim: &mut Sim) -> Duration {
    look_during(sim, |_| {})
}

/// Takes an inventory that begins now and shows what is there now. `change` happens while it is in flight. Returns the
/// time from then until the next one is due.
fn look_during(sim: &mut Sim, change: impl FnOnce(&mut Sim)) -> Duration {
    let (list, begun) = (sim.ec2.describe(sim.now), sim.now);
    let subnet = SubnetId::from(SUBNET);
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::InventoryBegun(subnet.clone()), begun, begun);
    change(sim);
    let now = sim.now;
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::InventoryDone(subnet.clone(), list), begun, now);
    facts.inventory_due(&subnet).since(now)
}

fn passes(sim: &mut Sim, length: Duration) {
    sim.now = sim.now.plus(length);
}

/// Answers an own call with success; EC2 has executed it only if `really`.
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
    sim.deliver(0);
    assert_eq!(look(&mut sim), SECOND);
    passes(&mut sim, SECOND);
    assert_eq!(look(&mut sim), INTERVAL);
}

/// An own call fails without an answer.
fn fails(sim: &mut Sim) {
    let error = CallError::new(Outcome::Unknown, "InternalError");
    let fact = Fact::Called {
        ip: IpName::from("partner"),
        call: assign("n1"),
        result: Err(error),
    };
    let now = sim.now;
    sim.controllers[0].facts_mut().apply(fact, now, now);
}

#[test]
fn a_call_that_fails_during_an_inventory_gets_another_one() {
    // The time from the begin of the inventory to the second failure; the first one is before.
    for during in [Duration::ZERO, Duration::from_millis(1), SECOND] {
        let mut sim = world();
        sim.deliver(0);
        assert_eq!(look(&mut sim), INTERVAL);
        fails(&mut sim);
        passes(&mut sim, Duration::from_millis(1));
        if during.is_zero() {
            fails(&mut sim);
        }
        let next = look_during(&mut sim, |sim| {
            passes(sim, during);
            if !during.is_zero() {
                fails(sim);
            }
            passes(sim, Duration::from_millis(1));
        });
        assert_eq!(next, Duration::ZERO, "{during:?} after the begin");
        assert_eq!(look(&mut sim), INTERVAL, "and no more");
    }
}

/// A foreign client moves an address. Returns the time from the regular inventory to the next one.
fn schedule_recheck(sim: &mut Sim, text: &str, on: Option<&str>) -> Duration {
    sim.found_on(text, on);
    passes(sim, INTERVAL);
    look(sim)
}

#[test]
fn an_unexpected_move_gets_a_second_inventory() {
    let mut sim = world();
    sim.ip("asking", "203.0.113.60");
    sim.deliver(0);
    for of_an_ip in ["203.0.113.10", "203.0.113.60"] {
        let came = schedule_recheck(&mut sim, of_an_ip, Some("eni-n1"));
        assert_eq!(came, INTERVAL, "{of_an_ip} came");
        for on in [Some("eni-n2"), None] {
            let went = schedule_recheck(&mut sim, of_an_ip, on);
            assert_eq!(went, SECOND, "{of_an_ip} went to {on:?}");
            passes(&mut sim, SECOND);
            assert_eq!(look(&mut sim), INTERVAL, "and stays");
        }
    }
    schedule_recheck(&mut sim, "203.0.113.10", Some("eni-n1"));
    sim.ec2.attach(&interface_of("n1"), &"i-another".into());
    passes(&mut sim, INTERVAL);
    let on_another_machine = look(&mut sim);
    assert_eq!(on_another_machine, SECOND, "its interface is elsewhere");
}

#[test]
fn an_unrelated_address_gets_no_second_inventory() {
    let mut sim = world();
    for on in [Some("eni-n1"), Some("eni-n2"), None] {
        let next = schedule_recheck(&mut sim, "203.0.113.50", on);
        assert_eq!(next, INTERVAL, "on {on:?}");
    }
}

#[test]
fn only_an_interface_that_an_ip_names_gets_a_second_inventory() {
    let mut sim = world();
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    // Its primary address disappears too.
    sim.ec2.delete_interface(&interface_of("n2"));
    passes(&mut sim, INTERVAL);
    assert_eq!(look(&mut sim), INTERVAL, "nothing of ours is there");
    sim.ec2.detach(&interface_of("n1"));
    // According to an own write, the address is detached already.
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
    // Each second, a pod of the CNI is created and another one is deleted.
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
    // This IP keeps the subnet known.
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

/// The assumed place of the address: where a call would unassign it.
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
