//! The initial objects of a configuration: a block, nodes with their machines, IPs, pods.

use std::collections::{BTreeMap, BTreeSet};

use mooring_plan::address::Address;
use mooring_plan::cloud::Reassign;
use mooring_plan::names::{InstanceId, InterfaceId, IpName, NodeName, PodUid};
use mooring_plan::objects::{DesiredIp, Ip, Namespaces, Pod};
use mooring_world::cloud::Cloud;
use mooring_world::kube::Kube;
use mooring_world::objects::{self, instance_of, interface_of, of_replica_set};

/// The Deployment of the pods that have a `ReplicaSet`.
const DEPLOYMENT: &str = "deployment";

/// The most addresses on an interface: its primary one, and one of a block.
const MAX_ADDRESSES: u32 = 2;

/// Facts about the objects that are the same in every state.
#[derive(Clone, Debug, Default)]
pub struct Fixtures {
    /// The node that each pod is bound to.
    bound: BTreeMap<PodUid, NodeName>,
    machines: BTreeMap<NodeName, BTreeSet<InstanceId>>,
}

/// Builds the initial objects of a configuration.
#[derive(Clone, Debug)]
pub struct WorldBuilder {
    pub kube: Kube,
    pub cloud: Cloud,
    pub fixtures: Fixtures,
}

/// An address of the block.
#[must_use]
pub fn address(last: u8) -> Address {
    Address::v4([203, 0, 113, last])
}

impl Fixtures {
    /// Was this pod bound to the node of this machine?
    pub fn bound_to(&self, uid: &PodUid, instance: &InstanceId) -> bool {
        let machines = self.bound.get(uid).and_then(|node| self.machines.get(node));
        machines.is_some_and(|machines| machines.contains(instance))
    }
}

impl WorldBuilder {
    /// One block, in the subnet of EC2.
    pub fn new() -> Self {
        let mut world = Self {
            kube: Kube::default(),
            cloud: Cloud::with_limit(MAX_ADDRESSES),
            fixtures: Fixtures::default(),
        };
        let block = objects::block("block", "203.0.113.0/24");
        world.kube.blocks.insert(block.name.clone(), block);
        world
    }

    /// The interface of each node has room for this number of addresses.
    pub fn room(mut self, addresses: u32) -> Self {
        self.cloud.limit_addresses(addresses + 1);
        self
    }

    /// A node with its machine; the interface has room for one address if nothing else was said.
    pub fn node(mut self, name: &str) -> Self {
        let instance = instance_of(name);
        self.cloud
            .create_interface(&interface_of(name), Some(&instance), None);
        let node = objects::node(name);
        let machines = self.fixtures.machines.entry(node.name.clone());
        machines.or_default().insert(instance);
        self.kube.nodes.insert(node.name.clone(), node);
        self
    }

    /// A foreign interface, which can have an address.
    pub fn foreign(mut self, has: Option<Address>) -> (Self, InterfaceId) {
        let interface = interface_of("foreign");
        self.cloud.create_interface(&interface, None, None);
        if let Some(address) = has {
            self.cloud.put_manually(address, Some(&interface));
        }
        (self, interface)
    }

    /// An IP that was just created.
    pub fn make_ip(&mut self, name: &str, desired: Address, reassign: Reassign) -> Ip {
        let desired = DesiredIp {
            reassign,
            ..objects::desired(desired)
        };
        objects::ip(name, self.kube.new_uid(name), desired)
    }

    /// As [`Self::make_ip`], for any address of the block.
    pub fn make_ip_of_block(&mut self, name: &str) -> Ip {
        let desired = DesiredIp {
            block: Some("block".into()),
            allowed_namespaces: Namespaces::All,
            ..DesiredIp::default()
        };
        objects::ip(name, self.kube.new_uid(name), desired)
    }

    /// As [`Self::ip`], for any address of the block.
    pub fn ip_of_block(mut self, name: &str) -> Self {
        let ip = self.make_ip_of_block(name);
        self.kube.ips.insert(ip.name.clone(), ip);
        self
    }

    /// The block has these addresses, and no others.
    pub fn range(mut self, cidr: &str) -> Self {
        let block = objects::block("block", cidr);
        self.kube.blocks.insert(block.name.clone(), block);
        self
    }

    /// An IP that exists from the start.
    pub fn ip(mut self, name: &str, desired: Address, reassign: Reassign) -> Self {
        let ip = self.make_ip(name, desired, reassign);
        self.kube.ips.insert(ip.name.clone(), ip);
        self
    }

    /// A pod that admission has changed and that asks for this IP, bound to this node, of this `ReplicaSet` if one
    /// is named. Each pod has its own UID, also if the name was used before.
    pub fn make_pod(&mut self, name: &str, ip: &str, node: &str, set: Option<&str>) -> Pod {
        let uid = self.kube.new_uid(name);
        let node = NodeName::from(node);
        let bound = &mut self.fixtures.bound;
        bound.insert(PodUid::from(uid.as_str()), node.clone());
        let of = self.kube.ips.get(&IpName::from(ip));
        Pod {
            created: i64::try_from(bound.len()).unwrap(),
            node: Some(node),
            controller: set.map(of_replica_set),
            ..objects::pod(name, uid, ip, of.map(|ip| ip.uid.clone()))
        }
    }

    /// A pod that exists from the start.
    pub fn pod(mut self, name: &str, ip: &str, node: &str, set: Option<&str>) -> Self {
        let mut pod = self.make_pod(name, ip, node, set);
        pod.containers_ready = set.is_some();
        pod.containers_running = set.is_some();
        self.kube.pods.insert(pod.key.clone(), pod);
        self
    }

    /// A `ReplicaSet` of the Deployment.
    pub fn set(mut self, name: &str, revision: u64, replicas: u64) -> Self {
        let set = objects::replica_set(name, revision, DEPLOYMENT, replicas);
        self.kube.replica_sets.insert(name.to_owned(), set);
        self
    }
}
