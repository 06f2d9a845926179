//! The subnets, and the interfaces of machines with their addresses.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use ec2_emulator::state::id::{AttachmentId, InstanceId, NetworkInterfaceId, SubnetId};
use ec2_emulator::state::request::{Change, Changed};

use super::World;
use crate::cloud::Cloud;

/// The last bytes of the addresses that the CNI assigns to its interfaces.
pub const PLUGINS: RangeInclusive<u8> = 140..=190;

/// The last byte of a primary address that is in a block.
pub const PRIMARY_IN_BLOCK: u8 = 65;

/// The last bytes of the primary addresses of other interfaces. None is in a block.
const FIRST_ADDRESSES: [RangeInclusive<u8>; 2] = [4..=31, 100..=127];

/// A network with a subnet for the machines, and the subnets for the addresses.
pub(super) fn network(cloud: &Cloud, subnets: &[u8]) -> (SubnetId, BTreeMap<u8, SubnetId>) {
    let vpc = Change::CreateVpc {
        cidr: "10.0.0.0/16".parse().expect("a CIDR"),
        tags: BTreeMap::new(),
    };
    let Ok(Changed::Vpc(vpc)) = cloud.change(vpc) else {
        panic!("no VPC");
    };
    let subnet = |third: u8| {
        let cidr = format!("10.0.{third}.0/24");
        let subnet = Change::CreateSubnet {
            vpc: vpc.id,
            cidr: cidr.parse().expect("a CIDR"),
            zone: None,
            tags: BTreeMap::new(),
        };
        let Ok(Changed::Subnet(subnet)) = cloud.change(subnet) else {
            panic!("no subnet {cidr}");
        };
        subnet.id
    };
    let addresses = |third: &u8| (*third, subnet(*third));
    (subnet(0), subnets.iter().map(addresses).collect())
}

impl World {
    /// Creates an interface for addresses and attaches it.
    pub(super) fn plug(
        &self,
        instance: InstanceId,
        third: u8,
    ) -> (NetworkInterfaceId, AttachmentId) {
        let ours = BTreeMap::from([(
            "node.k8s.amazonaws.com/no_manage".to_owned(),
            "true".to_owned(),
        )]);
        let interface = self.create_interface(third, "", ours);
        (
            interface,
            self.attach(interface, instance, u32::from(third) + 1),
        )
    }

    /// Creates an interface of the CNI with its own addresses. Its device index is lower than those of the interfaces
    /// for addresses.
    pub(super) fn plug_plugins(&self, instance: InstanceId) {
        let third = *self.subnets.keys().next().expect("there is one");
        let interface = self.create_interface(third, "the network plugin's", BTreeMap::new());
        self.attach(interface, instance, 1);
        let free: Vec<Ipv4Addr> = self.free(third, PLUGINS).take(2).collect();
        self.put(interface, &free);
    }

    /// Addresses of a subnet that no interface has.
    pub(super) fn free(
        &self,
        third: u8,
        lasts: impl IntoIterator<Item = u8>,
    ) -> impl Iterator<Item = Ipv4Addr> {
        let subnet = self.subnets[&third];
        let addresses = lasts
            .into_iter()
            .map(move |last| Ipv4Addr::new(10, 0, third, last));
        addresses.filter(move |address| {
            self.cloud
                .look(|ec2| ec2.holder(subnet, *address).is_none())
        })
    }

    fn create_interface(
        &self,
        third: u8,
        description: &str,
        tags: BTreeMap<String, String>,
    ) -> NetworkInterfaceId {
        // The primary address of the first machine may be in a block: no other interface gets it.
        let in_block = self.shape.full && self.machines.is_empty() && description.is_empty();
        let first = FIRST_ADDRESSES.into_iter().flatten();
        let lasts = in_block
            .then_some(PRIMARY_IN_BLOCK)
            .into_iter()
            .chain(first);
        let create = Change::CreateNetworkInterface {
            subnet: self.subnets[&third],
            address: self.free(third, lasts).next(),
            description: description.to_owned(),
            tags,
        };
        let Ok(Changed::NetworkInterface(interface)) = self.cloud.change(create) else {
            panic!("no interface");
        };
        interface.id
    }

    fn attach(
        &self,
        interface: NetworkInterfaceId,
        instance: InstanceId,
        device_index: u32,
    ) -> AttachmentId {
        let attach = Change::AttachNetworkInterface {
            interface,
            instance,
            device_index,
        };
        let Ok(Changed::Attached(attachment)) = self.cloud.change(attach) else {
            panic!("{interface} was not attached to {instance}");
        };
        attachment
    }
}
