//! EC2 refuses a call for a reason that no inventory shows: the reason is reported, and the call is tried again.
//! Rules: R2.16, R5.9.

use std::time::Duration;

use mooring_plan::reason::Reason;

use crate::sim::{Fault, Sim};

const ADDRESS: &str = "203.0.113.10";

/// Pod "a" asks for the address, which another account has: no inventory of this account shows that.
fn in_use_by_another_account() -> Sim {
    let mut sim = Sim::reserved(&["n1"]);
    sim.ec2.default_fault = Some(|_| Fault::AssignedElsewhere);
    sim.pod("a").on("n1");
    sim
}

#[test]
fn the_ip_its_pod_and_an_event_say_that_the_address_is_in_use() {
    let mut sim = in_use_by_another_account();
    sim.wait(Duration::from_secs(3));
    sim.expect_reason("partner", Reason::AddressInUse);
    sim.expect_denied("a", Reason::AddressInUse);
    sim.expect_event("IP partner", Reason::AddressInUse);
    sim.expect_event("a", Reason::AddressInUse);
    let attached = sim.the_ip("partner").status.conditions.attached.clone();
    let message = attached.unwrap().message;
    assert!(message.contains(ADDRESS), "{message}");
    assert!(
        !message.contains("take-from"),
        "no interface is known: {message}"
    );
}

#[test]
fn the_reason_stays_and_is_written_once() {
    let mut sim = in_use_by_another_account();
    sim.wait(Duration::from_secs(3));
    sim.count_from_here();
    sim.wait(Duration::from_mins(10));
    sim.expect_reason("partner", Reason::AddressInUse);
    sim.expect_denied("a", Reason::AddressInUse);
    assert_eq!(sim.counts.writes(), 0, "{}", sim.story());
}

#[test]
fn it_is_attached_once_ec2_accepts() {
    let mut sim = in_use_by_another_account();
    sim.wait(Duration::from_mins(5));
    sim.ec2.default_fault = None;
    sim.wait(Duration::from_secs(30));
    sim.expect_attached("partner", "a");
}

#[test]
fn an_interface_that_is_shown_later_is_named() {
    let mut sim = in_use_by_another_account();
    sim.wait(Duration::from_secs(10));
    sim.new_interface("eni-late", "203.0.113.77");
    sim.found_on(ADDRESS, Some("eni-late"));
    sim.wait(Duration::from_mins(1));
    sim.expect_reason("partner", Reason::AddressInUse);
    let attached = sim.the_ip("partner").status.conditions.attached.clone();
    let message = attached.unwrap().message;
    assert!(message.contains("eni-late"), "{message}");
}

#[test]
fn a_refusal_that_ends_within_a_healthy_attach_is_not_reported() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.ec2.faults.push_back(Fault::AssignedElsewhere);
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(2));
    sim.expect_attached("partner", "a");
    let reported = sim.rules.reported("IP partner", Reason::AddressInUse);
    assert!(!reported, "{}", sim.story());
}

#[test]
fn a_detach_says_that_ec2_does_not_know_an_interface_that_is_shown() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.default_fault = Some(|_| Fault::InterfaceNotFound);
    sim.remove_pod("a");
    sim.delete_ip("partner");
    sim.wait(Duration::from_secs(4));
    sim.expect_reason("partner", Reason::AttachFailed);
    sim.expect_event("IP partner", Reason::AttachFailed);
    sim.ec2.default_fault = None;
    sim.settle();
    sim.expect_gone("partner");
}
