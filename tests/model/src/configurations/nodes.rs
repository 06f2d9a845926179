//! A node that dies under its pod.

use mooring_plan::cloud::Reassign;

use super::Plot;
use crate::action::Befalls;
use crate::cast::{Scene, address, key};
use crate::model::Configuration;
use crate::state::Mark;
use crate::world::events::Event;

/// The node falls silent, its pod is evicted and stays, another takes over elsewhere; in the end the
/// node goes, and its machine with it.
pub fn death() -> Configuration {
    let mut scene = Scene::new()
        .node("a")
        .node("b")
        .ip("partner", address(10), Reassign::Refuse)
        .pod("web", "partner", "a", None);
    let next = scene.make_pod("next", "partner", "b", None);
    Plot::new("node-death", scene)
        .track([
            Event::Unreachable("a".into()),
            Event::PodDeleted(key("web")),
            Event::PodCreated(next),
            Event::PodGone(key("web")),
        ])
        .track([Event::Stopped("a".into()), Event::NodeGone("a".into())])
        .befalls(1, [Befalls::Crash, Befalls::TimeOut])
        .reaches([Mark::MoveEnded, Mark::CrashAfterClaim])
        .at_rest()
}
