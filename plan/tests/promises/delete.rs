//! After the deletion of an IP, nothing of it is left.
//! Rules: R3.22, R4.7, R4.47, R5.20.

use std::time::Duration;

use mooring_plan::names::{BlockName, IpName};
use mooring_plan::reason::Reason;
use mooring_plan::step::{StatusWrite, Step, Write};

use crate::sim::{Fault, Sim, status_write};

/// A client replaces "partner" by a PUT without `metadata.finalizers`.
fn remove_finalizer(sim: &mut Sim) {
    sim.note("the finalizer is removed");
    let name = IpName::from("partner");
    sim.kube.change_ip(&name, None, |ip| ip.finalizer = false);
}

#[test]
fn an_ip_without_a_holder_is_deleted_with_its_reservation() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
}

#[test]
fn an_attached_address_is_unassigned_before_the_deletion() {
    let mut sim = Sim::attached(&["n1"]);
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
    sim.expect_on("203.0.113.10", None);
    assert_eq!(sim.counts.calls(), 1, "{}", sim.story());
}

#[test]
fn a_waiting_pod_does_not_get_a_deleted_ip() {
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
fn a_deletion_at_any_time_of_an_attach_leaves_nothing() {
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
fn a_deletion_at_any_time_of_a_move_leaves_nothing() {
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
            sim.remove_pod("a");
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

/// Found by the simulation: a call of a former leader was executed when the IP was gone.
#[test]
fn a_recently_recorded_ip_stays_while_an_assign_of_another_leader_can_land() {
    let mut sim = Sim::new();
    sim.second_controller();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.pod("a").on("n1");
    sim.leader = Some(0);
    sim.step_until(status_write(StatusWrite::Claim));
    let late = loop {
        match sim.in_hand(1) {
            Some((_, Step::Call(call))) => break call,
            _ => drop(sim.step(1)),
        }
    };
    sim.wait(Duration::from_secs(2));
    sim.expect_attached("partner", "a");
    sim.remove_pod("a");
    sim.delete_ip("partner");
    sim.expect_kept_until_landed(&late);
}

#[test]
fn a_recently_recorded_ip_waits_no_longer_than_necessary() {
    let mut sim = Sim::attached(&["n1"]);
    sim.remove_pod("a");
    sim.pod("b").on("n1");
    sim.wait(Duration::from_secs(1));
    sim.expect_attached("partner", "b");
    sim.remove_pod("b");
    sim.delete_ip("partner");
    sim.wait(Duration::from_secs(9));
    assert!(sim.has_ip("partner"), "{}", sim.story());
    sim.wait(Duration::from_secs(5));
    sim.expect_gone("partner");
}

#[test]
fn an_ip_recorded_long_ago_is_deleted_at_once() {
    let mut sim = Sim::attached(&["n1"]);
    sim.wait(Duration::from_secs(11));
    sim.remove_pod("a");
    sim.delete_ip("partner");
    sim.wait(Duration::from_secs(2));
    sim.expect_gone("partner");
}

#[test]
fn a_removed_finalizer_is_put_back_before_the_ip_is_deleted() {
    let mut sim = Sim::attached(&["n1"]);
    remove_finalizer(&mut sim);
    sim.settle();
    assert!(sim.the_ip("partner").finalizer, "{}", sim.story());
    sim.expect_attached("partner", "a");
    sim.expect_cost(0, 0, 0);
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
    sim.expect_on("203.0.113.10", None);
    assert_eq!(sim.counts.unassigns, 1, "{}", sim.story());
}

#[test]
fn a_finalizer_that_is_removed_at_any_time_of_a_move_is_put_back() {
    for steps in 0..20 {
        let mut sim = Sim::attached(&["n1", "n2"]);
        sim.remove_pod("a");
        sim.pod("b").on("n2");
        for _ in 0..steps {
            let _ = sim.step(0);
        }
        remove_finalizer(&mut sim);
        sim.settle();
        assert!(
            sim.the_ip("partner").finalizer,
            "after {steps}\n{}",
            sim.story()
        );
        sim.expect_attached("partner", "b");
    }
}

#[test]
fn a_removed_finalizer_is_put_back_while_ec2_denies_every_call() {
    for claimed in [true, false] {
        let mut sim = Sim::attached(&["n1"]);
        sim.ec2.default_fault = Some(|_| Fault::Denied);
        sim.remove_pod("a");
        if claimed {
            sim.found_on("203.0.113.10", None);
            sim.pod("b").on("n1");
        }
        sim.wait(Duration::from_mins(3));
        remove_finalizer(&mut sim);
        sim.wait(Duration::from_secs(5));
        assert!(sim.the_ip("partner").finalizer, "{}", sim.story());
    }
}

#[test]
fn a_refused_finalizer_delays_nothing_that_is_done_for_the_pods() {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2"]);
    sim.forbids = |write| matches!(write, Write::AddFinalizer { .. });
    remove_finalizer(&mut sim);
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_secs(10));
    sim.expect_attached("partner", "b");
    assert!(!sim.the_ip("partner").finalizer);
    sim.forbids = |_| false;
    sim.wait(Duration::from_secs(31));
    assert!(sim.the_ip("partner").finalizer, "{}", sim.story());
}

#[test]
fn a_failover_comes_before_the_finalizer() {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2"]);
    sim.next_revision("b", "n2", 1);
    sim.settle();
    sim.node_fails_under("a", "n1");
    remove_finalizer(&mut sim);
    let first = sim.step_until(|step| matches!(step, Step::Write(_)));
    assert!(
        status_write(StatusWrite::Claim)(&first),
        "{first:?}\n{}",
        sim.story()
    );
    sim.settle();
    assert!(sim.the_ip("partner").finalizer);
}

/// Its new block has no free address. Only inventories of the former one can prove that the address is off.
#[test]
fn an_ip_that_waits_for_an_address_of_another_block_can_be_deleted() {
    let mut sim = Sim::attached(&["n1"]);
    sim.block("second", "203.0.113.0/30");
    sim.remove_pod("a");
    sim.step_until(status_write(StatusWrite::Clear));
    sim.change_spec("partner", |desired| {
        desired.address = None;
        desired.block = Some(BlockName::from("second"));
    });
    sim.settle();
    sim.expect_not_reserved("partner", Reason::BlockExhausted);
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
}
