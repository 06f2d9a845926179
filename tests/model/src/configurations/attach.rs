//! A pod asks for an address and gets it.

use mooring_plan::cloud::Reassign;

use super::ConfigurationBuilder;
use crate::action::FaultKind;
use crate::fixtures::{WorldBuilder, address};
use crate::milestone::Milestone;
use crate::model::Configuration;
use crate::world::events::Event;

/// All steps: finalizer, reservation, claim, Assign, Record, gate.
pub fn attach() -> Configuration {
    let mut world = WorldBuilder::new()
        .node("a")
        .ip("partner", address(10), Reassign::Refuse);
    let pod = world.make_pod("web", "partner", "a", None);
    ConfigurationBuilder::new("attach", world)
        .track([Event::PodCreated(pod)])
        .fault_kinds(
            2,
            [FaultKind::Crash, FaultKind::Timeout, FaultKind::Duplicate],
        )
        .milestones([Milestone::CrashAfterClaim, Milestone::LateAssign])
        .unprepared()
}
