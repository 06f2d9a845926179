//! An Assign without an answer can land late: as long as it can, nothing that it needs is released.
//! Rules: R5.4, R5.19, R5.20.

use std::time::Duration;

use mooring_plan::step::{Call, StatusWrite, Step, Write};

use crate::sim::{Fault, Sim};

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
    sim.step_until(|step| {
        matches!(
            step,
            Step::Write(Write::Status {
                change: StatusWrite::Record,
                ..
            })
        )
    });
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
fn a_target_refused_after_a_late_call_is_not_free() {
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
