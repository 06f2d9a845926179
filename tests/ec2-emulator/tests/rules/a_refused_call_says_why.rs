//! Tests every row of the table of errors: the code, the message, and that nothing changed.

use ec2_emulator::state::id::NetworkInterfaceId;
use ec2_emulator::state::instance_type::InstanceType;

use crate::world::{ip, refused, world};

const INVALID: &str = "InvalidParameterValue";

#[test]
fn an_address_on_another_interface_without_reassignment() {
    let mut world = world();
    let (a, b) = (world.loose(), world.loose());
    world.assign(a, &["203.0.113.50"]).unwrap();
    let before = world.ec2.clone();
    refused(
        world.assign(b, &["203.0.113.50"]),
        INVALID,
        "[203.0.113.50] assigned, but move is not allowed.",
    );
    assert_eq!(world.ec2, before);
}

#[test]
fn the_primary_address_of_another_interface_is_never_moved() {
    let mut world = world();
    let (a, b) = (world.loose(), world.loose());
    let primary = world.ec2.interface(a).unwrap().primary.to_string();
    let before = world.ec2.clone();
    refused(world.assign(b, &[&primary]), INVALID, "secondary-addresses");
    refused(
        world.reassign(b, &[&primary]),
        INVALID,
        "secondary-addresses",
    );
    assert_eq!(world.ec2, before);
}

#[test]
fn outside_the_subnet() {
    let mut world = world();
    let a = world.loose();
    refused(
        world.assign(a, &["203.0.114.7"]),
        INVALID,
        "does not fall within the subnet's address range",
    );
}

#[test]
fn the_first_four_and_the_last_address_of_a_subnet_are_reserved() {
    let mut world = world();
    let a = world.loose();
    for own in [
        "203.0.113.0",
        "203.0.113.1",
        "203.0.113.2",
        "203.0.113.3",
        "203.0.113.255",
    ] {
        refused(world.reassign(a, &[own]), INVALID, "reserved range");
    }
    world.assign(a, &["203.0.113.254"]).unwrap();
}

#[test]
fn the_interface_is_full() {
    let mut world = world();
    let (_, interface) = world.instance(InstanceType::T3Micro);
    world.assign(interface, &["203.0.113.50"]).unwrap();
    refused(
        world.assign(interface, &["203.0.113.51"]),
        "PrivateIpAddressLimitExceeded",
        "Number of private addresses will exceed limit.",
    );
}

#[test]
fn the_interface_does_not_exist() {
    let mut world = world();
    let gone = NetworkInterfaceId(0xdead);
    let code = "InvalidNetworkInterfaceID.NotFound";
    refused(
        world.assign(gone, &["203.0.113.50"]),
        code,
        "eni-0000000000000dead",
    );
    refused(
        world.unassign(gone, &["203.0.113.50"]),
        code,
        "eni-0000000000000dead",
    );
}

#[test]
fn an_unassign_of_an_address_that_is_not_on_the_interface() {
    let mut world = world();
    let (a, b) = (world.loose(), world.loose());
    world.assign(a, &["203.0.113.50"]).unwrap();
    refused(
        world.unassign(b, &["203.0.113.50"]),
        INVALID,
        "not assigned to interface",
    );
    refused(
        world.unassign(b, &["203.0.113.51"]),
        INVALID,
        "not assigned to interface",
    );
    assert!(world.ec2.interface(a).unwrap().has(ip("203.0.113.50")));
}

#[test]
fn an_unassign_of_a_primary_address() {
    let mut world = world();
    let a = world.loose();
    let primary = world.ec2.interface(a).unwrap().primary.to_string();
    refused(
        world.unassign(a, &[&primary]),
        INVALID,
        "is the primary address",
    );
}
