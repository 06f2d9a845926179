use std::collections::BTreeSet;

use ec2_emulator::state::instance_type::InstanceType;
use ec2_emulator::state::objects::InstanceState;
use ec2_emulator::state::request::Change;

use crate::world::{ips, refused, world};

#[test]
fn a_stopped_instance_keeps_its_addresses() {
    let mut world = world();
    let (instance, interface) = world.instance(InstanceType::M5Large);
    world.assign(interface, &["203.0.113.50"]).unwrap();
    let these = BTreeSet::from([instance]);

    world
        .ec2
        .change(Change::StopInstances(these.clone()))
        .unwrap();
    assert_eq!(
        world.ec2.instance(instance).unwrap().state,
        InstanceState::Stopped
    );
    assert_eq!(world.secondary(interface), ips(&["203.0.113.50"]));

    let other = world.loose();
    refused(
        world.assign(other, &["203.0.113.50"]),
        "InvalidParameterValue",
        "move is not allowed",
    );
    world.unassign(interface, &["203.0.113.50"]).unwrap();
    world.assign(other, &["203.0.113.50"]).unwrap();

    world.ec2.change(Change::StartInstances(these)).unwrap();
    assert_eq!(
        world.ec2.instance(instance).unwrap().state,
        InstanceState::Running
    );
}

#[test]
fn interfaces_with_delete_on_termination_are_deleted_and_others_stay() {
    let mut world = world();
    let (instance, primary) = world.instance(InstanceType::M5Large);
    let second = world.loose();
    world.attach(second, instance, 1).unwrap();
    world.assign(primary, &["203.0.113.50"]).unwrap();
    world.assign(second, &["203.0.113.51"]).unwrap();

    let these = BTreeSet::from([instance]);
    world
        .ec2
        .change(Change::TerminateInstances(these.clone()))
        .unwrap();

    assert_eq!(
        world.ec2.instance(instance).unwrap().state,
        InstanceState::Terminated
    );
    assert!(
        world.ec2.interface(primary).is_err(),
        "the primary interface goes"
    );
    let left = world.ec2.interface(second).unwrap();
    assert_eq!(left.attachment, None);
    assert_eq!(left.secondary, ips(&["203.0.113.51"]));
    world.assign(second, &["203.0.113.50"]).unwrap();

    for change in [
        Change::StartInstances(these.clone()),
        Change::StopInstances(these.clone()),
    ] {
        refused(
            world.ec2.change(change),
            "IncorrectInstanceState",
            "not in a state",
        );
    }
    world.ec2.change(Change::TerminateInstances(these)).unwrap();
}

#[test]
fn a_primary_interface_can_outlive_its_instance() {
    let mut world = world();
    let (instance, primary) = world.instance_in(world.subnet, InstanceType::M5Large, false);
    world
        .ec2
        .change(Change::TerminateInstances(BTreeSet::from([instance])))
        .unwrap();
    assert_eq!(world.ec2.interface(primary).unwrap().attachment, None);
}
