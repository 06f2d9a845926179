//! Which holders count as missing. Up to a fifth of the claimed addresses of a block, and always two, are released after
//! a minute and a second read.
//! Rules: R7.1, R7.2, R7.4.

use std::time::Duration;

use mooring_plan::facts::Fact;
use mooring_plan::names::{BlockName, IpName};
use mooring_plan::objects::Pod;
use mooring_plan::step::Write;

use crate::brake::{held, ten, vanish};
use crate::sim::Sim;

/// The number of holders that count as missing.
fn missed(sim: &Sim) -> usize {
    let facts = sim.controllers[0].facts();
    facts.brake_pending(&BlockName::from("block"))
}

#[test]
fn pods_with_a_seen_deletion_do_not_engage_the_brake() {
    let mut sim = ten();
    for n in 0..10 {
        sim.delete_pod(&format!("p{n}"));
    }
    sim.deliver(0);
    for n in 0..10 {
        sim.remove_pod(&format!("p{n}"));
    }
    sim.wait(Duration::from_secs(30));
    for n in 0..10 {
        sim.expect_free(&format!("ip{n}"));
    }
}

#[test]
fn two_vanished_pods_are_accepted_after_a_minute_and_a_second_read() {
    let mut sim = ten();
    sim.remove_pod("p0");
    sim.remove_pod("p1");
    sim.relist(0);
    sim.wait(Duration::from_secs(50));
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    sim.settle();
    sim.expect_free("ip0");
    sim.expect_free("ip1");
    sim.expect_attached("ip2", "p2");
}

#[test]
fn at_most_a_fifth_of_the_attached_pods_can_vanish_together() {
    for (vanishing, released) in [(3, true), (4, false)] {
        let mut sim = Sim::new();
        held(&mut sim, 15);
        vanish(&mut sim, vanishing);
        let free = sim.the_ip("ip0").status.claim.is_none();
        assert_eq!(free, released, "{vanishing} of 15\n{}", sim.story());
    }
}

#[test]
fn ips_without_a_holder_do_not_raise_the_limit() {
    let mut sim = Sim::new();
    held(&mut sim, 4);
    for n in 0..20 {
        sim.ip(&format!("spare{n}"), &format!("203.0.113.{}", 100 + n));
    }
    sim.settle();
    vanish(&mut sim, 3);
    assert!(sim.the_ip("ip0").status.claim.is_some(), "{}", sim.story());
}

#[test]
fn an_edit_does_not_change_the_length_of_an_absence() {
    let mut sim = Sim::new();
    held(&mut sim, 4);
    sim.remove_pod("p0");
    sim.relist(0);
    sim.wait(Duration::from_secs(40));
    sim.allow_reassignment("ip0");
    sim.wait(Duration::from_secs(10));
    assert!(sim.the_ip("ip0").status.claim.is_some(), "{}", sim.story());
    sim.wait(Duration::from_secs(20));
    sim.expect_free("ip0");
}

#[test]
fn a_pod_that_was_seen_terminating_does_not_count_as_missing() {
    let leaves: [fn(&mut Pod); 3] = [
        |pod| pod.deleting = Some(30),
        |pod| pod.ended = true,
        |pod| pod.annotated = false,
    ];
    for leave in leaves {
        let mut sim = Sim::new();
        held(&mut sim, 4);
        sim.change_pod("p0", leave);
        sim.deliver(0);
        sim.remove_pod("p0");
        sim.relist(0);
        sim.wait(Duration::from_secs(30));
        sim.expect_free("ip0");
    }
}

#[test]
fn a_released_or_succeeded_holder_does_not_count_as_missing() {
    let mut sim = Sim::new();
    held(&mut sim, 4);
    sim.remove_pod("p0");
    sim.remove_pod("p1");
    sim.relist(0);
    sim.wait(Duration::from_secs(5));
    assert_eq!(missed(&sim), 2, "{}", sim.story());
    sim.pod("next").on("n2").asks("ip0");
    sim.wait(Duration::from_secs(5));
    assert_eq!(missed(&sim), 1, "{}", sim.story());
    sim.settle();
    sim.expect_attached("ip0", "next");
    sim.expect_free("ip1");
    assert_eq!(missed(&sim), 0, "{}", sim.story());
}

#[test]
fn a_pod_whose_label_was_removed_for_some_time_still_counts_as_missing() {
    let mut sim = Sim::new();
    held(&mut sim, 4);
    let uid = sim.the_pod("p0").uid.clone();
    sim.apply(Fact::PodDeleted(uid));
    sim.settle();
    sim.change_pod("p0", |_| {});
    sim.deliver(0);
    sim.remove_pod("p0");
    sim.relist(0);
    sim.wait(Duration::from_secs(5));
    assert_eq!(missed(&sim), 1, "{}", sim.story());
    sim.wait(Duration::from_secs(30));
    assert!(sim.the_ip("ip0").status.claim.is_some(), "{}", sim.story());
}

/// The watch does not show the pod "p0": a foreign client removed its label, which cannot be restored.
fn unseen() -> Sim {
    let mut sim = Sim::new();
    held(&mut sim, 4);
    sim.refuses = |write| matches!(write, Write::Label { .. });
    sim.change_pod("p0", |pod| pod.label = None);
    sim.relist(0);
    sim
}

#[test]
fn a_holder_that_only_a_read_finds_does_not_count_as_missing() {
    let mut sim = unseen();
    sim.wait(Duration::from_secs(5));
    assert_eq!(missed(&sim), 0, "{}", sim.story());
}

#[test]
fn while_no_read_is_answered_an_unseen_holder_is_not_looked_at_without_pause() {
    let mut sim = unseen();
    sim.wait(Duration::from_secs(2));
    sim.reads_fail = true;
    // The last answer is older than 5 s then, and not forgotten yet.
    sim.wait(Duration::from_secs(6));
    let (name, now) = (IpName::from("ip0"), sim.now);
    let decision = sim.controllers[0].facts().decide(&name, now);
    let again = decision.again.unwrap();
    assert!(
        again.since(now) >= Duration::from_millis(100),
        "{again:?} at {now:?}\n{}",
        sim.story()
    );
}
