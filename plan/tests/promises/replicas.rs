//! Two processes that both act as the leader break no safety rule.
//! Rules: R4.10, R6.3 to R6.5, R6.7.

use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::facts::Kind;
use mooring_plan::step::{Call, StatusWrite, Step};

use crate::sim::{Sim, address, interface_of, status_write};

pub fn two() -> Sim {
    let mut sim = Sim::new();
    sim.second_controller();
    sim.node("n1");
    sim.node("n2");
    sim
}

/// Both processes do steps in an order that depends on `seed`.
fn interleaved(sim: &mut Sim, mut seed: u32) {
    for _ in 0..60 {
        seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12345);
        let _ = sim.step((seed >> 16) as usize % 2);
    }
}

#[test]
fn an_attach_a_move_and_a_delete_by_both() {
    for seed in 0..60 {
        let mut sim = two();
        sim.ip("partner", "203.0.113.10");
        if seed % 2 == 0 {
            sim.allow_reassignment("partner");
        }
        sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
        interleaved(&mut sim, seed);
        sim.settle();
        sim.expect_attached("partner", "a");
        sim.next_revision("b", "n2", 2);
        interleaved(&mut sim, seed);
        sim.settle();
        sim.expect_attached("partner", "b");
        sim.edit("partner", "203.0.113.20");
        interleaved(&mut sim, seed);
        sim.settle();
        sim.expect_attached("partner", "b");
        sim.delete_ip("partner");
        interleaved(&mut sim, seed);
        sim.settle();
        sim.expect_gone("partner");
        sim.expect_on("203.0.113.10", None);
        sim.expect_on("203.0.113.20", None);
    }
}

fn moved() -> Sim {
    let mut sim = two();
    sim.ip("partner", "203.0.113.10");
    sim.allow_reassignment("partner");
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_secs(2));
    sim.expect_attached("partner", "b");
    sim
}

#[test]
fn a_late_assign_of_a_paused_process_is_repaired() {
    let mut sim = moved();
    let late = Call::Assign {
        interface: interface_of("n1"),
        address: address("203.0.113.10"),
        reassign: Reassign::Allow,
    };
    sim.ec2.execute(&late, sim.now).unwrap();
    sim.wait(Duration::from_secs(70));
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_on("203.0.113.10", Some("eni-n2"));
}

#[test]
fn a_late_unassign_of_a_paused_process_is_repaired() {
    let mut sim = moved();
    let late = Call::Unassign {
        interface: interface_of("n2"),
        address: address("203.0.113.10"),
    };
    sim.ec2.execute(&late, sim.now).unwrap();
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_on("203.0.113.10", Some("eni-n2"));
}

#[test]
fn without_reassignment_a_late_assign_cannot_steal() {
    let mut sim = moved();
    let late = Call::Assign {
        interface: interface_of("n1"),
        address: address("203.0.113.10"),
        reassign: Reassign::Refuse,
    };
    assert!(sim.ec2.execute(&late, sim.now).is_err());
    sim.expect_attached("partner", "b");
}

#[test]
fn a_late_assign_after_the_detach_is_unassigned() {
    let mut sim = moved();
    for pod in ["a", "b"] {
        sim.delete_pod(pod);
        let _ = sim.step(0);
        sim.remove_pod(pod);
    }
    sim.wait(Duration::from_secs(2));
    sim.expect_free("partner");
    let late = Call::Assign {
        interface: interface_of("n2"),
        address: address("203.0.113.10"),
        reassign: Reassign::Refuse,
    };
    sim.ec2.execute(&late, sim.now).unwrap();
    sim.settle();
    sim.expect_free("partner");
}

/// Pauses the first process before each of its steps; the other process does the rest, and then the paused step is
/// executed.
fn paused_anywhere(begin: impl Fn() -> Sim, end: impl Fn(&Sim)) {
    for steps in 0..24 {
        let mut sim = begin();
        for _ in 0..steps {
            let _ = sim.step(0);
        }
        let in_hand = sim.in_hand(0);
        sim.leader = Some(1);
        sim.settle();
        end(&sim);
        match in_hand {
            // A late call can change the state; that is repaired.
            Some((_, Step::Call(call))) => drop(sim.ec2.execute(&call, sim.now)),
            Some((name, step)) => sim.carry_out(0, &name, &step),
            None => {}
        }
        sim.settle();
        end(&sim);
    }
}

#[test]
fn a_late_step_has_the_same_result() {
    for reassign in [false, true] {
        for node in ["n1", "n2"] {
            let begin = || {
                let mut sim = two();
                sim.ip("partner", "203.0.113.10");
                if reassign {
                    sim.allow_reassignment("partner");
                }
                sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
                sim.wait(Duration::from_millis(5));
                sim.pod("b").on(node).replica_set("rs2", 2, "dep");
                sim.containers_ready("b");
                sim
            };
            paused_anywhere(begin, |sim| sim.expect_attached("partner", "b"));
        }
    }
}

#[test]
fn a_late_true_for_the_winner_is_refused() {
    let mut sim = two();
    sim.leader = Some(0);
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    let late = loop {
        match sim.in_hand(0) {
            Some((name, step @ Step::Write(mooring_plan::step::Write::Gate(_)))) => {
                break (name, step);
            }
            _ => drop(sim.step(0)),
        }
    };
    sim.next_revision("b", "n2", 2);
    sim.leader = Some(1);
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.carry_out(0, &late.0, &late.1);
    sim.expect_attached("partner", "b");
}

/// For the second process, the watch of IPs stops before the Record, and the watch of pods continues.
#[test]
fn a_stalled_watch_of_ips_denies_no_recorded_holder() {
    let mut sim = two();
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.pod("a").on("n1");
    sim.step_until(status_write(StatusWrite::Claim));
    sim.deliver(1);
    sim.controllers[1].stuck.insert(Kind::Ip);
    sim.leader = Some(0);
    sim.wait(Duration::from_secs(3));
    sim.expect_attached("partner", "a");
    sim.leader = None;
    sim.count_from_here();
    sim.wait(Duration::from_secs(3));
    sim.expect_attached("partner", "a");
    sim.expect_cost(0, 0, 0);
}
