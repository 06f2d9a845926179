//! A pod whose gate can still be `True` is listed in `previous` until its gate was set to `False`, which is done once.
//! Rules: R4.8, R4.9, R4.12 to R4.14, R4.17.

use std::time::Duration;

use mooring_plan::names::{InterfaceId, PodUid};
use mooring_plan::objects::Claim;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Call, StatusWrite, Step, Write};

use crate::sim::{Fault, Sim, interface_of};

/// Pod "a" of the first revision has the address on n1; there are n2 and n3.
fn attached() -> Sim {
    Sim::attached_and_ready(&["n1", "n2", "n3"])
}

fn is_claim(step: &Step) -> bool {
    matches!(
        step,
        Step::Write(Write::Status {
            change: StatusWrite::Claim,
            ..
        })
    )
}

/// The places in `status.previous`, each with its pod.
fn named(sim: &Sim) -> Vec<(InterfaceId, Option<PodUid>)> {
    let previous = &sim.the_ip("partner").status.previous;
    let holder =
        |of: &mooring_plan::objects::Previous| of.holder.as_ref().map(|(_, uid)| uid.clone());
    let named = previous
        .iter()
        .map(|entry| (entry.interface.clone(), holder(entry)));
    named.collect()
}

fn place(sim: &Sim, node: &str, pod: &str) -> (InterfaceId, Option<PodUid>) {
    (interface_of(node), Some(sim.the_pod(pod).uid.clone()))
}

#[test]
fn a_holder_is_listed_as_loser_until_its_address_is_restored() {
    let mut sim = attached();
    sim.found_on("203.0.113.10", None);
    sim.step_until(is_claim);
    assert_eq!(named(&sim), [place(&sim, "n1", "a")], "{}", sim.story());
    sim.settle();
    sim.expect_attached("partner", "a");
    assert_eq!(named(&sim), []);
}

#[test]
fn a_holder_is_denied_before_each_repair_even_if_its_gate_is_false() {
    let mut sim = attached();
    // The write changes the version of the pod, so that a late `True` of another process gets a conflict.
    sim.refuses = |write| matches!(write, Write::Gate(gate) if gate.status);
    for time in ["first", "second"] {
        sim.change_pod("a", |pod| pod.gate = None);
        sim.found_on("203.0.113.10", None);
        sim.step_until(|step| matches!(step, Step::Call(_)));
        sim.expect_denied("a", Reason::Drifted);
        sim.wait(Duration::from_secs(1));
        let claim = sim.the_ip("partner").status.claim.as_ref();
        assert!(claim.is_some_and(Claim::recorded), "{time}");
    }
}

/// The gate status of pod "a", and the field `shown` in the next write of its gate to this status.
fn shown(sim: &mut Sim, to: bool) -> [Option<bool>; 2] {
    let before = sim.the_pod("a").gate.as_ref().map(|gate| gate.status);
    sim.step_until(|step| matches!(step, Step::Write(Write::Gate(gate)) if gate.status == to));
    match sim.taken.last() {
        Some((_, _, Step::Write(Write::Gate(gate)))) => [before, gate.shown],
        _ => panic!("{}", sim.story()),
    }
}

/// `lastTransitionTime` changes only with the status of a condition, so the write must contain the present status.
#[test]
fn the_write_of_a_gate_says_which_status_the_pod_shows() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("a").on("n1");
    assert_eq!(shown(&mut sim, true), [None; 2], "{}", sim.story());
    sim.settle();
    sim.found_on("203.0.113.10", None);
    assert_eq!(shown(&mut sim, false), [Some(true); 2], "{}", sim.story());
    assert_eq!(shown(&mut sim, true), [Some(false); 2], "{}", sim.story());
    sim.settle();
    // The gate stays false.
    sim.refuses = |write| matches!(write, Write::Gate(gate) if gate.status);
    sim.change_pod("a", |pod| {
        pod.gate.iter_mut().for_each(|gate| gate.status = false);
    });
    sim.found_on("203.0.113.10", None);
    assert_eq!(shown(&mut sim, false), [Some(false); 2], "{}", sim.story());
}

#[test]
fn in_a_move_on_one_interface_the_loser_is_listed_until_the_record() {
    let mut sim = attached();
    sim.next_revision("b", "n1", 2);
    sim.step_until(is_claim);
    assert_eq!(named(&sim), [place(&sim, "n1", "a")], "{}", sim.story());
    sim.settle();
    sim.expect_attached("partner", "b");
    assert_eq!(named(&sim), []);
}

#[test]
fn a_rollback_denies_the_holder_nothing_even_after_a_restart() {
    for restarted in [false, true] {
        let mut sim = attached();
        sim.next_revision("b", "n2", 2);
        sim.settle();
        sim.expect_attached("partner", "b");
        sim.expect_cost(2, 3, 2);
        if restarted {
            sim.restart(0);
        }
        sim.replica_set("rs1", 3, "dep", 1);
        sim.settle();
        sim.expect_attached("partner", "a");
        sim.expect_cost(2, 3, 2);
    }
}

#[test]
fn a_denied_loser_is_not_denied_again_by_the_next_move() {
    let mut sim = attached();
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_secs(2));
    sim.expect_cost(2, 2, 2);
    sim.next_revision("c", "n1", 3);
    sim.step_until(is_claim);
    assert_eq!(named(&sim), [place(&sim, "n2", "b")], "{}", sim.story());
    sim.settle();
    sim.expect_attached("partner", "c");
    sim.expect_cost(2, 3, 2);
}

#[test]
fn a_deleted_pod_does_not_block_the_denial_of_others() {
    let mut sim = attached();
    sim.next_revision("b", "n2", 2);
    sim.step_until(|step| matches!(step, Step::Call(Call::Unassign { .. })));
    // The pod disappears unseen before it has the address; the next pod exists already.
    sim.next_revision("c", "n3", 2);
    sim.remove_pod("b");
    sim.relist(0);
    sim.taken.clear();
    sim.step_until(is_claim);
    sim.step_until(|step| matches!(step, Step::Call(_)));
    let uid = &sim.the_pod("a").uid;
    let reported = |step: &Step| matches!(step, Step::Write(Write::Gate(gate)) if &gate.uid == uid && !gate.status);
    let reported = sim
        .taken
        .iter()
        .filter(|(_, _, step)| reported(step))
        .count();
    assert_eq!(reported, 1, "under the claim of c\n{}", sim.story());
    sim.settle();
    sim.expect_attached("partner", "c");
}

#[test]
fn a_change_of_the_ip_during_a_move_repeats_no_denial() {
    let mut sim = attached();
    sim.ec2.faults.extend([Fault::None]);
    sim.ec2.faults.extend([Fault::Throttled; 4]);
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_secs(2));
    sim.expect_denied("a", Reason::MovedTo);
    sim.taken.clear();
    sim.allow_reassignment("partner");
    sim.settle();
    sim.expect_attached("partner", "b");
    let reported = |name: &str| {
        let of =
            |step: &Step| matches!(step, Step::Write(Write::Gate(gate)) if gate.pod.name == name);
        sim.taken.iter().filter(|(_, _, step)| of(step)).count()
    };
    // The winner gets the reason of the throttling, and then of its end.
    assert_eq!((reported("a"), reported("b")), (0, 2), "{}", sim.story());
}

#[test]
fn a_pod_that_a_read_did_not_find_is_never_denied() {
    let mut sim = attached();
    sim.next_revision("b", "n2", 2);
    sim.relist(0);
    sim.remove_pod("a");
    sim.relist(0);
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_cost(2, 3, 1);
}

#[test]
fn a_deleted_loser_is_denied_once_and_not_at_every_move() {
    let nodes = ["n1", "n2", "n3", "n4", "n5", "n6"];
    let mut sim = Sim::reserved(&nodes);
    let mut before: Option<&str> = None;
    for ((revision, pod), node) in (1..).zip(["a", "b", "c", "d", "e", "f"]).zip(nodes) {
        sim.next_revision(pod, node, revision);
        sim.count_from_here();
        sim.wait(Duration::from_secs(5));
        sim.expect_attached("partner", pod);
        // The first loser, the pod that lost the address to the winner and is gone, and the winner.
        let gates = sim.counts.gate_writes;
        assert!(gates <= 3, "{gates}\n{}", sim.story());
        if let Some(before) = before {
            sim.remove_pod(before);
        }
        before = Some(pod);
    }
}

#[test]
fn a_repeated_denial_creates_a_new_version() {
    let mut sim = Sim::edited_while_attached(0);
    let denied = |step: &Step| matches!(step, Step::Write(Write::Gate(gate)) if gate.reason == Reason::AddressChanging);
    let message = |step: Step| match step {
        Step::Write(Write::Gate(gate)) => gate.message,
        _ => String::new(),
    };
    let first = message(sim.step_until(denied));
    let version = sim.the_pod("a").version;
    sim.edit("partner", "203.0.113.30");
    let second = message(sim.step_until(denied));
    assert_eq!(first, second);
    assert!(sim.the_pod("a").version > version, "{}", sim.story());
}
