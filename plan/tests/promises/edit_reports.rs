//! An edit whose old address cannot be unassigned says why, and is done as soon as EC2 permits it.
//! Rules: R2.15, R5.8, R5.9, R5.34.

use std::time::Duration;

use mooring_plan::names::IpName;
use mooring_plan::objects::Reservation;
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Call, Read, StatusWrite, Step, Write};
use mooring_world::objects::reservation_of_others;

use crate::sim::{Fault, INTERVAL, Sim, address, status_write};

const OLD: &str = "203.0.113.10";
const NEW: &str = "203.0.113.20";
const ACTION: &str = "ec2:UnassignPrivateIpAddresses";

fn denied(call: &Call) -> Fault {
    match call {
        Call::Unassign { .. } => Fault::Denied,
        Call::Assign { .. } => Fault::None,
    }
}

fn lost(call: &Call) -> Fault {
    match call {
        Call::Unassign { .. } => Fault::RequestLost,
        Call::Assign { .. } => Fault::None,
    }
}

/// The IP, its pod and an Event have the reason, and the condition names the action.
fn expect_named(sim: &Sim, reason: Reason, action: &str) {
    let attached = sim.the_ip("partner").status.conditions.attached.clone();
    let attached = attached.unwrap();
    let named = attached.reason == reason && attached.message.contains(action);
    assert!(!attached.status && named, "{attached:?}\n{}", sim.story());
    sim.expect_denied("a", reason);
    sim.expect_event("IP partner", reason);
}

/// The new address is attached, and the old one is neither on an ENI nor reserved.
fn expect_new(sim: &Sim) {
    sim.expect_attached("partner", "a");
    sim.expect_on(NEW, Some("eni-n1"));
    sim.expect_on(OLD, None);
    sim.expect_reserved_only(NEW);
}

/// "partner" is edited to an address that another owner has reserved. Afterwards `taken` has the steps of four intervals.
fn edit_to_reserved(sim: &mut Sim, mut held: Reservation) {
    held.version = sim.kube.bump();
    sim.kube.reservations.insert(held.address, held);
    sim.edit("partner", NEW);
    sim.wait(INTERVAL);
    sim.expect_not_reserved("partner", Reason::AddressInUse);
    sim.taken.clear();
    sim.wait(INTERVAL * 4);
}

#[test]
fn an_edit_that_is_denied_names_the_action() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.default_fault = Some(denied);
    sim.edit("partner", NEW);
    sim.wait(Duration::from_secs(5));
    expect_named(&sim, Reason::AccessDenied, ACTION);
    sim.expect_on(OLD, Some("eni-n1"));
    sim.ec2.default_fault = None;
    sim.settle();
    expect_new(&sim);
}

#[test]
fn an_edit_that_is_taken_back_while_it_is_denied_waits_for_no_permission() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.default_fault = Some(denied);
    sim.edit("partner", NEW);
    sim.wait(Duration::from_mins(2));
    sim.edit("partner", OLD);
    sim.wait(Duration::from_secs(5));
    sim.expect_attached("partner", "a");
    sim.expect_on(OLD, Some("eni-n1"));
    assert_eq!(sim.counts.assigns, 0, "{}", sim.story());
    let ready = sim.the_ip("partner").status.conditions.ready.clone();
    assert!(ready.unwrap().status, "{}", sim.story());
    // An Unassign of the new address can still be needed: its reservation waits for the permission.
    sim.ec2.default_fault = None;
    sim.settle();
    sim.expect_reserved_only(OLD);
}

#[test]
fn an_edit_that_is_taken_back_at_its_first_call_ends_without_an_assign() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.default_fault = Some(denied);
    sim.edit("partner", NEW);
    sim.step_until(|step| matches!(step, Step::Call(_)));
    sim.edit("partner", OLD);
    sim.wait(Duration::from_millis(500));
    sim.expect_attached("partner", "a");
    sim.expect_on(OLD, Some("eni-n1"));
    assert_eq!(sim.counts.assigns, 0, "{}", sim.story());
}

#[test]
fn an_edit_says_that_ec2_does_not_answer() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.default_fault = Some(lost);
    sim.edit("partner", NEW);
    sim.wait(Duration::from_secs(5));
    expect_named(&sim, Reason::AttachFailed, ACTION);
    sim.ec2.default_fault = None;
    sim.settle();
    expect_new(&sim);
}

#[test]
fn an_edit_says_that_ec2_serves_no_inventory() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.default_fault = Some(lost);
    sim.edit("partner", NEW);
    sim.step_until(status_write(StatusWrite::Claim));
    sim.describe_fails = Some(Outcome::Denied);
    sim.wait(Duration::from_secs(5));
    expect_named(&sim, Reason::AccessDenied, "ec2:DescribeNetworkInterfaces");
    sim.describe_fails = None;
    sim.ec2.default_fault = None;
    sim.settle();
    expect_new(&sim);
}

#[test]
fn an_edit_that_waits_for_an_inventory_does_not_hide_the_gate() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("a").on("n1");
    sim.step_until(status_write(StatusWrite::Record));
    sim.edit("partner", NEW);
    sim.describe_fails = Some(Outcome::Denied);
    sim.wait(Duration::from_secs(5));
    sim.expect_attached("partner", "a");
    sim.expect_not_reserved("partner", Reason::AccessDenied);
    sim.expect_event("IP partner", Reason::AccessDenied);
    sim.describe_fails = None;
    sim.settle();
    expect_new(&sim);
}

#[test]
fn an_address_of_another_manager_is_asked_for_twice_a_minute() {
    let mut sim = Sim::attached(&["n1"]);
    edit_to_reserved(
        &mut sim,
        reservation_of_others("ipaddress-of-others", address(NEW), None),
    );
    let asked = |step: &Step| matches!(step, Step::Read(Read::Reservation(_)));
    let asked = sim.taken.iter().filter(|(_, _, step)| asked(step)).count();
    assert!((7..=11).contains(&asked), "{asked}\n{}", sim.story());
}

#[test]
fn a_block_that_cannot_be_read_while_an_edit_releases_the_old_address_is_written_once() {
    let mut sim = Sim::attached(&["n1"]);
    sim.delete_pod("a");
    sim.remove_pod("a");
    sim.step_until(status_write(StatusWrite::Clear));
    let _ = sim.step(0);
    sim.edit("partner", NEW);
    sim.step_until(status_write(StatusWrite::Reserved));
    let _ = sim.step(0);
    sim.change_block("block", |block| block.spec = Err("no range".to_owned()));
    sim.wait(Duration::from_secs(5));
    sim.taken.clear();
    sim.wait(Duration::from_secs(30));
    sim.expect_not_reserved("partner", Reason::BlockMissing);
    let written = sim
        .taken
        .iter()
        .filter(|(_, _, step)| matches!(step, Step::Write(_)));
    assert_eq!(written.count(), 0, "{}", sim.story());
}

#[test]
fn an_address_of_an_ip_of_another_kind_is_reported_once() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ip("other", "203.0.113.30");
    let parent = IpName::from("other");
    let mut held = reservation_of_others("ipaddress-of-others", address(NEW), Some(&parent));
    held.parent_text = "IP elsewhere/other".to_owned();
    edit_to_reserved(&mut sim, held);
    let written = |step: &Step| matches!(step, Step::Write(Write::Status { .. }));
    let written = sim.taken.iter().filter(|(_, _, step)| written(step));
    assert_eq!(written.count(), 0, "{}", sim.story());
}
