//! Random events in any order: the safety rules hold at every step. After the faults stop, the state matches the specs,
//! and no more writes or calls follow.

use std::time::Duration;

use mooring_plan::facts::Kind;
use proptest::prelude::*;

use crate::random_events::{Event, NODES, event, happen};
use crate::sim::{Fault, Sim};

fn world(controllers: usize) -> Sim {
    let mut sim = Sim::new();
    if controllers == 2 {
        sim.second_controller();
    }
    sim.leader = Some(0);
    for node in NODES {
        sim.node(node);
    }
    sim.ip("partner", "203.0.113.10");
    sim.ip("other", "203.0.113.20");
    sim.wait(Duration::from_secs(3));
    sim
}

/// Number of sequences that are tried: more with `PROPTEST_CASES`.
fn cases() -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(150)
}

fn faults_stop(sim: &mut Sim) {
    sim.note("faults stop");
    sim.ec2.faults.clear();
    sim.ec2.default_fault = None;
    sim.ec2.lag = Duration::ZERO;
    sim.ec2.elsewhere = false;
    sim.describe_fails = None;
    sim.reads_fail = false;
    sim.refuses = |_| false;
    sim.forbids = |_| false;
    sim.lost_answers.clear();
    for controller in &mut sim.controllers {
        controller.stuck.clear();
    }
}

fn check_promises(controllers: usize, events: &[Event]) {
    let mut sim = world(controllers);
    for event in events {
        happen(&mut sim, event);
    }
    faults_stop(&mut sim);
    sim.settle();
    sim.expect_the_goal();
}

/// Found by the property test: the inventory of the replica that carries out the edit does not show yet where the other
/// replica attached the address, so the place before the move must be asked too.
#[test]
fn an_edit_during_a_move_releases_no_attached_address() {
    check_promises(
        2,
        &[
            Event::PodComes("d", "n3", "other", 0),
            Event::IpIsDeleted("partner"),
            Event::Steps(0, 1),
            Event::Steps(1, 6),
            Event::PodComes("a", "n1", "other", 0),
            Event::Edit("other", "203.0.113.10"),
            Event::PodGoes("d"),
        ],
    );
}

/// Found by the property test: a replica with a lagging watch of reservations removed the place of the address before
/// the edit.
#[test]
fn a_place_is_kept_while_the_watch_does_not_show_its_reservation() {
    check_promises(
        2,
        &[
            Event::PodComes("a", "n1", "partner", 0),
            Event::Wait(2),
            Event::WatchStops(1, Kind::Reservation),
            Event::Fails(Fault::Denied),
            Event::Edit("partner", "203.0.113.30"),
            Event::Steps(0, 2),
            Event::IpIsDeleted("partner"),
            Event::Steps(1, 4),
        ],
    );
}

/// Found by the property test: the node of the winner became another machine during the move, and the address stayed on
/// the ENI of the loser.
#[test]
fn a_move_to_a_deleted_target_leaves_nothing() {
    check_promises(
        2,
        &[
            Event::PodComes("d", "n2", "partner", 0),
            Event::PodComes("a", "n1", "partner", 0),
            Event::Steps(1, 2),
            Event::NodeUnreachable("n2"),
            Event::PodGoes("d"),
            Event::Steps(0, 2),
            Event::NodeIsReplaced("n1"),
        ],
    );
}

/// Found by the property test: a pod that had `False` during an edit and `True` after it was not listed as a loser when
/// the address moved to another pod on the same node.
#[test]
fn a_holder_that_an_edit_denied_is_denied_again_as_loser() {
    check_promises(
        1,
        &[
            Event::PodComes("d", "n2", "partner", 3),
            Event::Wait(2730),
            Event::Edit("partner", "203.0.113.30"),
            Event::InstanceEnds("n1"),
            Event::Wait(58271),
            Event::PodComes("a", "n1", "partner", 3),
            Event::LabelGoes("d"),
            Event::PodEnds("d"),
            Event::PodComes("b", "n2", "partner", 1),
        ],
    );
}

/// Found by the property test: a foreign client puts an address back on our ENI while its reservation is released.
#[test]
fn an_address_that_a_late_inventory_shows_is_not_released() {
    check_promises(
        1,
        &[
            Event::PodComes("a", "n1", "partner", 2),
            Event::Wait(2592),
            Event::IpComes("partner", "203.0.113.10"),
            Event::PodComes("c", "n2", "other", 0),
            Event::Steps(0, 2),
            Event::Edit("other", "203.0.113.30"),
            Event::Steps(0, 2),
            Event::PodGoes("c"),
            Event::Wait(53408),
            Event::DescribeLags(3),
            Event::FoundOn("203.0.113.20", Some("n2")),
            Event::Steps(0, 1),
            Event::Wait(2999),
        ],
    );
}

/// Found by the property test: the claim for the winner of a rollout is written while no watch shows that the holder
/// lost its annotation. A rollout does not read the holder.
#[test]
fn a_rollout_from_a_pod_that_was_just_unannotated_takes_no_read_of_it() {
    check_promises(
        2,
        &[
            Event::PodComes("a", "n1", "other", 1),
            Event::PodComes("d", "n1", "other", 2),
            Event::Wait(5),
            Event::NodeUnreachable("n2"),
            Event::PodIsReady("d"),
            Event::Steps(0, 1),
            Event::WatchStops(0, Kind::Pod),
            Event::AnnotationGoes("a"),
            Event::Wait(3),
        ],
    );
}

/// Found by the property test: an inventory that began after a foreign client moved an address can still show the
/// earlier state.
#[test]
fn an_address_that_no_inventory_could_show_elsewhere_is_taken_from_there() {
    check_promises(
        1,
        &[
            Event::PodComes("a", "n1", "partner", 2),
            Event::Wait(1994),
            Event::PodComes("c", "n2", "other", 2),
            Event::Steps(0, 3),
            Event::PodIsDeleted("c"),
            Event::NodeGoes("n2"),
            Event::Reassign("other", true),
            Event::DescribeLags(1),
            Event::FoundOn("203.0.113.20", Some("n1")),
            Event::PodComes("b", "n3", "other", 0),
            Event::Edit("other", "203.0.113.10"),
            Event::Steps(0, 2),
        ],
    );
}

/// Found by the property test: EC2 begins to throttle while another IP waits for an inventory.
#[test]
fn throttling_is_noticed_when_an_ip_would_call() {
    check_promises(
        2,
        &[
            Event::Wait(40712),
            Event::Wait(18291),
            Event::PodComes("a", "n1", "partner", 0),
            Event::DescribeFails(true),
            Event::PodComes("b", "n3", "other", 0),
            Event::Steps(0, 1),
            Event::InterfaceGoes("n3"),
            Event::Edit("partner", "203.0.113.10"),
            Event::AnnotationGoes("b"),
            Event::PodComes("a", "n1", "partner", 0),
            Event::Wait(27998),
            Event::Fails(Fault::Throttled),
            Event::PodGoes("a"),
            Event::Steps(0, 3),
        ],
    );
}

/// An IP that is deleted directly after an edit can be gone while its earlier address is still reserved for it.
#[test]
fn ips_waiting_for_the_earlier_address_are_affected_when_the_ip_is_gone() {
    check_promises(
        2,
        &[
            Event::Edit("partner", "203.0.113.20"),
            Event::NodeUnreachable("n1"),
            Event::Steps(0, 1),
            Event::Edit("other", "203.0.113.30"),
            Event::Leads(1),
            Event::Steps(0, 2),
            Event::IpIsDeleted("other"),
            Event::Wait(7),
            Event::Steps(0, 1),
        ],
    );
}

/// Found by the property test: a denied claim went between two pods and back to a pod on a lost node without end.
#[test]
fn a_denied_claim_does_not_go_back_to_a_pod_on_a_lost_node() {
    check_promises(
        2,
        &[
            Event::PodComes("d", "n2", "partner", 0),
            Event::NodeNotReady("n3"),
            Event::PodComes("b", "n1", "partner", 0),
            Event::Steps(0, 2),
            Event::PodIsDeleted("d"),
            Event::Fails(Fault::Denied),
            Event::NodeUnreachable("n2"),
            Event::Reassign("partner", false),
            Event::PodComes("a", "n1", "partner", 0),
            Event::Wait(5),
        ],
    );
}

/// Found by the property test: while no write succeeds, a claim for another pod and one for the present pod ended each
/// other's backoff.
#[test]
fn two_claims_that_fail_do_not_follow_each_other_without_a_wait() {
    check_promises(
        2,
        &[
            Event::PodComes("a", "n2", "other", 0),
            Event::PodComes("b", "n1", "other", 0),
            Event::Steps(0, 3),
            Event::NodeNotReady("n2"),
            Event::PodIsDeleted("a"),
            Event::FoundOn("203.0.113.20", None),
            Event::WritesFail(true),
            Event::Wait(61342),
        ],
    );
}

/// Found by the property test: the watch of the second leader showed the detach of a claim, and then that of the next one,
/// but not the claim between. What it knew of the first detach does not count for the second.
#[test]
fn a_detach_of_a_claim_that_was_never_shown_asks_every_place() {
    check_promises(
        2,
        &[
            Event::Restart(0),
            Event::PodComes("a", "n1", "partner", 1),
            Event::Steps(0, 6),
            Event::Relist(1),
            Event::Wait(7919),
            Event::Steps(1, 1),
            Event::Wait(2074),
            Event::PodComes("b", "n2", "partner", 0),
            Event::PodEnds("a"),
            Event::Steps(1, 5),
            Event::Wait(5006),
            Event::IpIsDeleted("partner"),
            Event::Steps(0, 1),
            Event::Steps(1, 4),
        ],
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_iters: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn one_controller_meets_all_promises(events in prop::collection::vec(event(), 1..60)) {
        check_promises(1, &events);
    }

    #[test]
    fn two_controllers_meet_all_promises(events in prop::collection::vec(event(), 1..60)) {
        check_promises(2, &events);
    }
}
