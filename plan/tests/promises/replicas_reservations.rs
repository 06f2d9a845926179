//! Two processes that both act as the leader release no reservation that an IP needs, and no IP gets an address that
//! another one has reserved.
//! Rules: R2.19, R2.20.

use mooring_plan::facts::Kind;
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Step, Write};

use crate::replicas::two;
use crate::sim::{Sim, address};

/// The second one receives no events of reservations while the first releases 203.0.113.10.
fn without_events_for_one_process(goes_to_another: bool) -> Sim {
    let mut sim = two();
    sim.ip("partner", "203.0.113.10");
    sim.leader = Some(0);
    sim.settle();
    sim.deliver(1);
    sim.controllers[1].stuck.insert(Kind::Reservation);
    sim.edit("partner", "203.0.113.20");
    sim.settle();
    sim.expect_reserved_only("203.0.113.20");
    if goes_to_another {
        sim.ip("other", "203.0.113.10");
        sim.settle();
    }
    sim.edit("partner", "203.0.113.10");
    for _ in 0..20 {
        let _ = sim.step(1);
    }
    sim
}

#[test]
fn a_reservation_of_a_stalled_watch_is_not_ours() {
    let mut sim = without_events_for_one_process(true);
    let status = &sim.the_ip("partner").status;
    assert_eq!(status.address, Some(address("203.0.113.20")));
    sim.controllers[1].stuck.clear();
    sim.settle();
    sim.expect_not_reserved("partner", Reason::AddressInUse);
    let status = &sim.the_ip("partner").status;
    assert_eq!(status.address, Some(address("203.0.113.20")));
}

#[test]
fn an_address_that_was_released_unseen_is_reserved_again() {
    let mut sim = without_events_for_one_process(false);
    sim.controllers[1].stuck.clear();
    sim.settle();
    sim.expect_reserved_only("203.0.113.10");
}

/// The address was edited to 203.0.113.20, and the next step of the first process releases 203.0.113.10.
fn about_to_release() -> Sim {
    let mut sim = two();
    sim.ip("partner", "203.0.113.10");
    sim.leader = Some(0);
    sim.settle();
    sim.edit("partner", "203.0.113.20");
    while !matches!(in_hand(&mut sim, 0), Some(Step::Write(Write::Release(_)))) {
        sim.step(0).unwrap();
    }
    sim
}

fn the_second_adopts(sim: &mut Sim) {
    let adopts = |step: &Step| matches!(step, Step::Write(Write::RepairReservation { .. }));
    let mut steps = (0..20).map(|_| sim.step(1));
    assert!(steps.any(|step| step.is_ok_and(|step| adopts(&step))));
}

fn in_hand(sim: &mut Sim, controller: usize) -> Option<Step> {
    sim.in_hand(controller).map(|(_, step)| step)
}

#[test]
fn a_reservation_adopted_after_the_read_of_the_ip_is_not_released() {
    let mut sim = about_to_release();
    sim.controllers[0].stuck.insert(Kind::Ip);
    sim.edit("partner", "203.0.113.10");
    the_second_adopts(&mut sim);
    // It sees the written `IPAddress`, but not the version of the IP for which it was written.
    let wanted = address("203.0.113.10");
    while let Some(step) = in_hand(&mut sim, 0) {
        assert!(
            !matches!(&step, Step::Write(Write::Release(it)) if it.address == wanted),
            "{step:?}"
        );
        sim.step(0).unwrap();
    }
    sim.controllers[0].stuck.clear();
    sim.settle();
    sim.expect_reserved_only("203.0.113.10");
}

#[test]
fn a_reservation_adopted_for_an_earlier_spec_is_adopted_again() {
    let mut sim = about_to_release();
    sim.edit("partner", "203.0.113.10");
    the_second_adopts(&mut sim);
    sim.edit("partner", "203.0.113.20");
    sim.deliver(1);
    sim.controllers[1].stuck.insert(Kind::Reservation);
    sim.settle();
    sim.ip("other", "203.0.113.10");
    sim.settle();
    sim.edit("partner", "203.0.113.10");
    for _ in 0..20 {
        let _ = sim.step(1);
    }
    let status = &sim.the_ip("partner").status;
    assert_eq!(status.address, Some(address("203.0.113.20")));
}

#[test]
fn without_the_subnet_a_process_releases_no_address_of_another() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.leader = Some(0);
    sim.settle();
    sim.second_controller();
    // EC2 answers the first process, but not the second one, which has just started.
    sim.ip_of_block("partner", "block");
    sim.step_until(|step| matches!(step, Step::Write(Write::Reserve { .. })));
    sim.describe_fails = Some(Outcome::Unknown);
    for _ in 0..20 {
        let _ = sim.step(1);
    }
    sim.describe_fails = None;
    let reserved = sim.kube.reservations.len();
    assert_eq!(reserved, 1, "it was released\n{}", sim.story());
    sim.settle();
    sim.expect_free("partner");
}
