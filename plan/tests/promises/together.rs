//! Calls to EC2 for one ENI that wait at the same time go in one request; a single call does not wait.
//! Rules: R5.28 to R5.31.

use std::collections::BTreeSet;
use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::facts::CallError;
use mooring_plan::outcome::Outcome;
use mooring_plan::step::CallGroup;
use mooring_world::objects::interface_of;

use crate::paced::{Paced, Sent, address, ip, node};

const OLD: usize = 8;
const IPS: usize = 256;

fn pods(world: &mut Paced, ips: usize, name: &str, first: usize, nodes: usize) {
    for number in 0..ips {
        let on = first + number % nodes;
        world.pod(&format!("{name}-{number}"), number, on);
    }
}

fn throttled() -> CallError {
    CallError::new(
        Outcome::Throttled,
        "RequestLimitExceeded: Request limit exceeded.",
    )
}

/// 256 IPs are attached to 8 nodes, which all fail at once; 8 other nodes exist.
fn drained(reassign: Reassign) -> Paced {
    let mut world = Paced::new(2 * OLD, IPS, reassign);
    world.run(Duration::from_mins(1));
    pods(&mut world, IPS, "old", 0, OLD);
    world.run(Duration::from_mins(5));
    assert_eq!(world.attached(IPS), IPS);
    world.sent.clear();
    world
}

#[test]
fn a_single_attach_waits_for_nothing() {
    let mut world = Paced::new(1, 1, Reassign::Refuse);
    world.run(Duration::from_mins(1));
    let bound = world.now;
    world.pod("a", 0, 0);
    world.run(Duration::from_secs(10));
    assert_eq!(world.attached(1), 1);
    assert_eq!(world.sent.len(), 1, "{:?}", world.sent);
    // Its claim is one write, which takes 7 ms.
    assert_eq!(world.sent[0].at, bound.plus(Duration::from_millis(7)));
}

#[test]
fn concurrent_attaches_share_one_request_for_each_interface() {
    let mut world = Paced::new(5, 50, Reassign::Refuse);
    world.run(Duration::from_mins(1));
    pods(&mut world, 50, "a", 0, 5);
    world.run(Duration::from_secs(10));
    assert_eq!(world.attached(50), 50);
    assert_eq!(world.sent.len(), 5, "{:?}", world.sent);
}

#[test]
fn moves_that_wait_for_a_leader_share_requests() {
    for (reassign, most) in [(Reassign::Refuse, 16), (Reassign::Allow, 8)] {
        let mut world = drained(reassign);
        for number in 0..OLD {
            world.node_fails(number);
        }
        pods(&mut world, IPS, "new", OLD, OLD);
        world.begins();
        world.run(Duration::from_mins(1));
        assert_eq!(world.attached(IPS), IPS);
        let sent = world.sent.len();
        assert!(sent <= most, "{reassign:?}: {sent}: {:?}", world.sent);
        let there = world.places(IPS).into_iter().flatten();
        let there: BTreeSet<_> = there.collect();
        let new: BTreeSet<_> = (OLD..2 * OLD).map(|on| interface_of(&node(on))).collect();
        assert_eq!(there, new);
    }
}

#[test]
fn moves_in_sequence_need_few_requests() {
    // With the last two the moves come slower than 100 a second, as on a slow API server.
    for every in [10, 12, 14] {
        let mut world = drained(Reassign::Refuse);
        for number in 0..OLD {
            world.node_fails(number);
        }
        for number in 0..IPS {
            world.pod(&format!("new-{number}"), number, OLD + number % OLD);
            world.run(Duration::from_millis(every));
        }
        world.run(Duration::from_mins(1));
        assert_eq!(world.attached(IPS), IPS);
        let sent = world.sent.len();
        assert!(sent <= 64, "{sent} with a move every {every} ms");
    }
}

#[test]
fn an_interface_waits_for_other_interfaces_only_while_claims_are_begun() {
    let mut world = Paced::new(OLD, 2 * OLD, Reassign::Refuse);
    world.run(Duration::from_mins(1));
    pods(&mut world, OLD, "first", 0, OLD);
    world.run(Duration::from_millis(100));
    let begun = world.sent[0].at;
    for number in OLD..2 * OLD {
        world.pod(&format!("second-{number}"), number, number % OLD);
    }
    world.run(Duration::from_secs(10));
    assert_eq!(world.attached(2 * OLD), 2 * OLD);
    // 125 ms for each of the eight tokens, less what comes back meanwhile; with the seven others it would be 1.1 s.
    let second = world.sent[OLD].at.since(begun);
    assert!(second < Duration::from_millis(700), "{:?}", world.sent);
}

#[test]
fn an_address_that_ec2_refuses_by_name_delays_no_other() {
    let mut world = Paced::new(2, 10, Reassign::Refuse);
    world.run(Duration::from_mins(1));
    // This happens after the last inventory: only the refusal shows it.
    let elsewhere = interface_of(&node(1));
    world.cloud.put_manually(address(3), Some(&elsewhere));
    pods(&mut world, 10, "a", 0, 1);
    world.run(Duration::from_millis(500));
    assert_eq!(world.attached(10), 9);
    let refused = world.sent.iter().filter(|sent| sent.refused.is_some());
    let refused: Vec<_> = refused.map(|sent| sent.addresses.len()).collect();
    assert_eq!(refused, [10, 1], "{:?}", world.sent);
    assert_eq!(world.sent.len(), 3, "{:?}", world.sent);
}

#[test]
fn a_refusal_that_names_no_address_is_bisected() {
    let mut world = Paced::new(1, 12, Reassign::Refuse);
    world.run(Duration::from_mins(1));
    // The ENI has fewer slots than its instance type allows: 7 in addition to its primary address.
    world.cloud.limit_addresses(8);
    pods(&mut world, 12, "a", 0, 1);
    world.run(Duration::from_secs(5));
    assert_eq!(world.attached(12), 7, "{:?}", world.sent);
    let alone = |sent: &&Sent| sent.refused.is_some() && sent.addresses.len() == 1;
    assert_eq!(
        world.sent.iter().filter(alone).count(),
        5,
        "{:?}",
        world.sent
    );
    assert!(world.sent.len() <= 20, "{:?}", world.sent);
}

/// EC2 serves the action again, although it refuses what is asked for.
#[test]
fn a_refusal_of_several_addresses_ends_an_outage() {
    let mut world = Paced::new(1, 12, Reassign::Refuse);
    world.run(Duration::from_mins(1));
    // Room for one address: the others are refused in smaller and smaller requests.
    world.cloud.limit_addresses(2);
    world.fail.push(CallError::new(
        Outcome::Unknown,
        "Timeout: no answer in time",
    ));
    pods(&mut world, 12, "a", 0, 1);
    world.run(Duration::from_secs(3));
    assert_eq!(world.attached(12), 1, "{:?}", world.sent);
}

#[test]
fn a_partial_detach_does_not_confirm_the_other_addresses() {
    let mut world = Paced::new(1, 4, Reassign::Refuse);
    world.run(Duration::from_mins(1));
    pods(&mut world, 4, "a", 0, 1);
    world.run(Duration::from_mins(1));
    assert_eq!(world.attached(4), 4);
    world.sent.clear();
    world.cloud.put_manually(address(2), None);
    for number in 0..4 {
        world.ends(&format!("a-{number}"));
    }
    world.run(Duration::from_mins(5));
    let free = world
        .kube
        .ips
        .values()
        .filter(|ip| ip.status.claim.is_none());
    assert_eq!(free.count(), 4);
    assert_eq!(world.places(4), [None, None, None, None]);
    assert!(world.sent.iter().any(|sent| sent.addresses.len() > 1));
}

#[test]
fn an_unanswered_part_of_a_request_is_repeated() {
    let mut world = Paced::new(1, 8, Reassign::Refuse);
    world.run(Duration::from_mins(1));
    world.fail.push(CallError::new(
        Outcome::Unknown,
        "Timeout: no answer in time",
    ));
    pods(&mut world, 8, "a", 0, 1);
    world.run(Duration::from_mins(1));
    assert_eq!(world.attached(8), 8, "{:?}", world.sent);
}

#[test]
fn an_ip_deleted_while_its_call_waits_is_not_in_the_request() {
    let mut world = Paced::new(1, 10, Reassign::Refuse);
    world.run(Duration::from_mins(1));
    pods(&mut world, 10, "a", 0, 1);
    // The claims are written, and the first request is answered.
    world.run(Duration::from_millis(40));
    world.sent.clear();
    let name = ip(4);
    world.kube.change_ip(&name, None, |ip| ip.deleting = true);
    world.run(Duration::from_mins(5));
    assert!(!world.kube.ips.contains_key(&name));
    assert_eq!(world.places(10)[4], None);
    let assigned = |sent: &&Sent| {
        matches!(sent.group, CallGroup::Assign(..)) && sent.addresses.contains(&address(4))
    };
    assert_eq!(world.sent.iter().filter(assigned).count(), 0);
}

#[test]
fn while_ec2_throttles_each_try_has_all_addresses_of_an_interface() {
    let mut world = Paced::new(2, 40, Reassign::Refuse);
    world.run(Duration::from_mins(1));
    world.fail = vec![throttled(); 8];
    pods(&mut world, 40, "a", 0, 2);
    world.run(Duration::from_secs(30));
    assert_eq!(world.attached(40), 40);
    let sizes: Vec<usize> = world.sent.iter().map(|sent| sent.addresses.len()).collect();
    assert_eq!(sizes, [20; 10], "eight are throttled: {:?}", world.sent);
}

#[test]
fn moves_precede_detaches_when_tokens_are_scarce() {
    let mut world = Paced::new(41, 41, Reassign::Refuse);
    world.run(Duration::from_mins(1));
    pods(&mut world, 40, "a", 0, 20);
    world.pod("first", 40, 40);
    world.run(Duration::from_mins(1));
    assert_eq!(world.attached(41), 41);
    // EC2 throttles a detach and carries out the next try: few tokens are left from then on.
    world.fail.push(throttled());
    world.ends("first");
    while world.places(41)[40].is_some() {
        world.run(Duration::from_millis(1));
    }
    world.sent.clear();
    // The pods of the first ten nodes end; the pods of the next ten move.
    for number in 10..20 {
        world.node_fails(number);
    }
    for number in (0..40).filter(|number| number % 20 >= 10) {
        world.pod(&format!("b-{number}"), number, 20 + number % 20);
    }
    for number in (0..40).filter(|number| number % 20 < 10) {
        world.ends(&format!("a-{number}"));
    }
    world.run(Duration::from_secs(90));
    let moving: BTreeSet<_> = (10..20).map(|number| interface_of(&node(number))).collect();
    let unassigns = world.sent.iter().filter_map(|sent| match &sent.group {
        CallGroup::Unassign(on) => Some(moving.contains(on)),
        CallGroup::Assign(..) => None,
    });
    let order: Vec<bool> = unassigns.collect();
    let last = order.iter().rposition(|moves| *moves).unwrap();
    let before = order[..last].iter().filter(|moves| !**moves).count();
    assert_eq!(order.len(), 20, "{order:?}");
    // As many as there were tokens a few milliseconds before the moves.
    assert!(before <= 5, "{order:?}");
}
