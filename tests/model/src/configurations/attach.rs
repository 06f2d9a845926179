//! A pod asks for an address and gets it.

use super::{ConfigurationBuilder, unheld};
use crate::action::FaultKind;
use crate::milestone::Milestone;
use crate::model::Configuration;
use crate::world::events::Event;

/// All steps: finalizer, reservation, claim, Assign, Record, gate.
pub fn attach() -> Configuration {
    let (world, pod) = unheld();
    ConfigurationBuilder::new("attach", world)
        .track([Event::PodCreated(pod)])
        .fault_kinds(
            2,
            [FaultKind::Crash, FaultKind::Timeout, FaultKind::Duplicate],
        )
        .milestones([Milestone::CrashAfterClaim, Milestone::LateAssign])
        .unprepared()
}
