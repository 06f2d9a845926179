//! For random requests in random order: the invariants of EC2 hold after every step, and a refusal changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ec2_emulator::state::Ec2;
use ec2_emulator::state::id::{AttachmentId, InstanceId, NetworkInterfaceId};
use ec2_emulator::state::instance_type::InstanceType;
use ec2_emulator::state::objects::{ADDRESSES_UNATTACHED, NetworkInterface, Tags};
use ec2_emulator::state::request::{Change, Wanted};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use crate::world::{World, world};

/// Few ids, so that requests concern the same objects.
const NAMES: u64 = 24;

/// A subnet of 16 addresses, so that requests concern the same ones. Some are reserved, and some are outside.
fn address() -> impl Strategy<Value = Ipv4Addr> {
    (0_u8..20).prop_map(|last| Ipv4Addr::new(203, 0, 114, last))
}

fn addresses() -> impl Strategy<Value = BTreeSet<Ipv4Addr>> {
    btree_set(address(), 1..4)
}

fn interface() -> impl Strategy<Value = NetworkInterfaceId> {
    (1..NAMES).prop_map(NetworkInterfaceId)
}

fn instances() -> impl Strategy<Value = BTreeSet<InstanceId>> {
    btree_set((1..NAMES).prop_map(InstanceId), 1..3)
}

fn change(subnet: ec2_emulator::state::id::SubnetId) -> impl Strategy<Value = Change> {
    let kind = prop_oneof![Just(InstanceType::T3Micro), Just(InstanceType::T3Small)];
    prop_oneof![
        1 => (kind, 1_usize..3, any::<bool>()).prop_map(move |(kind, count, delete_on_termination)| {
            Change::RunInstances {
                subnet,
                kind,
                count,
                address: None,
                delete_on_termination,
                tags: Tags::new(),
                interface_tags: Tags::new(),
            }
        }),
        2 => proptest::option::of(address()).prop_map(move |address| Change::CreateNetworkInterface {
            subnet,
            address,
            description: String::new(),
            tags: Tags::new(),
        }),
        2 => (interface(), (1..NAMES).prop_map(InstanceId), 0_u32..3).prop_map(
            |(interface, instance, device_index)| Change::AttachNetworkInterface {
                interface,
                instance,
                device_index,
            }
        ),
        1 => (1..NAMES).prop_map(|id| Change::DetachNetworkInterface { attachment: AttachmentId(id) }),
        1 => interface().prop_map(|interface| Change::DeleteNetworkInterface { interface }),
        8 => (interface(), addresses(), any::<bool>()).prop_map(
            |(interface, addresses, allow_reassignment)| Change::AssignPrivateIpAddresses {
                interface,
                wanted: Wanted::Addresses(addresses),
                allow_reassignment,
            }
        ),
        1 => (interface(), 1_usize..3).prop_map(|(interface, count)| {
            Change::AssignPrivateIpAddresses {
                interface,
                wanted: Wanted::Count(count),
                allow_reassignment: false,
            }
        }),
        3 => (interface(), addresses()).prop_map(|(interface, addresses)| {
            Change::UnassignPrivateIpAddresses { interface, addresses }
        }),
        1 => instances().prop_map(Change::StartInstances),
        1 => instances().prop_map(Change::StopInstances),
        1 => instances().prop_map(Change::TerminateInstances),
    ]
}

fn limit(ec2: &Ec2, interface: &NetworkInterface) -> usize {
    interface.attachment.map_or(ADDRESSES_UNATTACHED, |tie| {
        ec2.instance(tie.instance)
            .unwrap()
            .kind
            .addresses_per_interface()
    })
}

fn holders(ec2: &Ec2) -> BTreeMap<Ipv4Addr, NetworkInterfaceId> {
    ec2.interfaces()
        .flat_map(|interface| interface.secondary.iter().map(move |a| (*a, interface.id)))
        .collect()
}

fn assert_invariants(ec2: &Ec2) {
    let mut seen = BTreeMap::new();
    for interface in ec2.interfaces() {
        let subnet = ec2.subnet(interface.subnet).unwrap();
        for address in interface.addresses() {
            if let Some(other) = seen.insert(address, interface.id) {
                panic!("{address} is on {other} and on {}", interface.id);
            }
            assert!(
                subnet.cidr.contains(&address),
                "{address} is outside {}",
                subnet.cidr
            );
            assert!(!subnet.reserves(address), "{address} is reserved by AWS");
        }
        assert!(
            interface.addresses().count() <= limit(ec2, interface),
            "{interface:?}"
        );
    }
    for instance in ec2.instances() {
        let attached = ec2.interfaces_of(instance.id);
        assert!(attached.len() <= instance.kind.interfaces(), "{attached:?}");
        let places: BTreeSet<_> = attached
            .iter()
            .map(|interface| interface.attachment.unwrap().device_index)
            .collect();
        assert_eq!(
            places.len(),
            attached.len(),
            "two at one place: {attached:?}"
        );
    }
}

fn small_world() -> World {
    let mut world = world();
    world.subnet = world.new_subnet("203.0.114.0/28", "eu-north-1a");
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_requests_keeps_the_invariants(changes in vec(change(small_world().subnet), 1..60)) {
        let mut ec2 = small_world().ec2;
        for change in changes {
            let before = ec2.clone();
            let result = ec2.change(change.clone());
            assert_invariants(&ec2);
            match (&change, result) {
                (_, Err(error)) => {
                    prop_assert_eq!(&ec2, &before, "refused, and yet changed: {} {:?}", error, change);
                }
                // Only a call that allows it moves an address from one interface to another.
                (Change::AssignPrivateIpAddresses { allow_reassignment: true, .. }, Ok(_)) => {}
                (_, Ok(_)) => {
                    let after = holders(&ec2);
                    for (address, holder) in holders(&before) {
                        let now = after.get(&address).copied();
                        prop_assert!(now.is_none_or(|now| now == holder), "{} moved: {:?}", address, change);
                    }
                }
            }
        }
    }
}
