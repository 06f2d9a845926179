//! Where tokens are short, the calls that help a pod go first, and blocks take turns.
//! Rule: R5.31.

use std::time::Duration;

use mooring_plan::buckets::Budget;
use mooring_plan::cloud::Reassign;
use mooring_plan::names::InterfaceId;
use mooring_plan::outcome::Action;
use mooring_world::objects::{block, interface_of};

use crate::paced::{Paced, ip, node};

/// A second for each call after the first.
const SCARCE: Budget = Budget {
    burst: 1,
    per_second: 1,
};
/// The first IP in the range of the other block.
const OTHER: usize = 0x700;

/// Each IP is attached on the node that is given for it. From now on tokens are short, and none is left for Unassign.
fn short_of_tokens(mut world: Paced, on: &[(usize, usize)]) -> Paced {
    world.pod("last", 99, 0);
    for (ip, node) in on {
        world.pod(&format!("p{ip}"), *ip, *node);
    }
    world.run(Duration::from_mins(3));
    world.engine = world.engine.clone().with_budget(SCARCE);
    world.ends("last");
    world.run(Duration::from_millis(500));
    let unassigned = world.sent.pop().map(|sent| sent.group.action());
    assert_eq!(unassigned, Some(Action::Unassign));
    world.sent.clear();
    world
}

/// The ENIs of the Unassigns, in order.
fn unassigned(world: &Paced) -> Vec<InterfaceId> {
    let sent = world.sent.iter();
    sent.filter(|sent| sent.group.action() == Action::Unassign)
        .map(|sent| sent.group.interface().clone())
        .collect()
}

fn interfaces(nodes: &[usize]) -> Vec<InterfaceId> {
    let nodes = nodes.iter();
    nodes.map(|number| interface_of(&node(*number))).collect()
}

#[test]
fn a_pod_that_waits_is_first_then_room_for_a_pod_then_the_rest() {
    let mut world = Paced::new(5, 100, Reassign::Refuse);
    // One address of ours on each ENI.
    world.cloud.limit_addresses(2);
    let on = [(1, 1), (2, 2), (3, 3)];
    let mut world = short_of_tokens(world, &on);
    world.pod("waits", 4, 2);
    world.run(Duration::from_millis(100));

    world.ends("p1");
    world.run(Duration::from_millis(50));
    world.ends("p2");
    world.run(Duration::from_millis(50));
    world.ends("p3");
    world.pod("moves", 3, 4);
    world.run(Duration::from_secs(20));

    assert_eq!(unassigned(&world), interfaces(&[3, 2, 1]));
    for number in [3, 4] {
        assert!(world.places(5)[number].is_some(), "{:?}", world.sent);
    }
}

#[test]
fn a_detach_for_which_the_next_pod_waits_precedes_those_for_which_none_does() {
    let world = Paced::new(5, 100, Reassign::Refuse);
    let mut world = short_of_tokens(world, &[(1, 1), (2, 2), (3, 3)]);
    // Its pod still runs, and gets no other address.
    world.kube.change_ip(&ip(1), None, |ip| ip.deleting = true);
    world.ends("p2");
    world.run(Duration::from_millis(50));
    world.ends("p3");
    world.run(Duration::from_millis(50));
    assert_eq!(unassigned(&world), []);
    world.pod("next", 3, 4);
    world.run(Duration::from_secs(20));

    assert_eq!(unassigned(&world), interfaces(&[3, 2, 1]));
    assert!(world.places(5)[3].is_some(), "{:?}", world.sent);
}

#[test]
fn a_block_with_many_calls_delays_another_block_by_one_call() {
    let mut world = Paced::new(7, 0, Reassign::Refuse);
    let first = block("block", "203.0.112.0/21").spec.unwrap();
    world.change_blocks(|spec| spec.range = first.range.clone());
    world.block("other", "203.0.120.0/21");
    for ip in [1, 2, 3, 4, 5, 99, OTHER] {
        world.ip(ip);
    }
    let on = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (OTHER, 6)];
    let mut world = short_of_tokens(world, &on);

    for ip in [1, 2, 3, 4, 5] {
        world.ends(&format!("p{ip}"));
        world.run(Duration::from_millis(20));
    }
    world.ends(&format!("p{OTHER}"));
    world.run(Duration::from_secs(20));

    // The last call before was one of the first block.
    assert_eq!(unassigned(&world), interfaces(&[6, 1, 2, 3, 4, 5]));
}
