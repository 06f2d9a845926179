//! A write of a block that fails is tried again with backoff; one that the API server refuses is reported on the block.
//! Rule: R5.35.

use std::time::Duration;

use mooring_plan::facts::{Fact, WriteOutcome};
use mooring_plan::reason::Reason;
use mooring_plan::step::{BlockStep, Notice};

use super::ownerless::reserved_late;
use super::{carry_out, labels_of, look, name, settle_block, steps, world};
use crate::sim::{INTERVAL, Sim};

/// The writes that the API server refuses.
type Forbids = fn(&BlockStep) -> bool;

/// Carries out the steps of the block, once. Texts of webhooks can differ each time.
fn round(sim: &mut Sim, forbids: Forbids) -> Vec<BlockStep> {
    let steps = steps(sim);
    for step in &steps {
        let outcome = if forbids(step) {
            sim.forbidden += 1;
            let text = format!("denied by a policy, request {}", sim.forbidden);
            WriteOutcome::Refused(text)
        } else {
            carry_out(sim, step.clone());
            WriteOutcome::Done(None)
        };
        ended(sim, step, outcome);
    }
    steps
}

fn ended(sim: &mut Sim, step: &BlockStep, outcome: WriteOutcome) {
    let now = sim.now;
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::BlockWrote(name(), step.clone(), outcome), now, now);
}

/// The block is reconciled each second for this time. Returns how often a write was refused.
fn tries(sim: &mut Sim, forbids: Forbids, seconds: u32) -> usize {
    let mut tried = 0;
    for _ in 0..seconds {
        tried += round(sim, forbids)
            .iter()
            .filter(|step| forbids(step))
            .count();
        sim.now = sim.now.plus(Duration::from_secs(1));
    }
    tried
}

fn reported(sim: &mut Sim) -> Vec<Notice> {
    let (_, notices) = look(sim);
    let refused = |notice: &Notice| notice.reason == Reason::WriteRefused;
    notices.into_iter().filter(refused).collect()
}

/// Asserts that `Ready` and one Event name this write, with the text of the first refusal.
fn expect_reported(sim: &mut Sim, ready: bool, words: &str) {
    let reported = reported(sim);
    let [Notice { message, .. }] = &reported[..] else {
        panic!("{reported:?}");
    };
    let condition = &sim.kube.blocks[&name()].status.conditions["Ready"];
    assert_eq!(condition.status, ready, "{condition:?}");
    assert!(condition.message.contains(message), "{condition:?}");
    for words in [words, "denied by a policy, request 1."] {
        assert!(message.contains(words), "{message}");
    }
}

fn of_n1(step: &BlockStep) -> bool {
    matches!(step, BlockStep::Label { node, .. } if node.as_str() == "n1")
}

#[test]
fn a_release_that_is_refused_is_reported_until_it_succeeds() {
    let is_release = |step: &BlockStep| matches!(step, BlockStep::Release(_));
    let mut sim = world();
    settle_block(&mut sim);
    reserved_late(&mut sim);
    for _ in 0..3 {
        sim.wait(INTERVAL);
        round(&mut sim, is_release);
    }
    let (mut statuses, mut reads, mut tried) = (0, 0, 0);
    for _ in 0..120 {
        for step in round(&mut sim, is_release) {
            statuses += u32::from(matches!(step, BlockStep::Status { .. }));
            reads += u32::from(matches!(step, BlockStep::ReadIp(_)));
            tried += u32::from(is_release(&step));
        }
        sim.wait(Duration::from_secs(1));
    }
    assert!((3..=12).contains(&tried), "{tried}");
    assert!(reads <= tried + 1, "{reads} reads for {tried} releases");
    assert!(statuses <= 1, "{statuses}");
    let words = "delete IPAddress 203.0.113.77, which belongs to no IP";
    let reported = &sim.kube.blocks[&name()].status.conditions["Ready"];
    assert!(reported.message.contains(words), "{reported:?}");
}

#[test]
fn a_label_that_is_refused_is_reported_and_tried_again_with_backoff() {
    let mut sim = world();
    let tried = tries(&mut sim, of_n1, 60);
    assert!((5..=8).contains(&tried), "{tried}");
    expect_reported(&mut sim, true, "add the label of IPBlock block to node n1");
    let tried = tries(&mut sim, of_n1, 300);
    assert!((9..=15).contains(&tried), "{tried}");
    expect_reported(&mut sim, true, "add the label of IPBlock block to node n1");
    // The other node was not held back, and the status was written only once.
    assert!(!sim.kube.nodes[&"n2".into()].labels.is_empty());
    tries(&mut sim, |_| false, 31);
    settle_block(&mut sim);
    assert_eq!(reported(&mut sim), []);
    let ready = &sim.kube.blocks[&name()].status.conditions["Ready"].message;
    assert!(!ready.contains("refuses"), "{ready}");
}

#[test]
fn a_label_that_is_refused_delays_no_other_label_and_no_status() {
    let mut sim = world();
    tries(&mut sim, of_n1, 300);
    sim.change_node("n2", |node| node.labels.clear());
    assert_eq!(labels_of(&steps(&mut sim)), [("n2", true)]);
}

#[test]
fn a_refusal_that_does_not_last_is_forgotten() {
    let mut sim = world();
    tries(&mut sim, of_n1, 60);
    // The label is not needed any more.
    sim.remove_node("n1");
    assert_eq!(reported(&mut sim), []);
    sim.kube.blocks.clear();
    sim.kube.bump();
    sim.deliver(0);
    let facts = format!("{:?}", sim.controllers[0].facts());
    assert!(facts.contains("block_failures: {}"), "{facts}");
}

#[test]
fn a_write_without_an_answer_is_tried_again_with_backoff_and_not_reported() {
    let mut sim = world();
    settle_block(&mut sim);
    sim.change_node("n1", |node| node.labels.clear());
    let label = steps(&mut sim).pop().expect("the label");
    ended(&mut sim, &label, WriteOutcome::Unknown);
    assert_eq!(steps(&mut sim), []);
    assert_eq!(reported(&mut sim), []);
    sim.now = sim.now.plus(Duration::from_secs(1));
    assert_eq!(labels_of(&steps(&mut sim)), [("n1", true)]);
}

#[test]
fn a_write_that_conflicts_does_not_wait() {
    let mut sim = world();
    settle_block(&mut sim);
    sim.change_node("n1", |node| node.labels.clear());
    let label = steps(&mut sim).pop().expect("the label");
    ended(&mut sim, &label, WriteOutcome::Conflict);
    assert_eq!(labels_of(&steps(&mut sim)), [("n1", true)]);
}

#[test]
fn a_finalizer_that_cannot_be_added_or_removed_is_reported() {
    let mut sim = world();
    sim.change_block("block", |block| block.finalizer = false);
    let add: Forbids = |step| matches!(step, BlockStep::AddFinalizer { .. });
    let tried = tries(&mut sim, add, 60);
    assert!((5..=8).contains(&tried), "{tried}");
    expect_reported(&mut sim, false, "add the finalizer to IPBlock block");
    sim.forbidden = 0;
    tries(&mut sim, |_| false, 31);
    settle_block(&mut sim);
    assert!(sim.kube.blocks[&name()].status.conditions["Ready"].status);
    for ip in ["partner", "spare"] {
        sim.delete_ip(ip);
    }
    sim.remove_pod("a");
    sim.settle();
    sim.change_block("block", |block| block.deleting = true);
    let remove: Forbids = |step| matches!(step, BlockStep::RemoveFinalizer { .. });
    tries(&mut sim, remove, 60);
    expect_reported(&mut sim, false, "remove the finalizer from IPBlock block");
}

#[test]
fn a_status_that_is_refused_is_reported_as_an_event() {
    let mut sim = world();
    let tried = tries(
        &mut sim,
        |step| matches!(step, BlockStep::Status { .. }),
        60,
    );
    assert!((5..=8).contains(&tried), "{tried}");
    let notice = reported(&mut sim).pop().expect("an Event");
    assert!(notice.message.contains("write the status of IPBlock block"));
}

#[test]
fn a_release_brake_that_cannot_be_removed_is_reported() {
    let mut sim = world();
    settle_block(&mut sim);
    sim.change_block("block", |block| block.release_brake = true);
    let drop: Forbids = |step| matches!(step, BlockStep::DropReleaseBrake { .. });
    tries(&mut sim, drop, 60);
    expect_reported(
        &mut sim,
        true,
        "remove the annotation ip.wgtwo.com/release-brake",
    );
}

#[test]
fn a_write_that_succeeds_ends_its_row_of_refusals() {
    let mut sim = world();
    tries(&mut sim, of_n1, 20);
    tries(&mut sim, |_| false, 31);
    settle_block(&mut sim);
    sim.change_node("n1", |node| node.labels.clear());
    let before = sim.forbidden;
    sim.deliver(0);
    round(&mut sim, of_n1);
    assert_eq!(sim.forbidden, before + 1);
    let reported = reported(&mut sim);
    let text = format!("denied by a policy, request {}.", sim.forbidden);
    assert!(reported[0].message.contains(&text), "{reported:?}");
}

#[test]
fn a_block_stays_while_the_status_of_an_ip_names_it_without_a_reservation() {
    let mut sim = world();
    settle_block(&mut sim);
    sim.kube.bump();
    sim.kube.reservations.clear();
    sim.change_block("block", |block| block.deleting = true);
    sim.deliver(0);
    let steps = steps(&mut sim);
    // Its end begins with the labels.
    let ends = |step: &BlockStep| {
        matches!(
            step,
            BlockStep::RemoveFinalizer { .. } | BlockStep::Label { present: false, .. }
        )
    };
    assert!(!steps.iter().any(ends), "{steps:?}");
}
