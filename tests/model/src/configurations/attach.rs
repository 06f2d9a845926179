//! From a pod that asks to a pod that has.

use mooring_plan::cloud::Reassign;

use super::Plot;
use crate::action::Befalls;
use crate::cast::{Scene, address};
use crate::mark::Mark;
use crate::model::Configuration;
use crate::world::events::Event;

/// From nothing: finalizer, reservation, claim, Assign, Record, gate.
pub fn attach() -> Configuration {
    let mut scene = Scene::new()
        .node("a")
        .ip("partner", address(10), Reassign::Refuse);
    let pod = scene.make_pod("web", "partner", "a", None);
    Plot::new("attach", scene)
        .track([Event::PodCreated(pod)])
        .befalls(2, [Befalls::Crash, Befalls::TimeOut, Befalls::Twice])
        .reaches([Mark::CrashAfterClaim, Mark::LateAssign])
        .unprepared()
}
