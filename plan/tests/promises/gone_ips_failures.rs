//! What fails for the pods of an IP that is gone is repeated with backoff, overwrites no newer pod, and is forgotten.
//! Rules: R3.33, R5.14, R5.16, R5.34.

use std::time::Duration;

use mooring_plan::facts::Kind;
use mooring_plan::reason::Reason;
use mooring_plan::step::Write;

use crate::gone_ips::{bind, reads, two_pods, world, writes};
use crate::sim::Sim;

/// The controller remembers no failure of a name without an IP.
fn remembers_nothing(sim: &Sim) -> bool {
    format!("{:?}", sim.controllers[0].facts()).contains("without_ip: {}")
}

#[test]
fn a_read_that_fails_proves_nothing_and_is_repeated_with_backoff() {
    let mut sim = world();
    bind(&mut sim, "a", "n1");
    sim.reads_fail = true;
    sim.wait(Duration::from_mins(1));
    let tries = reads(&sim).len();
    assert!((4..=10).contains(&tries), "{tries}\n{}", sim.story());
    assert_eq!(writes(&sim), 0, "{}", sim.story());
    assert!(!remembers_nothing(&sim));
    sim.reads_fail = false;
    sim.wait(Duration::from_secs(31));
    sim.expect_denied("a", Reason::StalePod);
    assert!(remembers_nothing(&sim));
}

#[test]
fn a_write_that_fails_is_repeated_with_backoff() {
    for annotated in [true, false] {
        let mut sim = world();
        bind(&mut sim, "a", "n1");
        sim.change_pod("a", |pod| pod.annotated = annotated);
        sim.refuses = |_| true;
        sim.wait(Duration::from_mins(1));
        let tries = writes(&sim);
        assert!((4..=10).contains(&tries), "{tries}\n{}", sim.story());
        assert!(reads(&sim).len() <= tries, "{}", sim.story());
        sim.refuses = |_| false;
        sim.wait(Duration::from_secs(31));
        assert_eq!(sim.the_pod("a").gate_status(), Some(!annotated));
        assert!(remembers_nothing(&sim));
    }
}

#[test]
fn each_release_that_fails_has_its_own_backoff() {
    let mut sim = two_pods();
    sim.refuses = |_| true;
    for pod in ["a", "b"] {
        sim.remove_annotation(pod);
    }
    sim.wait(Duration::from_mins(1));
    assert!((8..=20).contains(&writes(&sim)), "{}", sim.story());
    sim.refuses = |_| false;
    sim.wait(Duration::from_secs(31));
    for pod in ["a", "b"] {
        sim.expect_released(pod);
    }
}

#[test]
fn a_release_that_is_refused_delays_no_other_pod_and_is_reported() {
    let refusals: [fn(&Write) -> bool; 2] = [
        |write| matches!(write, Write::Gate(gate) if gate.pod.name == "a"),
        |write| matches!(write, Write::Label { pod, .. } if pod.name == "a"),
    ];
    for forbids in refusals {
        let mut sim = two_pods();
        sim.forbids = forbids;
        for pod in ["a", "b"] {
            sim.remove_annotation(pod);
        }
        sim.wait(Duration::from_secs(10));
        sim.expect_released("b");
        sim.expect_event("a", Reason::WriteRefused);
        sim.forbids = |_| false;
        sim.wait(Duration::from_secs(31));
        sim.expect_released("a");
    }
}

#[test]
fn a_reason_that_is_refused_is_reported() {
    let mut sim = world();
    sim.forbids = |_| true;
    bind(&mut sim, "a", "n1");
    sim.wait(Duration::from_mins(1));
    sim.expect_event("a", Reason::WriteRefused);
}

#[test]
fn a_pod_that_changed_meanwhile_is_not_overwritten() {
    for annotated in [true, false] {
        let mut sim = world();
        bind(&mut sim, "a", "n1");
        sim.change_pod("a", |pod| pod.annotated = annotated);
        sim.deliver(0);
        sim.controllers[0].stuck = [Kind::Pod].into();
        sim.containers_ready("a");
        sim.wait(Duration::from_mins(1));
        assert!((2..=10).contains(&writes(&sim)), "{}", sim.story());
        assert!(sim.the_pod("a").gate.is_none(), "{}", sim.story());
        sim.controllers[0].stuck.clear();
        sim.wait(Duration::from_secs(1));
        assert_eq!(sim.the_pod("a").gate_status(), Some(!annotated));
    }
}

#[test]
fn failures_are_forgotten_with_the_last_pod_and_with_a_new_ip() {
    let ends: [fn(&mut Sim); 2] = [
        |sim| sim.remove_pod("a"),
        |sim| sim.ip("partner", "203.0.113.10"),
    ];
    for end in ends {
        let mut sim = world();
        bind(&mut sim, "a", "n1");
        sim.refuses = |_| true;
        sim.wait(Duration::from_secs(10));
        assert!(!remembers_nothing(&sim));
        end(&mut sim);
        sim.deliver(0);
        assert!(remembers_nothing(&sim));
    }
}

#[test]
fn nothing_is_read_for_a_write_that_waits() {
    let mut sim = world();
    bind(&mut sim, "a", "n1");
    sim.refuses = |_| true;
    sim.wait(Duration::from_mins(2));
    sim.taken.clear();
    for _ in 0..60 {
        // The pods on this node are decided again.
        sim.change_node("n1", |node| node.ready = !node.ready);
        sim.wait(Duration::from_secs(1));
    }
    let tries = writes(&sim);
    assert!((1..=3).contains(&tries), "{tries}\n{}", sim.story());
    assert!(reads(&sim).len() <= tries + 1, "{}", sim.story());
}
