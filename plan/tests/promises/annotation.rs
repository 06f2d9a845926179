//! The annotation's removal gives the address up, and lets the pod be ready without it.

use mooring_plan::reason::Reason;

use crate::sim::Sim;

#[test]
fn the_holder_gives_it_up_and_is_let_go() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1");
    sim.settle();
    sim.remove_annotation("a");
    sim.settle();
    sim.expect_free("partner");
    let pod = sim.the_pod("a");
    let gate = pod.gate.clone().unwrap();
    assert!(gate.status && gate.reason == Reason::NotRequested.as_str());
    assert_eq!((&pod.label, &pod.ip), (&None, &None), "{}", sim.story());
}

#[test]
fn a_waiting_pod_is_let_go_and_the_holder_keeps_it() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.node("n2");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1");
    sim.pod("b").on("n2");
    sim.settle();
    sim.remove_annotation("b");
    sim.settle();
    sim.expect_attached("partner", "a");
    let gate = sim.the_pod("b").gate.clone().unwrap();
    assert!(gate.status && gate.reason == Reason::NotRequested.as_str());
    assert_eq!(sim.the_pod("b").label, None);
}

#[test]
fn the_next_pod_gets_it() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.node("n2");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1");
    sim.pod("b").on("n2");
    sim.settle();
    sim.remove_annotation("a");
    sim.settle();
    sim.expect_attached("partner", "b");
    let gate = sim.the_pod("a").gate.clone().unwrap();
    assert!(
        gate.status && gate.reason == Reason::NotRequested.as_str(),
        "{}",
        sim.story()
    );
    assert_eq!(sim.the_pod("a").label, None, "{}", sim.story());
}

#[test]
fn a_label_that_somebody_took_off_is_put_back() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1");
    sim.settle();
    sim.count_from_here();
    sim.change_pod("a", |pod| pod.label = None);
    sim.settle();
    sim.expect_attached("partner", "a");
    assert!(sim.the_pod("a").label.is_some(), "{}", sim.story());
    sim.expect_cost(0, 0, 0);
}

#[test]
fn a_label_that_somebody_changed_is_put_back() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1");
    sim.settle();
    sim.count_from_here();
    sim.change_pod("a", |pod| pod.label = Some("another".into()));
    sim.settle();
    sim.expect_attached("partner", "a");
    let label = sim.the_pod("a").label.clone();
    assert_eq!(label, Some("partner".into()), "{}", sim.story());
    sim.expect_cost(0, 0, 0);
}
