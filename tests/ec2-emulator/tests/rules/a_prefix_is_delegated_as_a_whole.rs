use std::collections::BTreeSet;

use ec2_emulator::state::error::Ec2Error;
use ec2_emulator::state::id::NetworkInterfaceId;
use ec2_emulator::state::instance_type::InstanceType;
use ec2_emulator::state::request::{Change, Changed, Wanted};
use ipnet::Ipv4Net;

use crate::world::{World, refused, world};

const IN_USE: &str = "InvalidIPAddress.InUse";
const INVALID: &str = "InvalidParameterValue";

fn set(prefix: &str) -> BTreeSet<Ipv4Net> {
    BTreeSet::from([prefix.parse().unwrap()])
}

fn delegate(
    world: &mut World,
    interface: NetworkInterfaceId,
    prefix: &str,
) -> Result<Changed, Ec2Error> {
    world.ec2.change(Change::AssignPrivateIpAddresses {
        interface,
        wanted: Wanted::Prefixes(set(prefix)),
        allow_reassignment: false,
    })
}

fn take_off(
    world: &mut World,
    interface: NetworkInterfaceId,
    prefix: &str,
) -> Result<Changed, Ec2Error> {
    world.ec2.change(Change::UnassignPrefixes {
        interface,
        prefixes: set(prefix),
    })
}

#[test]
fn no_address_of_a_prefix_can_be_assigned_until_its_removal() {
    let mut world = world();
    let (mine, other) = (world.loose(), world.loose());
    delegate(&mut world, mine, "203.0.113.32/28").unwrap();
    delegate(&mut world, mine, "203.0.113.32/28").unwrap();
    for interface in [mine, other] {
        for address in ["203.0.113.32", "203.0.113.47"] {
            refused(world.assign(interface, &[address]), IN_USE, address);
            refused(world.reassign(interface, &[address]), IN_USE, address);
        }
    }
    let primary = world.loose_in(world.subnet, Some("203.0.113.40".parse().unwrap()));
    assert!(primary.is_err());
    world.assign(other, &["203.0.113.48"]).unwrap();
    take_off(&mut world, mine, "203.0.113.32/28").unwrap();
    refused(
        take_off(&mut world, mine, "203.0.113.32/28"),
        INVALID,
        "not assigned",
    );
    world.assign(other, &["203.0.113.40"]).unwrap();
}

#[test]
fn a_prefix_is_an_unused_28_of_the_subnet() {
    let mut world = world();
    let (mine, other) = (world.loose(), world.loose());
    world.assign(other, &["203.0.113.70"]).unwrap();
    delegate(&mut world, other, "203.0.113.80/28").unwrap();
    for (prefix, code) in [
        ("203.0.113.96/29", INVALID),
        ("203.0.113.97/28", INVALID),
        ("203.0.114.0/28", INVALID),
        ("203.0.113.64/28", IN_USE),
        ("203.0.113.80/28", IN_USE),
    ] {
        refused(delegate(&mut world, mine, prefix), code, "");
    }
}

#[test]
fn a_prefix_takes_one_slot_and_its_addresses_are_not_free() {
    let mut world = world();
    let (_, interface) = world.instance(InstanceType::T3Micro);
    let free = |world: &World| {
        let subnet = world.ec2.subnet(world.subnet).unwrap();
        world.ec2.free_count(subnet)
    };
    let before = free(&world);
    delegate(&mut world, interface, "203.0.113.32/28").unwrap();
    assert_eq!(free(&world), before - 16);
    refused(
        delegate(&mut world, interface, "203.0.113.48/28"),
        "PrivateIpAddressLimitExceeded",
        "exceed limit",
    );
}
