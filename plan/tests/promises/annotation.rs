//! The removal of the annotation releases the address, and the pod can be ready without it.
//! Rules: R1.20, R4.5, R8.12.

use std::time::Duration;

use mooring_plan::facts::{Fact, Kind};
use mooring_plan::step::{Read, StatusWrite, Step, Write};

use crate::sim::{Sim, key};

#[test]
fn a_holder_without_the_annotation_is_released() {
    let mut sim = Sim::attached(&["n1"]);
    sim.remove_annotation("a");
    sim.settle();
    sim.expect_free("partner");
    sim.expect_released("a");
}

#[test]
fn a_waiting_pod_is_released_and_the_holder_keeps_the_address() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.pod("b").on("n2");
    sim.settle();
    sim.remove_annotation("b");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_released("b");
}

#[test]
fn the_next_pod_gets_the_address() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.pod("b").on("n2");
    sim.settle();
    sim.remove_annotation("a");
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_released("a");
}

#[test]
fn a_removed_label_is_restored() {
    let mut sim = Sim::attached(&["n1"]);
    sim.change_pod("a", |pod| pod.label = None);
    sim.settle();
    sim.expect_attached("partner", "a");
    assert!(sim.the_pod("a").label.is_some(), "{}", sim.story());
    sim.expect_cost(0, 0, 0);
}

#[test]
fn a_changed_label_is_restored() {
    let mut sim = Sim::attached(&["n1"]);
    sim.change_pod("a", |pod| pod.label = Some("another".into()));
    sim.settle();
    sim.expect_attached("partner", "a");
    let label = sim.the_pod("a").label.clone();
    assert_eq!(label, Some("partner".into()), "{}", sim.story());
    sim.expect_cost(0, 0, 0);
}

/// The label was restored, and a read showed it before the watch.
fn label_is_back_as_a_read_has_it() -> Sim {
    let mut sim = Sim::attached(&["n1"]);
    sim.change_pod("a", |pod| pod.label = None);
    sim.step_until(|step| matches!(step, Step::Read(Read::Pod(_))));
    sim.controllers[0].stuck.insert(Kind::Pod);
    sim.step_until(|step| matches!(step, Step::Write(Write::Label { .. })));
    sim.step_until(|step| matches!(step, Step::Read(Read::Pod(_))));
    sim.controllers[0].stuck.clear();
    sim
}

#[test]
fn a_label_that_changes_again_after_a_read_is_restored_again() {
    let mut sim = label_is_back_as_a_read_has_it();
    sim.change_pod("a", |pod| pod.label = Some("another".into()));
    sim.settle();
    sim.expect_attached("partner", "a");
    let label = sim.the_pod("a").label.clone();
    assert_eq!(label, Some("partner".into()), "{}", sim.story());
    sim.expect_cost(0, 0, 0);
}

#[test]
fn a_holder_that_ends_after_a_read_releases_the_address() {
    let mut sim = label_is_back_as_a_read_has_it();
    sim.change_pod("a", |pod| pod.ended = true);
    sim.settle();
    sim.expect_free("partner");
}

#[test]
fn a_holder_that_ends_during_a_read_releases_the_address() {
    let mut sim = Sim::attached(&["n1"]);
    let (asked, then) = (sim.now, sim.the_pod("a").clone());
    sim.change_pod("a", |pod| pod.ended = true);
    sim.deliver(0);
    let now = asked.plus(Duration::from_millis(1));
    let read = Fact::PodRead(key("a"), Some(then));
    sim.controllers[0].receive(read, None, asked, now);
    let next = sim.in_hand(0);
    let detach = |step: &Step| {
        matches!(
            step,
            Step::Write(Write::Status {
                change: StatusWrite::Detach,
                ..
            })
        )
    };
    assert!(
        next.as_ref().is_some_and(|(_, step)| detach(step)),
        "{next:?}\n{}",
        sim.story()
    );
}

#[test]
fn a_label_without_admission_is_kept() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.pod("b").on("n2");
    sim.change_pod("b", |pod| (pod.annotated, pod.ip) = (false, None));
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_cost(0, 0, 0);
    assert_eq!(sim.counts.writes(), 0, "{}", sim.story());
}
