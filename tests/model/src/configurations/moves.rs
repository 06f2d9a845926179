//! From a pod to the one that follows it, under the same name, on another node.

use mooring_plan::cloud::Reassign;

use super::{EVERYTHING, Plot, held};
use crate::action::Befalls;
use crate::cast::key;
use crate::mark::Mark;
use crate::model::Configuration;
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
