//! If EC2 serves all addresses except one, only that address waits, and it is not tried again each time an outage of
//! the others ends.
//! Rules: R5.8, R5.11 to R5.15.

use std::time::Duration;

use mooring_plan::names::IpName;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Call, StatusWrite, Step, Write};
use mooring_plan::time::Instant;

use crate::sim::{Fault, Sim};

const ONES: &str = "203.0.113.10";

fn is_of_one(call: &Call) -> bool {
    call.address().to_string() == ONES
}

fn ends(fault: Fault) -> fn(&Call) -> Fault {
    match fault {
        Fault::Denied => |call| {
            if is_of_one(call) {
                Fault::Denied
            } else {
                Fault::None
            }
        },
        _ => |call| {
            if is_of_one(call) {
                Fault::RequestLost
            } else {
                Fault::None
            }
        },
    }
}

/// Pod "a" asks for "partner", whose calls all have this fault; the calls of others succeed.
fn one_is_not_served(fault: Fault) -> Sim {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    for (ip, last) in [("second", 20), ("third", 30)] {
        sim.ip(ip, &format!("203.0.113.{last}"));
    }
    sim.settle();
    sim.ec2.default_fault = Some(ends(fault));
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(3));
    sim.pod("b").on("n2").asks("second");
    sim.wait(Duration::from_secs(3));
    sim.expect_attached("second", "b");
    sim
}

fn fails_once_more(sim: &mut Sim) {
    sim.step_until(|step| matches!(step, Step::Call(call) if is_of_one(call)));
}

fn expect_no_delay(sim: &mut Sim) {
    sim.pod("c").on("n2").asks("third");
    sim.wait(Duration::from_millis(50));
    sim.expect_attached("third", "c");
}

#[test]
fn others_do_not_wait_for_an_address_that_alone_is_not_served() {
    for fault in [Fault::Denied, Fault::RequestLost] {
        let mut sim = one_is_not_served(fault);
        fails_once_more(&mut sim);
        expect_no_delay(&mut sim);
    }
}

#[test]
fn a_change_of_its_wish_does_not_make_others_wait_for_a_denied_address() {
    let mut sim = one_is_not_served(Fault::Denied);
    sim.allow_reassignment("partner");
    fails_once_more(&mut sim);
    expect_no_delay(&mut sim);
}

fn claims_since(sim: &Sim, from: Instant) -> usize {
    let partner = IpName::from("partner");
    let claims = |step: &Step| {
        matches!(
            step,
            Step::Write(Write::Status {
                change: StatusWrite::Claim,
                ..
            })
        )
    };
    let taken = sim.taken.iter();
    let of_it = taken.filter(|(at, ip, step)| *at >= from && *ip == partner && claims(step));
    of_it.count()
}

/// Each try makes the holder not ready for a moment.
#[test]
fn the_end_of_an_outage_is_no_reason_to_try_what_is_denied_to_one_address_alone() {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2", "n3"]);
    sim.ip("second", "203.0.113.20");
    sim.settle();
    sim.ec2.default_fault = Some(ends(Fault::Denied));
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_secs(10));
    let begun = sim.now;
    for _ in 0..6 {
        sim.ec2.faults.push_back(Fault::Throttled);
        sim.pod("c").on("n3").asks("second");
        sim.wait(Duration::from_secs(4));
        sim.expect_attached("second", "c");
        sim.remove_pod("c");
        sim.wait(Duration::from_secs(4));
    }
    let claims = claims_since(&sim, begun);
    assert!(claims <= 1, "{claims} times\n{}", sim.story());
    sim.ec2.default_fault = None;
    sim.settle();
    sim.expect_attached("partner", "b");
}

/// Pod "b" waits for an address that EC2 does not permit to unassign from n1, while EC2 serves all other calls.
fn one_is_not_unassigned() -> Sim {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.ip("second", "203.0.113.20");
    sim.pod("s").on("n1").asks("second");
    sim.settle();
    sim.ec2.default_fault = Some(|call| match call {
        Call::Unassign { .. } if is_of_one(call) => Fault::Denied,
        _ => Fault::None,
    });
    for pod in ["a", "s"] {
        sim.delete_pod(pod);
        sim.deliver(0);
        sim.remove_pod(pod);
        if pod == "a" {
            sim.pod("b").on("n2");
            sim.wait(Duration::from_secs(3));
        }
    }
    sim.wait(Duration::from_mins(3));
    sim.expect_free("second");
    sim
}

#[test]
fn an_assign_neither_waits_nor_is_blamed_for_an_unassign_that_was_denied() {
    let mut sim = one_is_not_unassigned();
    sim.found_on(ONES, None);
    // The inventory after the next denial shows that the address is on no interface.
    fails_once_more(&mut sim);
    sim.wait(Duration::from_secs(2));
    sim.expect_attached("partner", "b");
    let denied = sim.rules.notices(Reason::AccessDenied);
    let blamed = denied
        .iter()
        .find(|notice| notice.message.contains("ec2:Assign"));
    assert!(blamed.is_none(), "{blamed:?}\n{}", sim.story());
}

#[test]
fn an_address_that_alone_is_not_answered_is_reported_as_such() {
    let mut sim = one_is_not_served(Fault::RequestLost);
    for _ in 0..4 {
        fails_once_more(&mut sim);
    }
    sim.wait(Duration::from_secs(3));
    let conditions = &sim.the_ip("partner").status.conditions;
    let message = &conditions.attached.as_ref().unwrap().message;
    assert!(message.contains("on eni-n1"), "{message}");
    assert!(!message.contains("every second"), "{message}");
}
