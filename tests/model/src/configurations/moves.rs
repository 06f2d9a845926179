//! An address moves from a pod to the next pod with the same name on another node.

use mooring_plan::cloud::Reassign;
use mooring_world::objects::key;

use super::{ConfigurationBuilder, EVERYTHING, held};
use crate::action::FaultKind;
use crate::milestone::Milestone;
use crate::model::Configuration;
use crate::world::events::Event;

fn builder(name: &'static str, reassign: Reassign) -> ConfigurationBuilder {
    let mut world = held(reassign);
    let next = world.make_pod("web", "partner", "b", None);
    let web = key("web");
    ConfigurationBuilder::new(name, world).track([
        Event::PodDeleted(web.clone()),
        Event::PodGone(web),
        Event::PodCreated(next),
    ])
}

/// `reassign: false`: Unassign, then Assign.
pub fn refusing() -> Configuration {
    builder("move", Reassign::Refuse)
        .fault_kinds(1, EVERYTHING)
        .milestones([
            Milestone::MoveEnded,
            Milestone::CrashAfterClaim,
            Milestone::LateAssign,
            Milestone::Cleared,
        ])
        .at_rest()
}

/// `reassign: true`: one call.
pub fn allowing() -> Configuration {
    builder("move-reassign", Reassign::Allow)
        .fault_kinds(
            2,
            [FaultKind::Crash, FaultKind::Timeout, FaultKind::Duplicate],
        )
        .milestones([
            Milestone::MoveEnded,
            Milestone::CrashAfterClaim,
            Milestone::LateAssign,
            Milestone::Cleared,
        ])
        .at_rest()
}
