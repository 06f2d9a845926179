//! A node fails while its pod holds an address.

use mooring_plan::cloud::Reassign;
use mooring_plan::objects::Pod;
use mooring_plan::outcome::Action;
use mooring_world::objects::key;

use super::rollouts::at_first;
use super::{ConfigurationBuilder, held};
use crate::action::FaultKind;
use crate::fixtures::WorldBuilder;
use crate::milestone::Milestone;
use crate::model::Configuration;
use crate::world::events::Event;

/// The node does not report any more, and its pod is evicted but its object stays. A pod on another node takes
/// over; in the end the object of the first pod is removed.
pub fn death() -> Configuration {
    let (world, next) = dying();
    ConfigurationBuilder::new("node-death", world)
        .track([
            Event::Unreachable("a".into()),
            Event::PodDeleted(key("web")),
            Event::PodCreated(next),
            Event::PodGone(key("web")),
        ])
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([Milestone::MoveEnded, Milestone::CrashAfterClaim])
        .at_rest()
}

/// The machine stops, and the node and the machine are removed, while another pod takes over.
pub fn gone() -> Configuration {
    let (mut world, next) = dying();
    world.kube.pods.insert(next.key.clone(), next);
    ConfigurationBuilder::new("node-gone", world)
        .track([
            Event::Stopped("a".into()),
            Event::NodeGone("a".into()),
            Event::PodGone(key("web")),
        ])
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([Milestone::MoveEnded, Milestone::CrashAfterClaim])
        .at_rest()
}

/// The node fails, two pods of the same workload wait, and EC2 does not permit to take the address from the first pod.
pub fn denied() -> Configuration {
    let world = at_first().pod("next", "partner", "b", Some("first"));
    let world = world.pod("other", "partner", "b", Some("first"));
    ConfigurationBuilder::new("node-denied", world)
        .prompt()
        .track([
            Event::PermissionGoes(Action::Unassign),
            Event::PermissionReturns(Action::Unassign),
        ])
        .track([
            Event::Unreachable("a".into()),
            Event::PodDeleted(key("old")),
        ])
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([Milestone::Denied, Milestone::MoveEnded])
        .at_rest()
}

fn dying() -> (WorldBuilder, Pod) {
    let mut world = held(Reassign::Refuse);
    let next = world.make_pod("next", "partner", "b", None);
    (world, next)
}
