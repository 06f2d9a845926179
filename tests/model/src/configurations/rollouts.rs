//! The next revision of a Deployment: handed over, undone, or broken from the start.

use mooring_plan::cloud::Reassign;
use mooring_plan::objects::{Controller, Pod};
use mooring_plan::outcome::Action;
use mooring_world::objects::{interface_of, key};

use super::{ConfigurationBuilder, EVERYTHING};
use crate::action::FaultKind;
use crate::fixtures::{WorldBuilder, address};
use crate::milestone::Milestone;
use crate::model::Configuration;
use crate::world::events::Event;

/// A Deployment with two revisions, and a pod of the first.
pub(super) fn at_first() -> WorldBuilder {
    WorldBuilder::new()
        .node("a")
        .node("b")
        .ip("partner", address(10), Reassign::Refuse)
        .set("first", 1, 1)
        .set("second", 2, 1)
        .pod("old", "partner", "a", Some("first"))
}

/// The new pod becomes ready, and the old pod is removed.
pub fn rollout() -> Configuration {
    let mut world = at_first();
    let new = world.make_pod("new", "partner", "b", Some("second"));
    ConfigurationBuilder::new("rollout", world)
        .track([
            Event::PodCreated(new),
            Event::PodReady(key("new")),
            Event::PodDeleted(key("old")),
            Event::PodGone(key("old")),
        ])
        .fault_kinds(
            1,
            [FaultKind::Crash, FaultKind::Timeout, FaultKind::Duplicate],
        )
        .milestones([
            Milestone::Handover,
            Milestone::MoveEnded,
            Milestone::CrashAfterClaim,
        ])
        .at_rest()
}

/// The interface of the new node becomes full when the new pod is ready: the address stays, or goes back.
pub fn full() -> Configuration {
    let (world, new) = handed_over();
    let interface = interface_of("b");
    ConfigurationBuilder::new("rollout-full", world)
        .track([Event::PodCreated(new)])
        .track([Event::PutManually(address(99), interface)])
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([
            Milestone::Handover,
            Milestone::ClaimWentBack,
            Milestone::CrashAfterClaim,
        ])
        .at_rest()
}

/// A Deployment whose next pod is ready to take the address over, and that pod.
pub(super) fn handed_over() -> (WorldBuilder, Pod) {
    let mut world = at_first();
    let mut new = world.make_pod("new", "partner", "b", Some("second"));
    new.containers_ready = true;
    new.containers_running = true;
    (world, new)
}

/// The new pod is ready and gets the address; then the old revision becomes the newest.
pub fn undone() -> Configuration {
    let (world, new) = handed_over();
    ConfigurationBuilder::new("rollout-undone", world)
        .track([
            Event::PodCreated(new),
            Event::Revised("first".to_owned(), 3, 1),
            Event::PodDeleted(key("new")),
            Event::PodGone(key("new")),
        ])
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([Milestone::Handover, Milestone::MoveEnded])
        .at_rest()
}

/// The new pod is ready, and its node stops reporting before the pod has the address.
pub fn lost() -> Configuration {
    let (world, new) = handed_over();
    ConfigurationBuilder::new("rollout-lost", world)
        .track([
            Event::PodCreated(new),
            Event::Unreachable("b".into()),
            Event::PodDeleted(key("new")),
        ])
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([Milestone::Handover])
        .at_rest()
}

/// The new pod never becomes ready, and the old pod is replaced by a pod of the old revision.
pub fn broken() -> Configuration {
    let mut world = at_first().node("c");
    let new = world.make_pod("new", "partner", "b", Some("second"));
    let next = world.make_pod("next", "partner", "c", Some("first"));
    world.kube.pods.insert(new.key.clone(), new);
    ConfigurationBuilder::new("rollout-broken", world)
        .track([
            Event::PodDeleted(key("old")),
            Event::PodGone(key("old")),
            Event::PodCreated(next),
        ])
        .fault_kinds(1, EVERYTHING)
        .milestones([Milestone::MoveEnded, Milestone::Cleared])
        .at_rest()
}

/// A pod of another workload has waited longer than the successor of the old pod.
pub fn rival() -> Configuration {
    let mut world = at_first().node("c");
    let mut rival = world.make_pod("rival", "partner", "b", None);
    rival.controller = Some(Controller::Other("rival".into()));
    let next = world.make_pod("next", "partner", "c", Some("first"));
    world.kube.pods.insert(rival.key.clone(), rival);
    ConfigurationBuilder::new("rollout-rival", world)
        .track([
            Event::PodDeleted(key("old")),
            Event::PodCreated(next),
            Event::PodGone(key("old")),
        ])
        .fault_kinds(1, EVERYTHING)
        .milestones([Milestone::MoveEnded])
        .at_rest()
}

/// Two pods of the next revision are ready, and EC2 does not permit to take the address from the old pod.
pub fn denied() -> Configuration {
    let (world, new) = handed_over();
    let mut world = world.node("c").set("second", 2, 2);
    let other = Pod {
        containers_ready: true,
        containers_running: true,
        ..world.make_pod("other", "partner", "c", Some("second"))
    };
    ConfigurationBuilder::new("rollout-denied", world)
        .prompt()
        .track([
            Event::PermissionGoes(Action::Unassign),
            Event::PermissionReturns(Action::Unassign),
        ])
        .track([Event::PodCreated(new), Event::PodCreated(other)])
        .milestones([
            Milestone::Denied,
            Milestone::ClaimWentBack,
            Milestone::MoveEnded,
        ])
        .at_rest()
}

/// EC2 does not permit to assign, and a pod of another IP waits for that. The next revision becomes ready: its address
/// would be nowhere.
pub fn assign_denied() -> Configuration {
    let (world, new) = handed_over();
    let mut world = world.ip("other", address(11), Reassign::Refuse);
    let waits = world.make_pod("waits", "other", "a", None);
    ConfigurationBuilder::new("rollout-assign-denied", world)
        .prompt()
        .track([
            Event::PermissionGoes(Action::Assign),
            Event::PodCreated(waits),
            Event::PermissionReturns(Action::Assign),
        ])
        .track([Event::PodCreated(new)])
        .milestones([Milestone::Denied, Milestone::MoveEnded])
        .at_rest()
}
