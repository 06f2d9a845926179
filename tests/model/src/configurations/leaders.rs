//! Two processes: both lead, or one after the other.

use mooring_plan::cloud::Reassign;

use super::{Plot, held};
use crate::action::Befalls;
use crate::cast::{Scene, address, key};
use crate::mark::Mark;
use crate::model::Configuration;
use crate::world::events::Event;

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

/// One pod goes and another waits, while the lead goes to another process and comes back: what the first
/// knew of EC2 and of the claim is older than what the second did.
pub fn back() -> Configuration {
    let mut scene = held(Reassign::Refuse);
    let next = scene.make_pod("next", "partner", "b", None);
    scene.kube.pods.insert(next.key.clone(), next);
    Plot::new("lead-back", scene)
        .lead_goes_and_comes_back(0)
        .track([Event::PodGone(key("web"))])
        .befalls(1, [Befalls::CallTimesOut])
        .reaches([
            Mark::MoveEnded,
            Mark::LeadChanged,
            Mark::LateAssign,
            Mark::FormerLeadersCall,
        ])
        .at_rest()
}

/// The IP is deleted while a pod is on the way to the address, or has just got it: an Assign without an
/// answer is on its way while the lead goes to another process and comes back.
pub fn back_early() -> Configuration {
    let mut scene = Scene::new()
        .node("a")
        .ip("partner", address(10), Reassign::Refuse);
    let pod = scene.make_pod("web", "partner", "a", None);
    Plot::new("lead-back-early", scene)
        .lead_goes_and_comes_back(0)
        .track([Event::PodCreated(pod), Event::IpDeleted("partner".into())])
        .befalls(1, [Befalls::CallTimesOut])
        .reaches([
            Mark::IpGone,
            Mark::LeadChanged,
            Mark::LateAssign,
            Mark::FormerLeadersCall,
        ])
        .at_rest()
}
