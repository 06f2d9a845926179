//! From a pod to the one that follows it, under the same name, on another node.

use mooring_plan::cloud::Reassign;

use super::{EVERYTHING, Plot, held};
use crate::action::Befalls;
use crate::cast::{Scene, address, key};
use crate::model::Configuration;
use crate::state::Mark;
use crate::world::events::Event;

fn plot(name: &'static str, reassign: Reassign) -> Plot {
    let mut scene = held(reassign);
    let next = scene.make_pod("web", "partner", "b", None);
    let web = key("web");
    Plot::new(name, scene).track([
        Event::PodDeleted(web.clone()),
        Event::PodGone(web),
        Event::PodCreated(next),
    ])
}

/// `reassign: false`: taken off, then assigned.
pub fn refusing() -> Configuration {
    plot("move", Reassign::Refuse)
        .befalls(1, EVERYTHING)
        .reaches([
            Mark::MoveEnded,
            Mark::CrashAfterClaim,
            Mark::LateAssign,
            Mark::Cleared,
        ])
        .at_rest()
}

/// `reassign: true`: one call.
pub fn allowing() -> Configuration {
    plot("move-reassign", Reassign::Allow)
        .befalls(2, [Befalls::Crash, Befalls::TimeOut, Befalls::Twice])
        .reaches([
            Mark::MoveEnded,
            Mark::CrashAfterClaim,
            Mark::LateAssign,
            Mark::Cleared,
        ])
        .at_rest()
}

/// Two processes that both believe to lead, for as long as they like: one pod goes, another waits.
fn both_lead(name: &'static str) -> Plot {
    let mut scene = held(Reassign::Refuse);
    let next = scene.make_pod("next", "partner", "b", None);
    scene.kube.pods.insert(next.key.clone(), next);
    let plot = Plot::new(name, scene).two_leaders(0);
    plot.track([Event::PodGone(key("web"))])
        .reaches([Mark::MoveEnded, Mark::Conflict])
}

/// What they write and call is as late as it may be, and either may end; what they watch is not late.
pub fn two_leaders() -> Configuration {
    both_lead("two-leaders")
        .befalls(1, [Befalls::Crash, Befalls::TimeOut])
        .reaches([Mark::LateAssign])
        .at_rest()
}

/// What they watch is late, too.
pub fn two_lagging() -> Configuration {
    both_lead("two-lagging").two_leaders(1).at_rest()
}

/// The same from a pod that asks to a pod that has, and either may end.
pub fn two_attach() -> Configuration {
    let mut scene = Scene::new()
        .node("a")
        .ip("partner", address(10), Reassign::Refuse);
    let pod = scene.make_pod("web", "partner", "a", None);
    Plot::new("two-attach", scene)
        .two_leaders(1)
        .track([Event::PodCreated(pod)])
        .befalls(1, [Befalls::Crash, Befalls::TimeOut])
        .reaches([Mark::Conflict, Mark::LateAssign, Mark::CrashAfterClaim])
        .at_rest()
}
