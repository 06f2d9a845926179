//! A write that the API server refuses is reported where it holds back an IP, and forgotten when it is not needed any more.
//! A read that fails holds back no more than such a write.
//! Rules: R3.17, R5.14, R5.34.

use std::time::Duration;

use mooring_plan::reason::Reason;
use mooring_plan::step::{Read, StatusWrite, Write};

use crate::programmed::ready;
use crate::refused_writes::{HOUR, NEW, OLD, SOON, expect_refused, nothing_is_forbidden};
use crate::sim::{Fault, Sim, status_write};

/// The writes that are refused, and words of the message.
type Refusal = (fn(&Write) -> bool, &'static str);

#[test]
fn a_refused_write_before_the_first_reservation_is_reported_on_the_ip_and_on_the_pod() {
    let refusals: [Refusal; 2] = [
        (
            |write| matches!(write, Write::AddFinalizer { .. }),
            "add the finalizer to IP partner",
        ),
        (
            |write| matches!(write, Write::Reserve { .. }),
            "create IPAddress 203.0.113.10",
        ),
    ];
    for (forbids, words) in refusals {
        let mut sim = Sim::new();
        sim.node("n1");
        sim.forbids = forbids;
        sim.ip("partner", OLD);
        sim.pod("a").on("n1");
        sim.wait(HOUR);
        expect_refused(&sim, words);
        sim.expect_denied("a", Reason::WriteRefused);
        // One condition, although the text of each refusal is another.
        assert_eq!(sim.counts.status_writes, 1, "{}", sim.story());
        nothing_is_forbidden(&mut sim);
        sim.expect_attached("partner", "a");
    }
}

#[test]
fn a_loser_that_cannot_be_denied_blocks_the_move_and_is_reported() {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2"]);
    sim.forbids =
        |write| matches!(write, Write::Gate(gate) if !gate.status && gate.pod.name == "a");
    sim.next_revision("b", "n2", 2);
    sim.wait(HOUR);
    sim.expect_on(OLD, Some("eni-n1"));
    expect_refused(
        &sim,
        "write the condition ip.wgtwo.com/attached of pod default/a",
    );
    sim.expect_event("a", Reason::WriteRefused);
    sim.expect_denied("b", Reason::WriteRefused);
    sim.expect_cost(0, 2, 1);
    nothing_is_forbidden(&mut sim);
    sim.expect_attached("partner", "b");
}

#[test]
fn a_deletion_that_is_refused_is_reported() {
    let refusals: [Refusal; 2] = [
        (
            |write| matches!(write, Write::Release(_)),
            "delete IPAddress 203.0.113.10 of IP partner",
        ),
        (
            |write| matches!(write, Write::RemoveFinalizer { .. }),
            "remove the finalizer from IP partner",
        ),
    ];
    for (forbids, words) in refusals {
        let mut sim = Sim::reserved(&["n1"]);
        sim.forbids = forbids;
        sim.delete_ip("partner");
        sim.wait(SOON);
        expect_refused(&sim, words);
        sim.forbids = |_| false;
        sim.settle();
        sim.expect_gone("partner");
    }
}

#[test]
fn a_claim_that_is_refused_is_reported_to_the_pod() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.forbids = |write| matches!(write, Write::Status { .. });
    sim.pod("a").on("n1");
    sim.wait(SOON);
    sim.expect_event("IP partner", Reason::WriteRefused);
    sim.expect_denied("a", Reason::WriteRefused);
    nothing_is_forbidden(&mut sim);
    sim.expect_attached("partner", "a");
}

#[test]
fn replica_sets_that_cannot_be_read_keep_the_address_from_no_pod() {
    let unread = |read: &Read| matches!(read, Read::ReplicaSets(..));
    let mut sim = Sim::attached_by_deployment(&["n1", "n2"]);
    sim.unread = unread;
    sim.pod("b").on("n2").of_replica_set("rs1", 1, "dep");
    sim.edit("partner", "198.51.100.1");
    sim.wait(HOUR);
    sim.expect_not_reserved("partner", Reason::BlockMissing);
    sim.edit("partner", OLD);
    sim.delete_pod("a");
    sim.deliver(0);
    sim.remove_pod("a");
    sim.wait(Duration::from_mins(3));
    sim.expect_attached("partner", "b");
}

#[test]
fn a_new_revision_whose_replica_sets_cannot_be_read_hides_no_condition() {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2"]);
    sim.unread = |read| matches!(read, Read::ReplicaSets(..));
    sim.next_revision("b", "n2", 2);
    sim.wait(SOON);
    sim.edit("partner", "198.51.100.1");
    sim.wait(SOON);
    sim.expect_not_reserved("partner", Reason::BlockMissing);
}

#[test]
fn an_address_that_came_back_and_cannot_be_unassigned_says_why() {
    let mut sim = Sim::attached(&["n1"]);
    sim.delete_pod("a");
    sim.deliver(0);
    sim.remove_pod("a");
    sim.step_until(status_write(StatusWrite::Clear));
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.found_on(OLD, Some("eni-n1"));
    sim.wait(Duration::from_mins(3));
    let ready = ready(&sim);
    assert!(
        !ready.status && ready.reason == Reason::AccessDenied,
        "{ready:?}\n{}",
        sim.story()
    );
    sim.ec2.default_fault = None;
    sim.settle();
    sim.expect_free("partner");
}

#[test]
fn a_refused_write_for_a_pod_is_forgotten_with_the_pod() {
    let mut sim = Sim::attached(&["n1"]);
    sim.forbids = |write| matches!(write, Write::Gate(gate) if gate.pod.name == "b");
    sim.pod("b").on("n1");
    sim.wait(SOON);
    let remembered = |sim: &Sim| format!("{:?}", sim.controllers[0].facts()).contains("denied by");
    assert!(remembered(&sim), "{}", sim.story());
    sim.remove_pod("b");
    sim.wait(SOON);
    assert!(!remembered(&sim), "{}", sim.story());
}

#[test]
fn a_refused_write_that_is_no_longer_needed_is_forgotten() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.forbids = |write| matches!(write, Write::Reserve { .. });
    sim.edit("partner", NEW);
    sim.wait(SOON);
    let remembered = |sim: &Sim| format!("{:?}", sim.controllers[0].facts()).contains("denied by");
    assert!(remembered(&sim), "{}", sim.story());
    sim.edit("partner", OLD);
    sim.wait(Duration::from_mins(2));
    sim.pod("a").on("n1");
    sim.wait(SOON);
    sim.expect_attached("partner", "a");
    assert!(!remembered(&sim), "{}", sim.story());
}

#[test]
fn a_pod_of_the_workload_whose_replica_set_cannot_be_read_is_waited_for_a_minute() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.pod("waits").on("n2").of_controller("other");
    sim.settle();
    sim.unread = |read| matches!(read, Read::ReplicaSets(..));
    sim.pod("b").replica_set("rs2", 2, "dep");
    sim.delete_pod("a");
    sim.remove_pod("a");
    sim.wait(Duration::from_secs(50));
    sim.expect_free("partner");
    sim.wait(Duration::from_secs(30));
    sim.expect_attached("partner", "waits");
}
