//! A Deployment's next revision: handed over, undone, or broken from the start.

use mooring_plan::cloud::Reassign;

use super::{EVERYTHING, Plot};
use crate::action::Befalls;
use crate::cast::{Scene, address, key};
use crate::model::Configuration;
use crate::state::Mark;
use crate::world::events::Event;

fn scene() -> Scene {
    Scene::new()
        .node("a")
        .node("b")
        .ip("partner", address(10), Reassign::Refuse)
        .set("first", 1, 1)
        .set("second", 2, 1)
        .pod("old", "partner", "a", Some("first"))
}

/// The new pod becomes ready, the old one goes. Somebody may fill the new node's interface meanwhile.
pub fn rollout() -> Configuration {
    let mut scene = scene();
    let new = scene.make_pod("new", "partner", "b", Some("second"));
    let interface = scene.interface_of("b");
    Plot::new("rollout", scene)
        .track([
            Event::PodCreated(new),
            Event::PodReady(key("new")),
            Event::PodDeleted(key("old")),
            Event::PodGone(key("old")),
        ])
        .track([Event::PutByHand(address(99), interface)])
        .befalls(1, [Befalls::Crash, Befalls::TimeOut])
        .reaches([
            Mark::Handover,
            Mark::MoveEnded,
            Mark::ClaimWentBack,
            Mark::CrashAfterClaim,
        ])
        .at_rest()
}

/// The new pod becomes ready, and the old revision becomes the newest. The new pod's node may die.
pub fn undone() -> Configuration {
    let mut scene = scene();
    let new = scene.make_pod("new", "partner", "b", Some("second"));
    Plot::new("rollout-undone", scene)
        .track([
            Event::PodCreated(new),
            Event::PodReady(key("new")),
            Event::Revised("first".to_owned(), 3, 1),
            Event::PodDeleted(key("new")),
            Event::PodGone(key("new")),
        ])
        .track([Event::Unreachable("b".into())])
        .befalls(1, [Befalls::Crash, Befalls::TimeOut])
        .reaches([Mark::Handover, Mark::MoveEnded])
        .at_rest()
}

/// The new pod never becomes ready, and the old one is replaced by one of its own revision.
pub fn broken() -> Configuration {
    let mut scene = scene().node("c");
    let new = scene.make_pod("new", "partner", "b", Some("second"));
    let next = scene.make_pod("next", "partner", "c", Some("first"));
    scene.kube.pods.insert(new.key.clone(), new);
    Plot::new("rollout-broken", scene)
        .track([
            Event::PodDeleted(key("old")),
            Event::PodGone(key("old")),
            Event::PodCreated(next),
        ])
        .befalls(1, EVERYTHING)
        .reaches([Mark::MoveEnded, Mark::Cleared])
        .at_rest()
}
