//! A Deployment's next revision: handed over, undone, or broken from the start.

use mooring_plan::cloud::Reassign;
use mooring_plan::objects::{Controller, Pod};

use super::{EVERYTHING, Plot};
use crate::action::Befalls;
use crate::cast::{Scene, address, key};
use crate::mark::Mark;
use crate::model::Configuration;
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

/// The new pod becomes ready, the old one goes.
pub fn rollout() -> Configuration {
    let mut scene = scene();
    let new = scene.make_pod("new", "partner", "b", Some("second"));
    Plot::new("rollout", scene)
        .track([
            Event::PodCreated(new),
            Event::PodReady(key("new")),
            Event::PodDeleted(key("old")),
            Event::PodGone(key("old")),
        ])
        .befalls(1, [Befalls::Crash, Befalls::TimeOut, Befalls::Twice])
        .reaches([Mark::Handover, Mark::MoveEnded, Mark::CrashAfterClaim])
        .at_rest()
}

/// Somebody fills the new node's interface when the new pod is ready: the address stays, or goes back.
pub fn full() -> Configuration {
    let (scene, new) = handed_over();
    let interface = scene.interface_of("b");
    Plot::new("rollout-full", scene)
        .track([Event::PodCreated(new)])
        .track([Event::PutByHand(address(99), interface)])
        .befalls(1, [Befalls::Crash, Befalls::TimeOut])
        .reaches([Mark::Handover, Mark::ClaimWentBack, Mark::CrashAfterClaim])
        .at_rest()
}

fn handed_over() -> (Scene, Pod) {
    let mut scene = scene();
    let mut new = scene.make_pod("new", "partner", "b", Some("second"));
    new.containers_ready = true;
    new.containers_running = true;
    (scene, new)
}

/// The new pod is ready and gets it, and the old revision becomes the newest.
pub fn undone() -> Configuration {
    let (scene, new) = handed_over();
    Plot::new("rollout-undone", scene)
        .track([
            Event::PodCreated(new),
            Event::Revised("first".to_owned(), 3, 1),
            Event::PodDeleted(key("new")),
            Event::PodGone(key("new")),
        ])
        .befalls(1, [Befalls::Crash, Befalls::TimeOut])
        .reaches([Mark::Handover, Mark::MoveEnded])
        .at_rest()
}

/// The new pod is ready, and its node falls silent while it is to get the address.
pub fn lost() -> Configuration {
    let (scene, new) = handed_over();
    Plot::new("rollout-lost", scene)
        .track([
            Event::PodCreated(new),
            Event::Unreachable("b".into()),
            Event::PodDeleted(key("new")),
        ])
        .befalls(1, [Befalls::Crash, Befalls::TimeOut])
        .reaches([Mark::Handover])
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

/// A pod of another workload has waited for longer than the old one's successor.
pub fn rival() -> Configuration {
    let mut scene = scene().node("c");
    let mut rival = scene.make_pod("rival", "partner", "b", None);
    rival.controller = Some(Controller::Other("rival".into()));
    let next = scene.make_pod("next", "partner", "c", Some("first"));
    scene.kube.pods.insert(rival.key.clone(), rival);
    Plot::new("rollout-rival", scene)
        .track([
            Event::PodDeleted(key("old")),
            Event::PodCreated(next),
            Event::PodGone(key("old")),
        ])
        .befalls(1, EVERYTHING)
        .reaches([Mark::MoveEnded])
        .at_rest()
}
