//! An IP that is deleted leaves nothing behind.

use crate::sim::Sim;

#[test]
fn an_ip_that_nobody_holds_goes_with_its_reservation() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
}

#[test]
fn an_attached_one_is_taken_off_first() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1");
    sim.settle();
    sim.count_from_here();
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
    sim.expect_on("203.0.113.10", None);
    assert_eq!(sim.counts.calls(), 1, "{}", sim.story());
}

#[test]
fn a_waiting_pod_gets_nothing_of_an_ip_that_is_being_deleted() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.delete_ip("partner");
    sim.node("n1");
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_gone("partner");
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

#[test]
fn deleted_at_any_moment_of_an_attach_it_leaves_nothing() {
    for steps in 0..16 {
        let mut sim = Sim::new();
        sim.node("n1");
        sim.ip("partner", "203.0.113.10");
        sim.pod("a").on("n1");
        for _ in 0..steps {
            let _ = sim.step(0);
        }
        sim.delete_ip("partner");
        sim.settle();
        sim.expect_gone("partner");
        sim.expect_on("203.0.113.10", None);
        let gate = sim.the_pod("a").gate.clone();
        assert!(
            gate.is_none_or(|gate| !gate.status),
            "after {steps}\n{}",
            sim.story()
        );
    }
}

#[test]
fn deleted_at_any_moment_of_a_move_it_leaves_nothing() {
    for reassign in [false, true] {
        for steps in 0..20 {
            let mut sim = Sim::new();
            sim.node("n1");
            sim.node("n2");
            sim.ip("partner", "203.0.113.10");
            if reassign {
                sim.allow_reassignment("partner");
            }
            sim.pod("a").on("n1");
            sim.settle();
            sim.pod_goes("a");
            sim.pod("b").on("n2");
            for _ in 0..steps {
                let _ = sim.step(0);
            }
            sim.delete_ip("partner");
            sim.settle();
            sim.expect_gone("partner");
            sim.expect_on("203.0.113.10", None);
        }
    }
}
