//! Which pods count as losers that got their `False`: those that the status names, under the present claim. A pod that
//! only waited is forgotten.
//! Rules: R3.31, R4.13, R4.14, R4.17.

use std::time::Duration;

use mooring_plan::facts::{Fact, Kind, WriteOutcome};
use mooring_plan::names::{IpName, PodUid, ResourceVersion};
use mooring_plan::reason::Reason;
use mooring_plan::step::{GateWrite, StatusWrite, Step, Write};

use crate::leaks::{LONG, known};
use crate::programmed::{asking, start};
use crate::sim::{Sim, key};

/// In each round, something happens to a new pod that waits for "partner", and then this pod goes.
fn expect_forgotten(sim: &mut Sim, happens: impl Fn(&mut Sim, &str)) {
    let mut round = |number: u32| {
        let pod = format!("waiting-{number}");
        sim.pod(&pod).on("n2");
        happens(sim, &pod);
        sim.remove_pod(&pod);
        sim.wait(LONG);
        known(sim)
    };
    let before = round(0);
    for number in 1..=3 {
        assert_eq!(round(number), before);
    }
}

#[test]
fn pods_that_only_waited_leave_nothing() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    expect_forgotten(&mut sim, |sim, pod| {
        sim.wait(Duration::from_secs(10));
        sim.expect_denied(pod, Reason::ClaimedByOther);
    });
    sim.expect_attached("partner", "a");
}

#[test]
fn waiting_pods_that_lost_their_annotation_leave_nothing() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    expect_forgotten(&mut sim, |sim, pod| {
        sim.remove_annotation(pod);
        sim.wait(Duration::from_secs(10));
        let gate = sim.the_pod(pod).gate.clone().unwrap();
        assert_eq!(gate.reason, Reason::NotRequested.as_str());
    });
    sim.expect_attached("partner", "a");
}

#[test]
fn waiting_pods_that_were_gone_before_they_got_a_reason_leave_nothing() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    expect_forgotten(&mut sim, |sim, pod| {
        sim.deliver(0);
        let uid = sim.the_pod(pod).uid.clone();
        sim.controllers[0].stuck = [Kind::Pod].into();
        sim.remove_pod(pod);
        sim.wait(Duration::from_secs(10));
        sim.controllers[0].stuck.clear();
        let reported =
            |step: &Step| matches!(step, Step::Write(Write::Gate(gate)) if gate.uid == uid);
        assert!(sim.taken.iter().any(|(_, _, step)| reported(step)));
    });
    sim.expect_attached("partner", "a");
}

/// Pod "a" holds "partner" on n1, and waits until its node has programmed the address.
fn waiting_for_its_node() -> Sim {
    let mut sim = asking(&["n1"]);
    sim.next_revision("a", "n1", 1);
    sim.settle();
    sim.expect_denied("a", Reason::NotProgrammed);
    sim
}

/// Asserts that a move of "partner" on n1 to the next revision lists "a" as a loser.
fn expect_listed_by_a_move(sim: &mut Sim) {
    sim.next_revision("b", "n1", 2);
    sim.step_until(|step| {
        let Step::Write(Write::Status { change, .. }) = step else {
            return false;
        };
        *change == StatusWrite::Claim
    });
    let previous = &sim.the_ip("partner").status.previous;
    let holders = previous.iter().filter_map(|entry| entry.holder.as_ref());
    let holders: Vec<&PodUid> = holders.map(|(_, uid)| uid).collect();
    assert_eq!(holders, [&sim.the_pod("a").uid], "{}", sim.story());
    sim.settle();
    sim.expect_denied("a", Reason::MovedTo);
}

#[test]
fn a_holder_that_waits_for_its_node_is_listed_by_a_move_on_its_interface() {
    let mut sim = waiting_for_its_node();
    expect_listed_by_a_move(&mut sim);
}

#[test]
fn a_holder_that_waited_for_its_node_is_listed_by_a_move_on_its_interface() {
    let mut sim = waiting_for_its_node();
    // The status does not change between the `True` and the move.
    sim.refuses = |write| {
        let Write::Status { change, .. } = write else {
            return false;
        };
        *change == StatusWrite::Conditions
    };
    start(&mut sim, "n1");
    sim.wait(Duration::from_secs(1));
    assert!(sim.the_pod("a").reports_attached(), "{}", sim.story());
    sim.refuses = |_| false;
    expect_listed_by_a_move(&mut sim);
}

#[test]
fn a_holder_with_true_is_listed_although_its_false_was_answered_late() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.next_revision("a", "n1", 1);
    sim.settle();
    sim.expect_attached("partner", "a");
    let gate = |status, reason, denied_at| GateWrite {
        pod: key("a"),
        uid: sim.the_pod("a").uid.clone(),
        version: None,
        status,
        shown: None,
        reason,
        message: String::new(),
        denied_at,
    };
    // It was a loser, and another process has recorded it before the answer came.
    let written = [
        gate(false, Reason::MovedTo, Some(ResourceVersion(1))),
        gate(true, Reason::Attached, None),
    ];
    for gate in written {
        let wrote = Fact::Wrote {
            ip: IpName::from("partner"),
            write: Write::Gate(gate),
            outcome: WriteOutcome::Done(None),
        };
        let now = sim.now;
        sim.controllers[0].facts_mut().apply(wrote, now, now);
    }
    expect_listed_by_a_move(&mut sim);
}

#[test]
fn a_loser_is_denied_again_under_a_later_claim_of_the_same_pod() {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.next_revision("a", "n1", 1);
    sim.settle();
    sim.next_revision("b", "n2", 2);
    let loser = sim.the_pod("a").uid.clone();
    let denied = |step: &Step| matches!(step, Step::Write(Write::Gate(gate)) if gate.uid == loser);
    sim.step_until(denied);
    let _ = sim.step(0);
    // Another leader gave the address back to "a" and claimed it again, and the watch shows only the end of this.
    let ip = IpName::from("partner");
    sim.kube.change_ip(&ip, None, |ip| {
        let claim = ip.status.claim.as_mut().unwrap();
        claim.id = ResourceVersion(claim.id.0 + 1).into();
    });
    let before = sim.taken.len();
    sim.step_until(|step| matches!(step, Step::Call(_)));
    let again = sim
        .taken
        .iter()
        .skip(before)
        .any(|(_, _, step)| denied(step));
    assert!(again, "{}", sim.story());
    sim.settle();
    sim.expect_attached("partner", "b");
}
