use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use ec2_emulator::state::instance_type::InstanceType;
use ec2_emulator::state::objects::ADDRESSES_UNATTACHED;

use crate::world::{refused, world};

const FULL: &str = "PrivateIpAddressLimitExceeded";

fn some_addresses(count: usize) -> BTreeSet<Ipv4Addr> {
    (100_u8..)
        .take(count)
        .map(|last| Ipv4Addr::new(203, 0, 113, last))
        .collect()
}

#[test]
fn the_primary_address_counts() {
    for kind in InstanceType::ALL {
        let mut world = world();
        let (_, interface) = world.instance(*kind);
        let room = kind.addresses_per_interface() - 1;
        refused(
            world.assign_all(interface, some_addresses(room + 1), false),
            FULL,
            "exceed limit",
        );
        world
            .assign_all(interface, some_addresses(room), false)
            .unwrap();
        // A full interface accepts addresses that it already has.
        world
            .assign_all(interface, some_addresses(room), false)
            .unwrap();
    }
}

#[test]
fn the_limits_are_those_of_aws() {
    for (name, interfaces, addresses) in [
        ("t3.micro", 2, 2),
        ("t3.small", 3, 4),
        ("t3.medium", 3, 6),
        ("c5.large", 3, 10),
        ("m5.large", 3, 10),
        ("c6i.xlarge", 4, 15),
        ("m5.4xlarge", 8, 30),
        ("c5.24xlarge", 15, 50),
    ] {
        let kind: InstanceType = name.parse().unwrap();
        assert_eq!(kind.interfaces(), interfaces, "{name}");
        assert_eq!(kind.addresses_per_interface(), addresses, "{name}");
    }
}

#[test]
fn a_detached_interface_has_the_limit_of_the_largest_type() {
    let mut world = world();
    let loose = world.loose();
    world
        .assign_all(loose, some_addresses(ADDRESSES_UNATTACHED - 1), false)
        .unwrap();
    refused(world.assign(loose, &["203.0.113.99"]), FULL, "exceed limit");
    // So it cannot be attached to a small instance.
    let (instance, _) = world.instance(InstanceType::T3Medium);
    refused(world.attach(loose, instance, 1), FULL, "exceed limit");
}
