//! A request for several addresses that is lost, late or done twice, and IPs that are deleted meanwhile.
//! Rules: R5.28, R5.30, R6.4.

use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::names::InterfaceId;
use mooring_world::objects::interface_of;

use crate::paced::{Paced, address, ip, node};
use crate::paced_calls::Execution;

const IPS: usize = 8;
/// Shorter than the bound for late calls.
const LATE: Duration = Duration::from_secs(5);

fn on(number: usize) -> InterfaceId {
    interface_of(&node(number))
}

fn pods(world: &mut Paced, name: &str, on: usize) {
    for number in 0..IPS {
        world.pod(&format!("{name}-{number}"), number, on);
    }
}

/// Nodes and IPs, and pods on the first node. Their request was sent, and is executed as `execution` says.
fn attaching(reassign: Reassign, execution: Execution) -> Paced {
    let mut world = Paced::new(2, IPS, reassign);
    world.run(Duration::from_mins(1));
    world.executions.push(execution);
    pods(&mut world, "old", 0);
    while world.sent.is_empty() {
        world.run(Duration::from_millis(1));
    }
    assert_eq!(world.sent[0].addresses.len(), IPS, "all go together");
    world
}

fn moves(world: &mut Paced) {
    for number in 0..IPS {
        world.ends(&format!("old-{number}"));
    }
    pods(world, "new", 1);
}

#[test]
fn a_request_whose_answer_is_lost_leaves_every_address_recorded() {
    let mut world = attaching(Reassign::Refuse, Execution::Unanswered);
    world.run(Duration::from_mins(1));
    assert_eq!(world.attached(IPS), IPS, "{:?}", world.sent);
    assert_eq!(world.places(IPS), vec![Some(on(0)); IPS]);
}

#[test]
fn a_late_request_is_recorded_only_where_ec2_shows_it() {
    let mut world = attaching(Reassign::Refuse, Execution::Late(LATE));
    while world.attached(IPS) < IPS {
        world.run(Duration::from_millis(10));
        let recorded = (0..IPS).map(|number| &world.kube.ips[&ip(number)]);
        let recorded = recorded
            .filter_map(|ip| ip.status.claim.as_ref())
            .filter(|claim| claim.recorded());
        assert_eq!(recorded.count(), world.attached(IPS), "{:?}", world.sent);
    }
    world.run(Duration::from_mins(1));
    assert_eq!(world.places(IPS), vec![Some(on(0)); IPS]);
}

#[test]
fn a_late_request_moves_no_address_back() {
    for reassign in [Reassign::Refuse, Reassign::Allow] {
        let mut world = attaching(reassign, Execution::Late(LATE));
        moves(&mut world);
        world.run(Duration::from_mins(10));
        assert_eq!(world.late.len(), 1, "it came");
        assert_eq!(world.attached(IPS), IPS, "{reassign:?}: {:?}", world.sent);
        assert_eq!(world.places(IPS), vec![Some(on(1)); IPS], "{reassign:?}");
    }
}

#[test]
fn a_request_that_is_done_twice_moves_no_address_back() {
    for reassign in [Reassign::Refuse, Reassign::Allow] {
        let mut world = attaching(reassign, Execution::Twice(LATE));
        moves(&mut world);
        world.run(Duration::from_mins(10));
        assert_eq!(world.late.len(), 1, "it came again");
        assert_eq!(world.attached(IPS), IPS, "{reassign:?}: {:?}", world.sent);
        assert_eq!(world.places(IPS), vec![Some(on(1)); IPS], "{reassign:?}");
    }
}

#[test]
fn half_of_a_request_is_deleted_in_flight_and_leaves_no_address() {
    for execution in [
        Execution::Unanswered,
        Execution::Late(LATE),
        Execution::Twice(LATE),
    ] {
        let mut world = attaching(Reassign::Refuse, execution);
        for number in 0..IPS / 2 {
            world.ends(&format!("old-{number}"));
            world
                .kube
                .change_ip(&ip(number), None, |ip| ip.deleting = true);
        }
        world.run(Duration::from_mins(10));
        for number in 0..IPS {
            let (name, kept) = (ip(number), number >= IPS / 2);
            assert_eq!(
                world.kube.ips.contains_key(&name),
                kept,
                "{execution:?}: {name}"
            );
            let place = kept.then(|| on(0));
            let there = &world.places(IPS)[number];
            assert_eq!(*there, place, "{execution:?}: {}", address(number));
        }
    }
}
