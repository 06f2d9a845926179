//! A write that the API server refuses is reported, and what does not need it goes on.
//! Rules: R3.22, R5.14, R5.15, R5.34.

use std::time::Duration;

use mooring_plan::reason::Reason;
use mooring_plan::step::{Call, Notice, Read, Regarding, StatusWrite, Write};
use mooring_world::objects::reservation_of_others;

use crate::programmed::ready;
use crate::sim::{Fault, Sim, address, status_write};

pub const OLD: &str = "203.0.113.10";
pub const NEW: &str = "203.0.113.20";
pub const SOON: Duration = Duration::from_secs(10);
pub const HOUR: Duration = Duration::from_hours(1);

/// `Ready` is `False` with the text of the API server and these words.
pub fn expect_refused(sim: &Sim, words: &str) {
    let ready = ready(sim);
    let refused = !ready.status && ready.reason == Reason::WriteRefused;
    let named = ready.message.contains("denied by a policy, request 1.");
    assert!(
        refused && named && ready.message.contains(words),
        "{ready:?}\n{}",
        sim.story()
    );
    sim.expect_event("IP partner", Reason::WriteRefused);
}

pub fn nothing_is_forbidden(sim: &mut Sim) {
    sim.forbids = |_| false;
    sim.settle();
    assert!(ready(sim).status, "{}", sim.story());
}

#[test]
fn an_old_address_that_cannot_be_released_hides_no_claim() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.forbids = |write| matches!(write, Write::Release(_));
    sim.edit("partner", NEW);
    sim.wait(HOUR);
    assert!(ready(&sim).status, "{}", sim.story());
    sim.expect_event("IP partner", Reason::WriteRefused);
    sim.pod("a").on("n1");
    sim.wait(SOON);
    sim.expect_attached("partner", "a");
    nothing_is_forbidden(&mut sim);
    sim.expect_reserved_only(NEW);
}

#[test]
fn an_old_address_that_cannot_be_unassigned_is_reported_and_hides_no_condition() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.ec2.default_fault = Some(|call| match call {
        Call::Unassign { .. } => Fault::Denied,
        Call::Assign { .. } => Fault::None,
    });
    sim.edit("partner", NEW);
    sim.wait(SOON);
    sim.edit("partner", OLD);
    sim.wait(SOON);
    sim.expect_attached("partner", "a");
    let decision = sim.controllers[0]
        .facts()
        .decide(&"partner".into(), sim.now);
    let reported = |notice: &Notice| notice.reason == Reason::AccessDenied;
    assert!(decision.notices.iter().any(reported), "{}", sim.story());
    sim.edit("partner", "198.51.100.1");
    sim.wait(SOON);
    sim.expect_not_reserved("partner", Reason::BlockMissing);
    sim.edit("partner", OLD);
    sim.ec2.default_fault = None;
    sim.settle();
    sim.expect_reserved_only(OLD);
}

#[test]
fn a_holder_whose_gate_cannot_be_written_hides_no_rollout() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.forbids = |write| matches!(write, Write::Gate(gate) if gate.status && gate.pod.name == "a");
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.wait(HOUR);
    sim.expect_event("a", Reason::WriteRefused);
    sim.expect_event("IP partner", Reason::WriteRefused);
    sim.next_revision("b", "n2", 2);
    sim.wait(SOON);
    sim.expect_attached("partner", "b");
}

#[test]
fn a_new_address_that_cannot_be_reserved_hides_no_gate_and_no_rollout() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.step_until(status_write(StatusWrite::Record));
    sim.forbids =
        |write| matches!(write, Write::Reserve { address: new, .. } if *new == address(NEW));
    sim.edit("partner", NEW);
    sim.wait(SOON);
    sim.expect_attached("partner", "a");
    sim.expect_not_reserved("partner", Reason::WriteRefused);
    expect_refused(&sim, "create IPAddress 203.0.113.20 for IP partner");
    sim.next_revision("b", "n2", 2);
    sim.wait(SOON);
    sim.expect_attached("partner", "b");
    nothing_is_forbidden(&mut sim);
    sim.expect_on(NEW, Some("eni-n2"));
}

#[test]
fn a_free_ip_whose_new_address_cannot_be_reserved_keeps_the_present_one() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.forbids = |write| matches!(write, Write::Reserve { .. });
    sim.edit("partner", NEW);
    sim.pod("a").on("n1");
    sim.wait(SOON);
    sim.expect_attached("partner", "a");
    sim.expect_on(OLD, Some("eni-n1"));
    sim.expect_not_reserved("partner", Reason::WriteRefused);
    nothing_is_forbidden(&mut sim);
    sim.expect_on(NEW, Some("eni-n1"));
}

/// What the API server does not do or does not answer.
type Failing = fn(&mut Sim);

#[test]
fn a_free_ip_keeps_its_present_address_while_the_step_of_an_edit_fails() {
    let failing: [Failing; 2] = [
        |sim| sim.refuses = |write| matches!(write, Write::Reserve { .. }),
        |sim| {
            // Another manager has the new address, and its object cannot be read.
            let held = reservation_of_others("service", address(NEW), None);
            sim.kube.reservations.insert(held.address, held);
            sim.unread = |read| matches!(read, Read::Reservation(_));
        },
    ];
    for fails in failing {
        let mut sim = Sim::reserved(&["n1"]);
        fails(&mut sim);
        sim.edit("partner", NEW);
        sim.wait(SOON);
        sim.pod("a").on("n1");
        sim.wait(SOON);
        sim.expect_attached("partner", "a");
        sim.expect_on(OLD, Some("eni-n1"));
        sim.refuses = |_| false;
        sim.unread = |_| false;
        sim.kube.reservations.retain(|_, held| held.managed);
        sim.settle();
        sim.expect_on(NEW, Some("eni-n1"));
    }
}

#[test]
fn a_free_ip_whose_reservation_cannot_be_repaired_is_given_to_a_pod() {
    let failing: [Failing; 2] = [
        |sim| sim.refuses = |write| matches!(write, Write::RepairReservation { .. }),
        |sim| sim.forbids = |write| matches!(write, Write::RepairReservation { .. }),
    ];
    for fails in failing {
        let mut sim = Sim::reserved(&["n1"]);
        fails(&mut sim);
        let version = sim.kube.bump();
        let held = sim.kube.reservations.get_mut(&address(OLD)).unwrap();
        (held.owner, held.version) = (None, version);
        sim.wait(SOON);
        sim.pod("a").on("n1");
        sim.wait(SOON);
        sim.expect_attached("partner", "a");
        sim.refuses = |_| false;
        sim.forbids = |_| false;
        sim.settle();
        let held = &sim.kube.reservations[&address(OLD)];
        assert!(held.owner.is_some(), "{}", sim.story());
        assert!(ready(&sim).status, "{}", sim.story());
    }
}

#[test]
fn a_free_ip_whose_reservation_is_gone_and_cannot_be_created_is_given_to_no_pod() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.refuses = |write| matches!(write, Write::Reserve { .. });
    sim.kube.bump();
    sim.kube.reservations.clear();
    sim.wait(SOON);
    sim.pod("a").on("n1");
    sim.wait(HOUR);
    let claim = &sim.the_ip("partner").status.claim;
    assert!(claim.is_none(), "{}", sim.story());
    sim.refuses = |_| false;
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn a_take_from_that_cannot_be_removed_hides_no_condition() {
    let mut sim = Sim::attached(&["n1"]);
    sim.forbids = |write| matches!(write, Write::DropTakeFrom { .. });
    sim.take_from("partner", "eni-other");
    sim.wait(SOON);
    sim.expect_event("IP partner", Reason::WriteRefused);
    sim.edit("partner", "198.51.100.1");
    sim.wait(SOON);
    sim.expect_not_reserved("partner", Reason::BlockMissing);
}

#[test]
fn a_take_from_that_cannot_be_removed_from_a_free_ip_hides_no_condition() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.forbids = |write| matches!(write, Write::DropTakeFrom { .. });
    sim.take_from("partner", "eni-other");
    sim.wait(SOON);
    sim.expect_event("IP partner", Reason::WriteRefused);
    sim.pod("a");
    sim.wait(HOUR);
    let attached = sim.the_ip("partner").status.conditions.attached.clone();
    assert!(
        attached.unwrap().message.contains("not scheduled"),
        "{}",
        sim.story()
    );
}

#[test]
fn a_pod_without_the_annotation_that_cannot_be_written_hides_no_other_and_no_condition() {
    let refusals: [fn(&Write) -> bool; 2] = [
        |write| matches!(write, Write::Gate(gate) if gate.pod.name == "b"),
        |write| matches!(write, Write::Label { pod, .. } if pod.name == "b"),
    ];
    for forbids in refusals {
        let mut sim = Sim::attached(&["n1"]);
        for pod in ["b", "c"] {
            sim.pod(pod).on("n1");
        }
        sim.wait(SOON);
        sim.forbids = forbids;
        for pod in ["b", "c"] {
            sim.remove_annotation(pod);
        }
        sim.wait(SOON);
        sim.expect_released("c");
        sim.expect_event("b", Reason::WriteRefused);
        sim.edit("partner", "198.51.100.1");
        sim.wait(SOON);
        sim.expect_not_reserved("partner", Reason::BlockMissing);
        sim.edit("partner", OLD);
        nothing_is_forbidden(&mut sim);
        sim.expect_released("b");
    }
}

#[test]
fn a_waiting_pod_whose_reason_is_refused_hides_no_reason_of_another() {
    let mut sim = Sim::attached(&["n1"]);
    sim.forbids = |write| matches!(write, Write::Gate(gate) if gate.pod.name != "d");
    for pod in ["b", "c", "d"] {
        sim.pod(pod).on("n1");
    }
    sim.wait(SOON);
    sim.expect_denied("d", Reason::ClaimedByOther);
    sim.expect_event("b", Reason::WriteRefused);
    sim.expect_event("c", Reason::WriteRefused);
}

#[test]
fn a_condition_that_cannot_be_written_hides_no_call() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.forbids = |write| {
        matches!(
            write,
            Write::Status {
                change: StatusWrite::Conditions,
                ..
            }
        )
    };
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.pod("a").on("n1");
    sim.wait(HOUR);
    sim.expect_event("IP partner", Reason::WriteRefused);
    sim.ec2.default_fault = None;
    sim.wait(Duration::from_secs(4));
    sim.expect_on(OLD, Some("eni-n1"));
}

#[test]
fn reasons_that_cannot_be_written_are_reported_on_each_pod_and_once_on_the_ip() {
    let mut sim = Sim::attached(&["n1"]);
    sim.forbids = |write| matches!(write, Write::Gate(_));
    for pod in ["b", "c", "d"] {
        sim.pod(pod).on("n1");
    }
    sim.wait(SOON);
    let facts = sim.controllers[0].facts();
    let notices = facts.decide(&"partner".into(), sim.now).notices;
    let about = |on: fn(&Regarding) -> bool| {
        let refused = notices
            .iter()
            .filter(|of| of.reason == Reason::WriteRefused);
        refused.filter(|notice| on(&notice.on)).count()
    };
    assert_eq!(about(|on| matches!(on, Regarding::Pod(..))), 3);
    assert_eq!(about(|on| matches!(on, Regarding::Ip(..))), 1);
}
