//! The annotation's removal gives the address up, and lets the pod be ready without it.

use crate::sim::Sim;

#[test]
fn the_holder_gives_it_up_and_is_let_go() {
    let mut sim = Sim::attached(&["n1"]);
    sim.remove_annotation("a");
    sim.settle();
    sim.expect_free("partner");
    sim.expect_let_go("a");
}

#[test]
fn a_waiting_pod_is_let_go_and_the_holder_keeps_it() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.pod("b").on("n2");
    sim.settle();
    sim.remove_annotation("b");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_let_go("b");
}

#[test]
fn the_next_pod_gets_it() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.pod("b").on("n2");
    sim.settle();
    sim.remove_annotation("a");
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_let_go("a");
}

#[test]
fn a_label_that_somebody_took_off_is_put_back() {
    let mut sim = Sim::attached(&["n1"]);
    sim.change_pod("a", |pod| pod.label = None);
    sim.settle();
    sim.expect_attached("partner", "a");
    assert!(sim.the_pod("a").label.is_some(), "{}", sim.story());
    sim.expect_cost(0, 0, 0);
}

#[test]
fn a_label_that_somebody_changed_is_put_back() {
    let mut sim = Sim::attached(&["n1"]);
    sim.change_pod("a", |pod| pod.label = Some("another".into()));
    sim.settle();
    sim.expect_attached("partner", "a");
    let label = sim.the_pod("a").label.clone();
    assert_eq!(label, Some("partner".into()), "{}", sim.story());
    sim.expect_cost(0, 0, 0);
}
