//! EC2 denies calls for some interfaces only. Whatever the order of names and interfaces is, every address that waits has
//! its turn, and a move is claimed only in its turn.
//! Rules: R5.11, R5.32.

use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::cloud::Reassign;
use mooring_plan::facts::WriteOutcome;
use mooring_plan::names::IpName;
use mooring_plan::outcome::Action;
use mooring_plan::step::{CallGroup, StatusWrite, Write};
use mooring_world::objects::{block, interface_of};

use crate::paced::{Paced, address, ip, node};

/// Within it an address that waits has its turn, if only one other address waits.
const A_TURN: Duration = Duration::from_secs(3);
const LONG: Duration = Duration::from_secs(20);
/// The first IP in the range of the other block.
const OTHER: usize = 0x700;

/// True if the request is about the interface of the first node.
fn of_the_first(group: &CallGroup) -> bool {
    group.interface() == &interface_of(&node(0))
}

fn is_unassign(group: &CallGroup) -> bool {
    group.action() == Action::Unassign
}

/// Number of requests of this action with this address.
fn calls(world: &Paced, action: Action, address: Address) -> usize {
    let sent = world.sent.iter();
    let sent = sent.filter(|sent| sent.group.action() == action);
    sent.filter(|sent| sent.addresses.contains(&address))
        .count()
}

/// Number of writes of this kind to the status of an IP.
fn writes(world: &Paced, of: &IpName, kind: StatusWrite) -> usize {
    let written = world.written.iter();
    let kinds = written.filter_map(|(name, write, _)| match write {
        Write::Status { change, .. } if name == of => Some(*change),
        _ => None,
    });
    kinds.filter(|change| *change == kind).count()
}

#[test]
fn a_denied_interface_delays_no_attach_to_another_one() {
    for (denied, waits) in [(9, 1), (1, 9)] {
        let mut world = Paced::new(2, 10, Reassign::Refuse);
        world.run(Duration::from_mins(1));
        world.denies = of_the_first;
        world.pod("denied", denied, 0);
        world.run(LONG);
        world.pod("waits", waits, 1);
        world.run(A_TURN);
        let there = &world.places(10)[waits];
        assert_eq!(*there, Some(interface_of(&node(1))), "{:?}", world.sent);
    }
}

#[test]
fn a_denied_failover_delays_no_deletion_in_another_block() {
    let mut world = Paced::new(3, 0, Reassign::Refuse);
    let first = block("block", "203.0.112.0/21").spec.unwrap();
    world.change_blocks(|spec| spec.range = first.range.clone());
    world.block("other", "203.0.120.0/21");
    for number in [1, OTHER] {
        world.ip(number);
    }
    world.run(Duration::from_mins(1));
    world.pod("lost", OTHER, 0);
    world.pod("ends", 1, 1);
    world.run(Duration::from_mins(1));
    world.denies = of_the_first;
    world.node_fails(0);
    world.pod("next", OTHER, 2);
    world.run(LONG);
    assert!(calls(&world, Action::Unassign, address(OTHER)) > 10);
    world.ends("ends");
    world.run(A_TURN);
    assert_eq!(world.cloud.holder_of(address(1)), None, "{:?}", world.sent);
}

#[test]
fn addresses_of_several_interfaces_try_in_turn() {
    let mut world = Paced::new(5, 10, Reassign::Refuse);
    world.run(Duration::from_mins(1));
    world.denies = |_| true;
    for number in 0..10 {
        world.pod(&format!("p{number}"), number, number % 5);
    }
    world.run(Duration::from_secs(30));
    for number in 0..10 {
        let tries = calls(&world, Action::Assign, address(number));
        assert!(
            (4..=7).contains(&tries),
            "{number}: {tries}: {:?}",
            world.sent
        );
    }
}

/// The node to which addresses move.
const TO: usize = 6;

/// The move of IP 9 from the first node is denied again and again. The IPs up to `held` are held on the nodes of these
/// numbers, by a pod of the first revision of a Deployment each.
fn denied_beside(held: usize) -> Paced {
    let mut world = Paced::new(7, 10, Reassign::Refuse);
    world.run(Duration::from_mins(1));
    world.pod("lost", 9, 0);
    for number in 1..=held {
        let deployment = format!("d{number}");
        world.revision(&format!("old{number}"), number, number, &deployment, 1);
    }
    world.run(Duration::from_mins(1));
    assert_eq!(world.attached(10), held + 1);
    world.denies = of_the_first;
    world.node_fails(0);
    world.pod("next", 9, TO);
    world.run(LONG);
    world.sent.clear();
    world.written.clear();
    world
}

/// A ready pod of the second revision comes for this IP.
fn next_revision(world: &mut Paced, number: usize, on: usize) {
    let (name, deployment) = (format!("new{number}"), format!("d{number}"));
    world.revision(&name, number, on, &deployment, 2);
}

/// The times between the requests.
fn between(world: &Paced) -> Vec<Duration> {
    let pairs = world.sent.windows(2);
    pairs.map(|pair| pair[1].at.since(pair[0].at)).collect()
}

#[test]
fn a_rollout_is_claimed_once_and_uses_its_turn() {
    let mut world = denied_beside(1);
    next_revision(&mut world, 1, TO);
    world.run(A_TURN);
    assert_eq!(
        world.places(10)[1],
        Some(interface_of(&node(TO))),
        "{:?}",
        world.sent
    );
    assert_eq!(writes(&world, &ip(1), StatusWrite::Claim), 1);
    assert_eq!(writes(&world, &ip(1), StatusWrite::Revert), 0);
}

#[test]
fn each_denied_rollout_is_claimed_only_for_its_own_try() {
    let mut world = denied_beside(5);
    world.denies = is_unassign;
    for number in 1..=5 {
        next_revision(&mut world, number, TO);
    }
    world.run(LONG);
    for number in 1..=5 {
        let claims = writes(&world, &ip(number), StatusWrite::Claim);
        let tries = calls(&world, Action::Unassign, address(number));
        assert_eq!((claims, tries), (1, 1), "{number}: {:?}", world.sent);
    }
    assert_eq!(world.attached(10), 5, "the holders keep their addresses");
}

#[test]
fn a_claim_that_is_never_written_keeps_no_address_from_trying() {
    let mut world = denied_beside(2);
    world.refuses = |write| {
        let Write::Status {
            change: StatusWrite::Claim,
            ..
        } = write
        else {
            return None;
        };
        Some(WriteOutcome::Conflict)
    };
    next_revision(&mut world, 1, TO);
    world.run(LONG);
    world.ends("old2");
    world.run(A_TURN);
    assert_eq!(world.places(10)[2], None, "{:?}", world.sent);
}

#[test]
fn failovers_are_claimed_at_once_and_still_try_one_after_the_other() {
    let mut world = denied_beside(5);
    world.denies = is_unassign;
    for number in 1..=5 {
        world.node_fails(number);
        world.pod(&format!("next{number}"), number, TO);
    }
    world.run(LONG);
    let between = between(&world);
    assert!(between.len() > 10, "{between:?}");
    let crowded = between.iter().find(|time| **time < Duration::from_secs(1));
    assert_eq!(crowded, None, "{between:?}");
}

#[test]
fn a_rollout_on_one_interface_takes_no_turn() {
    let mut world = denied_beside(5);
    let mut last = world.now;
    for number in 1..=5 {
        next_revision(&mut world, number, number);
        world.run(Duration::from_millis(250));
    }
    world.run(Duration::from_secs(5));
    for number in 1..=5 {
        assert_eq!(writes(&world, &ip(number), StatusWrite::Claim), 1);
    }
    assert!(world.sent.len() >= 4, "{:?}", world.sent);
    for sent in &world.sent {
        let waited = sent.at.since(last);
        assert!(waited <= Duration::from_millis(1300), "{:?}", world.sent);
        last = sent.at;
    }
}
