//! Two IPs whose calls can go in one request: each request can have one address or both.
//! Rules: R5.28, R5.30.

use mooring_plan::cloud::Reassign;
use mooring_world::objects::key;

use super::ConfigurationBuilder;
use crate::action::FaultKind;
use crate::fixtures::{WorldBuilder, address};
use crate::milestone::Milestone;
use crate::model::Configuration;
use crate::world::events::Event;

fn two_ips() -> WorldBuilder {
    WorldBuilder::new()
        .room(2)
        .node("a")
        .ip("one", address(10), Reassign::Refuse)
        .ip("two", address(11), Reassign::Refuse)
}

/// Two pods get their addresses on one interface, while a person puts one of the addresses on another one.
pub fn attach() -> Configuration {
    let (mut world, foreign) = two_ips().foreign(None);
    let one = world.make_pod("one", "one", "a", None);
    let two = world.make_pod("two", "two", "a", None);
    ConfigurationBuilder::new("together-attach", world)
        .prompt()
        .track([Event::PodCreated(one), Event::PodCreated(two)])
        .track([Event::PutManually(address(11), foreign)])
        .fault_kinds(
            1,
            [
                FaultKind::Crash,
                FaultKind::CallTimeout,
                FaultKind::Duplicate,
            ],
        )
        .milestones([
            Milestone::Together,
            Milestone::RefusedTogether,
            Milestone::LateAssign,
        ])
        .at_rest()
}

/// Two pods that have addresses on one interface are removed, and one of the IPs is deleted.
pub fn detach() -> Configuration {
    let world = two_ips()
        .pod("one", "one", "a", None)
        .pod("two", "two", "a", None);
    ConfigurationBuilder::new("together-detach", world)
        .prompt()
        .track([
            Event::PodGone(key("one")),
            Event::PodGone(key("two")),
            Event::IpDeleted("two".into()),
        ])
        .fault_kinds(1, [FaultKind::CallTimeout, FaultKind::Duplicate])
        .milestones([
            Milestone::Together,
            Milestone::RefusedTogether,
            Milestone::Cleared,
            Milestone::IpGone,
        ])
        .at_rest()
}
