//! A pod whose IP does not exist any more gets the reason and the way out, and is released when its annotation is
//! removed. A read proves that the IP is gone; at rest nothing is read.
//! Rules: R3.31, R4.5.

use std::time::Duration;

use mooring_plan::facts::{Fact, Kind};
use mooring_plan::names::{IpName, IpUid};
use mooring_plan::objects::{UnreadableIp, UnreadableReport};
use mooring_plan::reason::Reason;
use mooring_plan::step::{Read, Step, Write};
use mooring_plan::time::Instant;

use crate::sim::Sim;
use crate::unreadable::unreadable;
use crate::waiting_reasons::{HOUR, reported};

/// Pod "a" was admitted and not scheduled, and then its IP "partner" was deleted.
pub fn world() -> Sim {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("a");
    sim.deliver(0);
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
    sim.taken.clear();
    sim
}

/// The same with the pods "a" and "b".
pub fn two_pods() -> Sim {
    let mut sim = Sim::reserved(&["n1"]);
    for pod in ["a", "b"] {
        sim.pod(pod);
    }
    sim.delete_ip("partner");
    sim.settle();
    sim.taken.clear();
    sim
}

pub fn bind(sim: &mut Sim, pod: &str, node: &str) {
    sim.change_pod(pod, |pod| pod.node = Some(node.into()));
}

/// When "partner" was read.
pub fn reads(sim: &Sim) -> Vec<Instant> {
    let read = Step::Read(Read::Ip(IpName::from("partner")));
    let taken = sim.taken.iter().filter(|(_, _, step)| *step == read);
    taken.map(|(at, ..)| *at).collect()
}

pub fn writes(sim: &Sim) -> usize {
    let is_write = |step: &Step| matches!(step, Step::Write(_));
    sim.taken.iter().filter(|(.., step)| is_write(step)).count()
}

#[test]
fn a_pod_that_is_bound_after_its_ip_is_gone_gets_the_reason_once() {
    let mut sim = world();
    sim.wait(HOUR);
    assert_eq!(sim.taken, [], "it is not scheduled yet\n{}", sim.story());
    bind(&mut sim, "a", "n1");
    let from = sim.now;
    sim.wait(HOUR);
    let reported = reported(&sim, "a");
    let [(at, gate)] = reported[..] else {
        panic!("{reported:?}\n{}", sim.story());
    };
    let late = at.since(from).as_millis();
    assert!((2000..3000).contains(&late), "after {late}");
    let words = ["IP partner does not exist any more", "delete the pod"];
    assert!(words.iter().all(|words| gate.message.contains(words)));
    sim.expect_denied("a", Reason::StalePod);
    sim.expect_event("a", Reason::StalePod);
    assert_eq!(sim.rules.notices(Reason::StalePod).len(), 1);
    assert_eq!(reads(&sim).len(), 1, "{}", sim.story());
    // Changes of the pod cause no other read.
    sim.containers_ready("a");
    sim.wait(HOUR);
    assert_eq!(sim.taken.len(), 2, "{}", sim.story());
}

#[test]
fn an_outdated_reason_is_replaced() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.pod("b").on("n2");
    sim.wait(Duration::from_secs(10));
    sim.expect_denied("b", Reason::ClaimedByOther);
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
    for pod in ["a", "b"] {
        sim.expect_denied(pod, Reason::StalePod);
    }
}

#[test]
fn one_read_is_enough_for_many_pods() {
    let mut sim = world();
    sim.ip("partner", "203.0.113.10");
    let pods: Vec<String> = (0..20).map(|number| format!("b{number}")).collect();
    for pod in &pods {
        sim.pod(pod);
    }
    sim.settle();
    sim.delete_ip("partner");
    sim.settle();
    sim.taken.clear();
    for pod in &pods {
        bind(&mut sim, pod, "n1");
    }
    sim.wait(HOUR);
    for pod in &pods {
        sim.expect_denied(pod, Reason::StalePod);
    }
    assert_eq!((reads(&sim).len(), writes(&sim)), (1, 20));
}

#[test]
fn the_gate_of_a_holder_does_not_stay_true_after_its_ip() {
    let mut sim = Sim::attached(&["n1"]);
    // A user removes the finalizer.
    sim.kube.bump();
    sim.kube.ips.clear();
    sim.wait(Duration::from_secs(10));
    sim.expect_denied("a", Reason::StalePod);
}

#[test]
fn a_pod_is_released_when_its_annotation_is_removed() {
    for was_reported in [true, false] {
        let mut sim = world();
        if was_reported {
            bind(&mut sim, "a", "n1");
            sim.wait(HOUR);
            sim.expect_denied("a", Reason::StalePod);
            sim.taken.clear();
        }
        sim.remove_annotation("a");
        sim.wait(HOUR);
        sim.expect_released("a");
        assert_eq!((reads(&sim).len(), writes(&sim)), (1, 2));
    }
}

#[test]
fn a_pod_without_the_gate_only_loses_its_label() {
    let mut sim = world();
    sim.change_pod("a", |pod| pod.gated = false);
    bind(&mut sim, "a", "n1");
    sim.wait(HOUR);
    assert_eq!(sim.taken, [], "{}", sim.story());
    sim.remove_annotation("a");
    sim.wait(HOUR);
    assert_eq!(sim.the_pod("a").label, None);
    assert_eq!(reported(&sim, "a"), []);
}

#[test]
fn a_pod_that_ends_gets_no_reason() {
    let ends: [fn(&mut mooring_plan::objects::Pod); 2] =
        [|pod| pod.ended = true, |pod| pod.deleting = Some(30)];
    for end in ends {
        let mut sim = world();
        bind(&mut sim, "a", "n1");
        sim.change_pod("a", end);
        sim.wait(HOUR);
        assert_eq!(sim.taken, [], "{}", sim.story());
    }
}

#[test]
fn a_label_without_admission_is_kept() {
    let mut sim = world();
    sim.change_pod("a", |pod| (pod.annotated, pod.ip) = (false, None));
    sim.wait(HOUR);
    assert_eq!(sim.taken, [], "{}", sim.story());
}

#[test]
fn a_changed_label_makes_no_pod_of_another_ip_stale() {
    for annotated in [true, false] {
        let mut sim = Sim::attached(&["n1", "n2"]);
        sim.pod("b").on("n2");
        sim.wait(Duration::from_millis(100));
        sim.change_pod("b", |pod| {
            (pod.annotated, pod.label) = (annotated, Some("nowhere".into()));
        });
        sim.wait(HOUR);
        assert_eq!(reported(&sim, "b"), [], "{}", sim.story());
        assert!(sim.the_pod("b").label.is_some());
    }
}

#[test]
fn a_read_counts_for_five_seconds() {
    for (after, expected) in [(4_000, 1), (6_000, 2)] {
        let mut sim = two_pods();
        bind(&mut sim, "a", "n1");
        sim.wait(Duration::from_millis(after));
        bind(&mut sim, "b", "n1");
        sim.wait(Duration::from_secs(10));
        assert_eq!((reads(&sim).len(), writes(&sim)), (expected, 2));
    }
}

/// The watch of IPs is silent, and a new IP and its pod are created: the pod gets the address, and no `False`.
fn expect_a_new_ip_is_not_gone(sim: &mut Sim) {
    sim.controllers[0].stuck = [Kind::Ip].into();
    sim.ip("partner", "203.0.113.10");
    sim.pod("new").on("n1");
    sim.wait(Duration::from_secs(10));
    sim.expect_attached("partner", "new");
    let reported = reported(sim, "new");
    assert!(reported.iter().all(|(_, gate)| gate.status), "{reported:?}");
}

#[test]
fn an_ip_that_only_a_read_shows_is_not_gone() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.wait(Duration::from_secs(10));
    expect_a_new_ip_is_not_gone(&mut sim);
}

#[test]
fn a_read_from_before_the_pod_proves_nothing() {
    let mut sim = world();
    bind(&mut sim, "a", "n1");
    while reads(&sim).is_empty() {
        sim.wait(Duration::from_millis(100));
    }
    expect_a_new_ip_is_not_gone(&mut sim);
}

#[test]
fn a_new_ip_of_that_name_is_for_new_pods() {
    let mut sim = world();
    bind(&mut sim, "a", "n1");
    sim.wait(HOUR);
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.pod("new").on("n2");
    sim.settle();
    sim.expect_attached("partner", "new");
    sim.expect_denied("a", Reason::StalePod);
    assert_eq!(reported(&sim, "a").len(), 1, "{}", sim.story());
    // The label of an earlier pod is removed by the new IP too.
    sim.remove_annotation("a");
    sim.settle();
    sim.expect_released("a");
    assert!(
        sim.taken
            .iter()
            .any(|(.., step)| { matches!(step, Step::Write(Write::Label { ip: None, .. })) })
    );
}

#[test]
fn an_unreadable_ip_of_another_name_and_uid_changes_nothing_for_a_pod_of_a_gone_ip() {
    let mut sim = two_pods();
    let other = UnreadableIp {
        name: IpName::from("other"),
        ..unreadable(
            &IpUid::from("u-other"),
            1_000,
            UnreadableReport::NotWritable,
        )
    };
    sim.apply(Fact::IpUnreadable(other));
    bind(&mut sim, "a", "n1");
    sim.wait(HOUR);
    sim.expect_denied("a", Reason::StalePod);
}
