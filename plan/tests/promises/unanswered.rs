//! An Assign without an answer can be executed late: while that is possible, no reservation is released.
//! Rules: R5.4, R5.19, R5.20.

use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::step::{Call, StatusWrite, Step, Write};

use crate::sim::{Fault, Sim, address, interface_of, status_write};

/// The Assign of the first address is in flight with an unknown outcome, and the address is edited.
fn edited_with_an_assign_on_its_way(restarted: bool) -> (Sim, Call) {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("a").on("n1");
    sim.ec2.faults.push_back(Fault::RequestLost);
    let Step::Call(late) = sim.step_until(|step| matches!(step, Step::Call(_))) else {
        unreachable!("a call was waited for");
    };
    if restarted {
        sim.restart(0);
    }
    sim.edit("partner", "203.0.113.20");
    sim.step_until(status_write(StatusWrite::Record));
    (sim, late)
}

#[test]
fn the_old_address_is_released_after_its_late_assign_can_land() {
    for restarted in [false, true] {
        let (mut sim, late) = edited_with_an_assign_on_its_way(restarted);
        sim.wait(Duration::from_secs(5));
        assert_eq!(sim.kube.reservations.len(), 2, "{}", sim.story());
        sim.ec2.execute(&late, sim.now).unwrap();
        sim.settle();
        sim.expect_attached("partner", "a");
        sim.expect_on("203.0.113.10", None);
        sim.expect_reserved_only("203.0.113.20");
    }
}

#[test]
fn an_ip_deleted_after_an_edit_waits_for_a_late_assign_of_the_old_address() {
    let (mut sim, late) = edited_with_an_assign_on_its_way(false);
    sim.delete_ip("partner");
    sim.wait(Duration::from_secs(5));
    assert!(sim.has_ip("partner"), "{}", sim.story());
    sim.ec2.execute(&late, sim.now).unwrap();
    sim.settle();
    sim.expect_gone("partner");
    sim.expect_on("203.0.113.10", None);
}

/// The first Assign is in flight with an unknown outcome, and the second was answered and recorded.
fn recorded_with_an_assign_on_its_way(restarted: bool) -> (Sim, Call) {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("a").on("n1");
    sim.ec2.faults.push_back(Fault::RequestLost);
    let Step::Call(late) = sim.step_until(|step| matches!(step, Step::Call(_))) else {
        unreachable!("a call was waited for");
    };
    sim.wait(Duration::from_secs(3));
    sim.expect_attached("partner", "a");
    if restarted {
        sim.restart(0);
    }
    (sim, late)
}

#[test]
fn an_ip_is_not_deleted_while_a_late_assign_can_land() {
    for restarted in [false, true] {
        let (mut sim, late) = recorded_with_an_assign_on_its_way(restarted);
        sim.delete_ip("partner");
        sim.expect_kept_until_landed(&late);
    }
}

#[test]
fn a_recorded_old_address_is_not_released_before() {
    let (mut sim, late) = recorded_with_an_assign_on_its_way(false);
    sim.edit("partner", "203.0.113.20");
    sim.wait(Duration::from_secs(5));
    sim.expect_attached("partner", "a");
    assert_eq!(sim.kube.reservations.len(), 2, "{}", sim.story());
    sim.ec2.execute(&late, sim.now).unwrap();
    sim.settle();
    sim.expect_on("203.0.113.10", None);
    sim.expect_reserved_only("203.0.113.20");
}

#[test]
fn an_expired_call_delays_nothing() {
    let (mut sim, _) = recorded_with_an_assign_on_its_way(false);
    sim.wait(Duration::from_secs(10));
    sim.delete_ip("partner");
    sim.wait(Duration::from_secs(1));
    sim.expect_gone("partner");
}

#[test]
fn an_ip_whose_target_was_refused_is_kept_while_an_earlier_assign_can_land() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("a").on("n1");
    sim.ec2.faults.extend([Fault::RequestLost, Fault::NoRoom]);
    let Step::Call(late) = sim.step_until(|step| matches!(step, Step::Call(_))) else {
        unreachable!("a call was waited for");
    };
    sim.step_until(|step| {
        matches!(
            step,
            Step::Write(Write::Status {
                change: StatusWrite::Clear | StatusWrite::Detach,
                ..
            })
        )
    });
    sim.remove_pod("a");
    sim.delete_ip("partner");
    sim.wait(Duration::from_secs(5));
    assert!(sim.has_ip("partner"), "{}", sim.story());
    sim.ec2.execute(&late, sim.now).unwrap();
    sim.settle();
    sim.expect_gone("partner");
    sim.expect_on("203.0.113.10", None);
}

/// The pod is deleted: the address is free at once, and the effect of the late Assign is undone.
fn expect_taken_off_again(sim: &mut Sim, late: &Call) {
    sim.remove_pod("a");
    sim.wait(Duration::from_secs(1));
    sim.expect_free("partner");
    sim.wait(Duration::from_secs(4));
    sim.ec2.execute(late, sim.now).unwrap();
    sim.settle();
    sim.expect_free("partner");
}

#[test]
fn an_assign_that_lands_after_its_recorded_claim_has_ended_is_taken_off_again() {
    let (mut sim, late) = recorded_with_an_assign_on_its_way(false);
    expect_taken_off_again(&mut sim, &late);
}

#[test]
fn an_assign_of_another_process_that_lands_after_the_claim_has_ended_is_taken_off_again() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.second_controller();
    sim.wait(Duration::from_secs(15));
    sim.leader = Some(0);
    sim.pod("a").on("n1");
    sim.step_until(status_write(StatusWrite::Claim));
    let Some((_, Step::Call(late))) = sim.in_hand(0) else {
        panic!("no call\n{}", sim.story());
    };
    sim.leader = Some(1);
    sim.deliver(1);
    expect_taken_off_again(&mut sim, &late);
}

#[test]
fn the_next_pod_does_not_wait_for_a_late_assign_of_the_claim_before() {
    let (mut sim, late) = recorded_with_an_assign_on_its_way(false);
    sim.remove_pod("a");
    sim.wait(Duration::from_secs(1));
    sim.pod("b").on("n1");
    sim.wait(Duration::from_secs(1));
    sim.expect_attached("partner", "b");
    sim.ec2.execute(&late, sim.now).unwrap();
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn an_ip_that_a_new_process_finds_free_is_kept_while_an_assign_of_the_one_before_can_land() {
    let mut sim = Sim::attached(&["n1"]);
    sim.remove_pod("a");
    sim.step_until(status_write(StatusWrite::Clear));
    let late = Call::Assign {
        interface: interface_of("n1"),
        address: address("203.0.113.10"),
        reassign: Reassign::Refuse,
    };
    sim.restart(0);
    sim.delete_ip("partner");
    sim.expect_kept_until_landed(&late);
}

#[test]
fn once_it_is_proven_free_inventories_come_once_per_interval_again() {
    let (mut sim, _) = recorded_with_an_assign_on_its_way(false);
    sim.remove_pod("a");
    sim.wait(Duration::from_mins(1));
    sim.expect_free("partner");
    sim.count_from_here();
    sim.wait(Duration::from_mins(10));
    let looks = sim.counts.inventories;
    assert!((9..=11).contains(&looks), "{looks} in ten minutes");
}
