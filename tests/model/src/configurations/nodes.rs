//! A node that dies under its pod.

use mooring_plan::cloud::Reassign;
use mooring_plan::objects::Pod;

use super::{Plot, held};
use crate::action::Befalls;
use crate::cast::{Scene, key};
use crate::mark::Mark;
use crate::model::Configuration;
use crate::world::events::Event;

/// The node falls silent, its pod is evicted and stays, another takes over elsewhere; in the end the
/// pod's object goes.
pub fn death() -> Configuration {
    let (scene, next) = dying();
    Plot::new("node-death", scene)
        .track([
            Event::Unreachable("a".into()),
            Event::PodDeleted(key("web")),
            Event::PodCreated(next),
            Event::PodGone(key("web")),
        ])
        .befalls(1, [Befalls::Crash, Befalls::TimeOut])
        .reaches([Mark::MoveEnded, Mark::CrashAfterClaim])
        .at_rest()
}

/// The machine stops, the node goes, and the machine with it, while another pod takes over.
pub fn gone() -> Configuration {
    let (mut scene, next) = dying();
    scene.kube.pods.insert(next.key.clone(), next);
    Plot::new("node-gone", scene)
        .track([
            Event::Stopped("a".into()),
            Event::NodeGone("a".into()),
            Event::PodGone(key("web")),
        ])
        .befalls(1, [Befalls::Crash, Befalls::TimeOut])
        .reaches([Mark::MoveEnded, Mark::CrashAfterClaim])
        .at_rest()
}

fn dying() -> (Scene, Pod) {
    let mut scene = held(Reassign::Refuse);
    let next = scene.make_pod("next", "partner", "b", None);
    (scene, next)
}
