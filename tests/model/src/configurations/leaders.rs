//! Two processes: both lead, or one leads after the other.

use mooring_plan::cloud::Reassign;
use mooring_world::objects::key;

use super::{ConfigurationBuilder, held, unheld};
use crate::action::FaultKind;
use crate::milestone::Milestone;
use crate::model::Configuration;
use crate::world::events::Event;

/// Two processes that both lead without a time limit: one pod is removed, another waits.
fn both_lead(name: &'static str) -> ConfigurationBuilder {
    let mut world = held(Reassign::Refuse);
    let next = world.make_pod("next", "partner", "b", None);
    world.kube.pods.insert(next.key.clone(), next);
    let builder = ConfigurationBuilder::new(name, world).two_leaders(0);
    builder
        .track([Event::PodGone(key("web"))])
        .milestones([Milestone::MoveEnded, Milestone::Conflict])
}

/// Their requests can be late, and each process can crash. Their watches have no delay.
pub fn two_leaders() -> Configuration {
    both_lead("two-leaders")
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([Milestone::LateAssign])
        .at_rest()
}

/// Their watches have a delay.
pub fn two_lagging() -> Configuration {
    both_lead("two-lagging").two_leaders(1).at_rest()
}

/// The same while a pod gets the address, and each process can crash.
pub fn two_attach() -> Configuration {
    let (world, pod) = unheld();
    ConfigurationBuilder::new("two-attach", world)
        .two_leaders(1)
        .track([Event::PodCreated(pod)])
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([
            Milestone::Conflict,
            Milestone::LateAssign,
            Milestone::CrashAfterClaim,
        ])
        .at_rest()
}

/// The IP is deleted soon after a pod got the address, while both lead: an Assign of the process whose watches lag can
/// land after the claim has ended.
pub fn two_delete() -> Configuration {
    let (world, pod) = unheld();
    ConfigurationBuilder::new("two-delete", world)
        .two_leaders(0)
        .track([Event::PodCreated(pod), Event::IpDeleted("partner".into())])
        .milestones([Milestone::IpGone, Milestone::Conflict])
        .at_rest()
}

/// One pod is removed and another waits, while another process leads and then the first leads again. The facts of
/// the first about EC2 and the claim are then older than the calls and writes of the second.
pub fn back() -> Configuration {
    let mut world = held(Reassign::Refuse);
    let next = world.make_pod("next", "partner", "b", None);
    world.kube.pods.insert(next.key.clone(), next);
    ConfigurationBuilder::new("lead-back", world)
        .leadership_moves_and_returns(0)
        .track([Event::PodGone(key("web"))])
        .fault_kinds(1, [FaultKind::CallTimeout])
        .milestones([
            Milestone::MoveEnded,
            Milestone::LeadChanged,
            Milestone::LateAssign,
            Milestone::FormerLeadersCall,
        ])
        .at_rest()
}

/// The IP is deleted while a pod is getting the address, or has just got it. An Assign without an answer is in
/// progress while another process leads and then the first leads again.
pub fn back_early() -> Configuration {
    let (world, pod) = unheld();
    ConfigurationBuilder::new("lead-back-early", world)
        .leadership_moves_and_returns(0)
        .track([Event::PodCreated(pod), Event::IpDeleted("partner".into())])
        .fault_kinds(1, [FaultKind::CallTimeout])
        .milestones([
            Milestone::IpGone,
            Milestone::LeadChanged,
            Milestone::LateAssign,
            Milestone::FormerLeadersCall,
        ])
        .at_rest()
}

/// A pod gets the address and is removed, and the next pod on that node gets it, while another process leads and then
/// the first leads again. The own write that the first process remembers belongs to the former pod.
pub fn back_again() -> Configuration {
    let (mut world, pod) = unheld();
    let next = world.make_pod("next", "partner", "a", None);
    ConfigurationBuilder::new("lead-back-again", world)
        .leadership_moves_and_returns(0)
        .track([
            Event::PodCreated(pod),
            Event::PodGone(key("web")),
            Event::PodCreated(next),
        ])
        .milestones([Milestone::Cleared, Milestone::LeadChanged])
        .at_rest()
}
