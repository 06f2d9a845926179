//! The interface that has the address is detached, or deleted, while the node and its pod stay.

use mooring_plan::cloud::Reassign;
use mooring_world::objects::{instance_of, interface_of, key};

use super::rollouts::handed_over;
use super::{ConfigurationBuilder, held};
use crate::action::FaultKind;
use crate::milestone::Milestone;
use crate::model::Configuration;
use crate::world::events::Event;

/// The interface is detached, and attached again later.
pub fn detached() -> Configuration {
    let interface = interface_of("a");
    ConfigurationBuilder::new("eni-detached", held(Reassign::Refuse))
        .track([
            Event::InterfaceDetached(interface.clone()),
            Event::InterfaceAttached(interface, instance_of("a")),
        ])
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([Milestone::Drifted, Milestone::Repaired])
        .at_rest()
}

/// The interface is detached, and the next revision of the Deployment gets the address.
pub fn rolled_out() -> Configuration {
    let (world, new) = handed_over();
    ConfigurationBuilder::new("eni-rollout", world)
        .track([Event::InterfaceDetached(interface_of("a"))])
        .track([
            Event::PodCreated(new),
            Event::PodDeleted(key("old")),
            Event::PodGone(key("old")),
        ])
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([Milestone::Drifted, Milestone::MoveEnded])
        .at_rest()
}

/// The interface is deleted, and the pod is replaced by a pod on another node.
pub fn deleted() -> Configuration {
    let mut world = held(Reassign::Refuse);
    let next = world.make_pod("next", "partner", "b", None);
    ConfigurationBuilder::new("eni-deleted", world)
        .track([Event::InterfaceDeleted(interface_of("a"))])
        .track([
            Event::PodDeleted(key("web")),
            Event::PodGone(key("web")),
            Event::PodCreated(next),
        ])
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([Milestone::MoveEnded, Milestone::Cleared])
        .at_rest()
}
