//! Two processes lead, and one of them sees neither the begin nor the end of a claim of the other. An Assign of that claim
//! can still land, so the inventories from before it prove nothing.
//! Rules: R4.18, R4.21, R5.19.

use std::time::Duration;

use mooring_plan::names::IpName;
use mooring_plan::step::{Call, StatusWrite, Step};

use crate::sim::{Fault, Sim, status_write};

/// Two processes that lead, and "partner" is reserved. From here on only the first one does steps and sees anything.
fn two() -> Sim {
    let mut sim = Sim::of_two_processes();
    sim.settle();
    sim.leader = Some(0);
    sim
}

/// The next call of the first process is lost on its way; it can still land.
fn late_assign(sim: &mut Sim) -> Call {
    sim.ec2.faults.push_back(Fault::RequestLost);
    match sim.step_until(|step| matches!(step, Step::Call(_))) {
        Step::Call(late @ Call::Assign { .. }) => late,
        other => panic!("{other:?}\n{}", sim.story()),
    }
}

/// An attach of the first process ends before its Assign lands. The second process sees the IP without a holder before
/// and after that.
fn an_attach_that_only_one_saw() -> (Sim, Call) {
    let mut sim = two();
    sim.pod("a").on("n1");
    let late = late_assign(&mut sim);
    sim.remove_pod("a");
    sim.step_until(status_write(StatusWrite::Clear));
    sim.leader = Some(1);
    (sim, late)
}

#[test]
fn an_ip_is_kept_until_no_assign_of_a_claim_that_was_never_shown_can_land() {
    let (mut sim, late) = an_attach_that_only_one_saw();
    sim.delete_ip("partner");
    sim.expect_kept_until_landed(&late);
}

/// As before, but the second process has seen a Record long before, on the same ENI.
#[test]
fn an_ip_is_kept_too_if_the_last_claim_that_was_shown_was_recorded_on_the_same_eni() {
    let mut sim = two();
    sim.pod("a").on("n1");
    sim.leader = None;
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.leader = Some(0);
    sim.remove_pod("a");
    sim.step_until(status_write(StatusWrite::Clear));
    sim.pod("b").on("n1");
    let late = late_assign(&mut sim);
    sim.remove_pod("b");
    sim.step_until(status_write(StatusWrite::Clear));
    sim.leader = Some(1);
    sim.delete_ip("partner");
    sim.expect_kept_until_landed(&late);
}

#[test]
fn the_place_of_a_claim_that_was_never_shown_is_kept_for_the_next_pod() {
    let (mut sim, late) = an_attach_that_only_one_saw();
    sim.pod("b").on("n2");
    let claimed = |sim: &Sim| sim.the_ip("partner").status.claim.is_some();
    for _ in 0..60_000 {
        if claimed(&sim) {
            break;
        }
        sim.wait(Duration::from_millis(1));
    }
    assert!(claimed(&sim), "{}", sim.story());
    sim.ec2.execute(&late, sim.now).unwrap();
    sim.settle();
    sim.expect_attached("partner", "b");
}

/// The second process sees the same holder at the same place before a move that went back and after it.
#[test]
fn the_place_of_a_move_that_was_never_shown_is_kept_while_its_assign_can_land() {
    let mut sim = two();
    sim.allow_reassignment("partner");
    sim.next_revision("a", "n1", 1);
    sim.leader = None;
    sim.settle();
    sim.leader = Some(0);
    sim.expect_attached("partner", "a");
    sim.next_revision("b", "n2", 2);
    let late = late_assign(&mut sim);
    sim.ec2.faults.push_back(Fault::NoRoom);
    sim.step_until(status_write(StatusWrite::Revert));
    sim.remove_pod("b");
    sim.step_until(status_write(StatusWrite::Record));
    sim.leader = Some(1);
    sim.wait(Duration::from_secs(1));
    sim.ec2.execute(&late, sim.now).unwrap();
    sim.settle();
    sim.expect_attached("partner", "a");
    let name = IpName::from("partner");
    assert_eq!(sim.kube.ips[&name].status.previous, [], "{}", sim.story());
}
