//! An address that is edited, deleted, or wished by two.

use mooring_plan::cloud::Reassign;

use super::{EVERYTHING, Plot, held};
use crate::action::Befalls;
use crate::cast::{Scene, address, key};
use crate::mark::Mark;
use crate::model::Configuration;
use crate::world::events::Event;

/// `spec.address` is edited while the pod has it, first to one that somebody else has on an interface.
pub fn edit() -> Configuration {
    let (scene, _) = held(Reassign::Refuse).foreign(Some(address(66)));
    Plot::new("edit", scene)
        .track([
            Event::Edited("partner".into(), address(66)),
            Event::Edited("partner".into(), address(20)),
        ])
        .befalls(1, EVERYTHING)
        .reaches([Mark::Edited])
        .at_rest()
}

/// The IP is deleted while a pod has the address and another waits; then one of its name is made anew.
pub fn delete() -> Configuration {
    let mut scene = held(Reassign::Refuse);
    let late = scene.make_pod("late", "partner", "b", None);
    scene.kube.pods.insert(late.key.clone(), late);
    let again = scene.make_ip("partner", address(10), Reassign::Refuse);
    Plot::new("delete", scene)
        .track([Event::IpDeleted("partner".into()), Event::IpCreated(again)])
        .track([Event::PodGone(key("web"))])
        .befalls(1, [Befalls::Crash, Befalls::TimeOut])
        .reaches([Mark::IpGone, Mark::Cleared, Mark::MoveEnded])
        .at_rest()
}

/// Two IPs wish one address, a pod asks for the second, and the first is deleted.
pub fn two_ips() -> Configuration {
    let mut scene = Scene::new()
        .node("b")
        .ip("one", address(10), Reassign::Allow)
        .ip("two", address(10), Reassign::Allow);
    let two = scene.make_pod("two", "two", "b", None);
    scene.kube.pods.insert(two.key.clone(), two);
    Plot::new("two-ips", scene)
        .track([Event::IpDeleted("one".into())])
        .befalls(1, [Befalls::Crash, Befalls::TimeOut])
        .reaches([Mark::IpGone, Mark::CrashAfterClaim])
        .at_rest()
}

/// The IP is deleted while a pod is on the way to the address, or has just got it.
pub fn delete_early() -> Configuration {
    let mut scene = Scene::new()
        .node("a")
        .ip("partner", address(10), Reassign::Refuse);
    let pod = scene.make_pod("web", "partner", "a", None);
    Plot::new("delete-early", scene)
        .track([Event::PodCreated(pod), Event::IpDeleted("partner".into())])
        .befalls(1, [Befalls::Crash, Befalls::TimeOut, Befalls::LookBack])
        .reaches([Mark::IpGone, Mark::Cleared, Mark::LateAssign])
        .at_rest()
}

/// The address is edited while a pod is on the way to it, or has just got it.
pub fn edit_early() -> Configuration {
    let mut scene = Scene::new()
        .node("a")
        .ip("partner", address(10), Reassign::Refuse);
    let pod = scene.make_pod("web", "partner", "a", None);
    Plot::new("edit-early", scene)
        .track([
            Event::PodCreated(pod),
            Event::Edited("partner".into(), address(20)),
        ])
        .befalls(1, [Befalls::Crash, Befalls::TimeOut])
        .reaches([Mark::LateAssign, Mark::Edited])
        .at_rest()
}
