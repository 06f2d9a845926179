//! EC2 denies an action in a subnet, and another process begins to lead. It knows this only from the objects, and does
//! not let all IPs try at once.
//! Rules: R5.32, R6.8.

use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::cloud::Reassign;
use mooring_plan::names::InterfaceId;
use mooring_plan::outcome::Action;
use mooring_world::objects::interface_of;

use crate::paced::{Paced, address, ip, node};

/// IPs that are attached on the first node. One more is only reserved.
const ATTACHED: usize = 4;

fn on(number: usize) -> InterfaceId {
    interface_of(&node(number))
}

fn all_on(number: usize) -> [Option<InterfaceId>; ATTACHED] {
    std::array::from_fn(|_| Some(on(number)))
}

/// The first IPs are attached on the first node, each to a pod of its own Deployment.
fn attached() -> Paced {
    let mut world = Paced::new(2, ATTACHED + 1, Reassign::Refuse);
    for number in 0..ATTACHED {
        revision(&mut world, number, 0, 1);
    }
    world.run(Duration::from_secs(20));
    assert_eq!(world.attached(ATTACHED), ATTACHED);
    world
}

/// A ready pod of this revision of the Deployment of this IP.
fn revision(world: &mut Paced, number: usize, on: usize, revision: u64) {
    let pod = format!("pod-{number}-{revision}");
    world.revision(&pod, number, on, &format!("dep-{number}"), revision);
}

/// EC2 denies Assign, which a pod that waits for an attach has shown. The next revision of each Deployment is ready, and
/// the pod that waits is gone if `alone`.
fn rollouts_without_assign(alone: bool) -> Paced {
    let mut world = attached();
    world.denies = |group| group.action() == Action::Assign;
    world.pod("waits", ATTACHED, 1);
    world.run(Duration::from_secs(5));
    for number in 0..ATTACHED {
        revision(&mut world, number, 1, 2);
    }
    world.run(Duration::from_secs(10));
    if alone {
        world.ends("waits");
        world.run(Duration::from_secs(10));
    }
    assert_eq!(world.places(ATTACHED), all_on(0));
    world
}

fn elsewhere(world: &Paced) -> usize {
    let places = world.places(ATTACHED).into_iter();
    places.filter(|place| *place != Some(on(0))).count()
}

#[test]
fn a_new_leader_lets_one_rollout_try_to_assign() {
    for alone in [true, false] {
        let mut world = rollouts_without_assign(alone);
        world.begins();
        world.run(Duration::from_secs(30));
        assert!(elsewhere(&world) <= 1, "{:?}", world.places(ATTACHED));
        world.denies = |_| false;
        world.run(Duration::from_secs(5));
        assert_eq!(world.places(ATTACHED), all_on(1));
    }
}

/// The first call of a move is denied now: no Assign is tried, so no rollout waits for one.
#[test]
fn a_new_leader_that_may_not_unassign_waits_for_nothing_else() {
    let mut world = rollouts_without_assign(true);
    world.denies = |_| true;
    world.begins();
    world.run(Duration::from_secs(30));
    assert_eq!(world.places(ATTACHED), all_on(0));
    world.denies = |_| false;
    // Those that have tried wait for a minute.
    world.run(Duration::from_secs(70));
    assert_eq!(world.places(ATTACHED), all_on(1));
}

fn edit(world: &mut Paced, number: usize, to: Address) {
    world.kube.change_ip(&ip(number), None, |ip| {
        ip.desired.as_mut().unwrap().address = Some(to);
    });
    world.watches_show();
}

/// The claim of an edit cannot go back: its pod is not ready until EC2 permits both calls.
#[test]
fn a_new_leader_lets_one_edit_try_to_unassign() {
    let mut world = attached();
    world.denies = |group| group.action() == Action::Unassign;
    revision(&mut world, 0, 1, 2);
    world.run(Duration::from_secs(5));
    world.ends("pod-0-2");
    for number in 1..ATTACHED {
        edit(&mut world, number, address(100 + number));
    }
    world.run(Duration::from_secs(20));
    assert_eq!(world.attached(ATTACHED), ATTACHED);
    world.begins();
    world.run(Duration::from_secs(30));
    assert!(world.attached(ATTACHED) >= ATTACHED - 1);
    world.denies = |_| false;
    world.run(Duration::from_secs(10));
    for number in 1..ATTACHED {
        assert_eq!(world.cloud.holder_of(address(100 + number)), Some(on(0)));
    }
}
