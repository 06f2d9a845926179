//! A block that asks for the node part: pods are ready when their node has programmed the address.

use mooring_plan::cloud::Reassign;
use mooring_plan::objects::DataPath;
use mooring_world::objects::key;

use super::{ConfigurationBuilder, held};
use crate::action::FaultKind;
use crate::fixtures::{WorldBuilder, address};
use crate::milestone::Milestone;
use crate::model::Configuration;
use crate::world::events::Event;

/// The block asks for the node part, and every node has one.
fn world() -> WorldBuilder {
    let mut world = held(Reassign::Refuse);
    for block in world.kube.blocks.values_mut() {
        if let Ok(spec) = &mut block.spec {
            spec.data_path = DataPath::NodePart;
        }
    }
    let nodes: Vec<_> = world.kube.nodes.keys().cloned().collect();
    for node in nodes {
        world.kube.start_node_part(&node);
    }
    world
}

/// The address moves to a pod on the other node.
pub fn moved() -> Configuration {
    let mut world = world();
    let next = world.make_pod("next", "partner", "b", None);
    ConfigurationBuilder::new("programmed-move", world)
        .track([
            Event::PodCreated(next),
            Event::PodDeleted(key("web")),
            Event::PodGone(key("web")),
        ])
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([Milestone::MoveEnded, Milestone::CrashAfterClaim])
        .at_rest()
}

/// The address is edited, and edited back: the same pod, interface and address under another claim.
pub fn edited() -> Configuration {
    ConfigurationBuilder::new("programmed-edit", world())
        .track([
            Event::Edited("partner".into(), address(11)),
            Event::Edited("partner".into(), address(10)),
        ])
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([Milestone::Edited])
        .at_rest()
}

/// Two processes both lead, and their watches lag: one has not received events that the other has. The pod waits until
/// its node part programs again.
pub fn two_leaders() -> Configuration {
    let mut world = world();
    world.kube.pause_node_part(&"a".into(), true);
    ConfigurationBuilder::new("programmed-two", world)
        .two_leaders(1)
        .track([Event::NodePartGoesOn("a".into())])
        .milestones([Milestone::Conflict])
        .at_rest()
}
