//! An address is edited, deleted, or asked for by two IPs.

use mooring_plan::cloud::Reassign;
use mooring_world::objects::key;

use super::{ConfigurationBuilder, EVERYTHING, held, unheld};
use crate::action::FaultKind;
use crate::fixtures::{WorldBuilder, address};
use crate::milestone::Milestone;
use crate::model::Configuration;
use crate::world::events::Event;

/// `spec.address` is edited while the pod has the address, first to an address on a foreign interface.
pub fn edit() -> Configuration {
    let (world, _) = held(Reassign::Refuse).foreign(Some(address(66)));
    ConfigurationBuilder::new("edit", world)
        .track([
            Event::Edited("partner".into(), address(66)),
            Event::Edited("partner".into(), address(20)),
        ])
        .fault_kinds(1, EVERYTHING)
        .milestones([Milestone::Edited])
        .at_rest()
}

/// The IP is deleted while one pod has the address and another pod waits; then an IP with the same name is created.
pub fn delete() -> Configuration {
    let mut world = held(Reassign::Refuse);
    let late = world.make_pod("late", "partner", "b", None);
    world.kube.pods.insert(late.key.clone(), late);
    let again = world.make_ip("partner", address(10), Reassign::Refuse);
    ConfigurationBuilder::new("delete", world)
        .track([Event::IpDeleted("partner".into()), Event::IpCreated(again)])
        .track([Event::PodGone(key("web"))])
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([Milestone::IpGone, Milestone::Cleared, Milestone::MoveEnded])
        .at_rest()
}

/// Two IPs ask for one address, a pod asks for the second IP, and the first IP is deleted.
pub fn two_ips() -> Configuration {
    let mut world = WorldBuilder::new()
        .node("b")
        .ip("one", address(10), Reassign::Allow)
        .ip("two", address(10), Reassign::Allow);
    let two = world.make_pod("two", "two", "b", None);
    world.kube.pods.insert(two.key.clone(), two);
    ConfigurationBuilder::new("two-ips", world)
        .track([Event::IpDeleted("one".into())])
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([Milestone::IpGone, Milestone::CrashAfterClaim])
        .at_rest()
}

/// The IP that has the only address of its block is deleted, and another IP asks for any address of the block.
pub fn allocate() -> Configuration {
    let mut world = WorldBuilder::new()
        .range("203.0.113.10/32")
        .ip_of_block("one");
    let two = world.make_ip_of_block("two");
    ConfigurationBuilder::new("allocate", world)
        .track([Event::IpDeleted("one".into()), Event::IpCreated(two)])
        .fault_kinds(1, [FaultKind::Timeout])
        .milestones([Milestone::IpGone])
        .at_rest()
}

/// The IP is deleted while a pod is getting the address, or has just got it.
pub fn delete_early() -> Configuration {
    let (world, pod) = unheld();
    ConfigurationBuilder::new("delete-early", world)
        .track([Event::PodCreated(pod), Event::IpDeleted("partner".into())])
        .fault_kinds(
            1,
            [
                FaultKind::Crash,
                FaultKind::Timeout,
                FaultKind::OldInventory,
            ],
        )
        .milestones([Milestone::IpGone, Milestone::Cleared, Milestone::LateAssign])
        .at_rest()
}

/// The address is edited while a pod is getting it, or has just got it.
pub fn edit_early() -> Configuration {
    let (world, pod) = unheld();
    ConfigurationBuilder::new("edit-early", world)
        .track([
            Event::PodCreated(pod),
            Event::Edited("partner".into(), address(20)),
        ])
        .fault_kinds(1, [FaultKind::Crash, FaultKind::Timeout])
        .milestones([Milestone::LateAssign, Milestone::Edited])
        .at_rest()
}
