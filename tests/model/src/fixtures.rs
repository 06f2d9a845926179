//! The objects of a configuration: a block, nodes with their machines, IPs, pods.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use mooring_plan::block::BlockRange;
use mooring_plan::cloud::Reassign;
use mooring_plan::names::{
    BlockName, DeploymentUid, InstanceId, InstanceType, InterfaceId, IpName, IpUid, Millis,
    NodeName, PodKey, PodUid, ReplicaSetUid, ResourceVersion,
};
use mooring_plan::objects::{
    Block, BlockSpec, BlockStatus, Controller, Handover, Ip, IpStatus, Namespaces, Node, Pod,
    ReplicaSet, Wish,
};

use crate::world::cloud::Cloud;
use crate::world::kube::Kube;

/// The Deployment of the pods that have a `ReplicaSet`.
const DEPLOYMENT: &str = "deployment";

/// Facts about the objects that are the same in every state.
#[derive(Clone, Debug, Default)]
pub struct Fixtures {
    /// The node that each pod is bound to.
    bound: BTreeMap<PodUid, NodeName>,
    machines: BTreeMap<NodeName, BTreeSet<InstanceId>>,
    /// The ids that EC2 gave, and their names in a report.
    names: Vec<(String, String)>,
}

/// Builds the initial objects of a configuration.
#[derive(Clone, Debug)]
pub struct WorldBuilder {
    pub kube: Kube,
    pub cloud: Cloud,
    pub fixtures: Fixtures,
    made: u32,
}

/// An address of the block.
#[must_use]
pub fn address(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(203, 0, 113, last)
}

/// The key of a pod.
#[must_use]
pub fn key(name: &str) -> PodKey {
    PodKey::new("default", name)
}

impl Fixtures {
    /// Was this pod bound to the node of this machine?
    pub fn bound_to(&self, uid: &PodUid, instance: &InstanceId) -> bool {
        let machines = self.bound.get(uid).and_then(|node| self.machines.get(node));
        machines.is_some_and(|machines| machines.contains(instance))
    }

    /// A text with the ids of EC2 replaced by names.
    #[must_use]
    pub fn readable(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (id, name) in &self.names {
            text = text.replace(id, name);
        }
        text
    }
}

impl WorldBuilder {
    /// One block, in the subnet of EC2.
    pub fn new() -> Self {
        let mut world = Self {
            kube: Kube::default(),
            cloud: Cloud::new(),
            fixtures: Fixtures::default(),
            made: 0,
        };
        let spec = BlockSpec {
            range: BlockRange::parse("203.0.113.0/24", []).unwrap(),
            subnet: world.cloud.subnet(),
            node_selector: None,
            interface_tags: BTreeMap::new(),
            allowed_namespaces: Namespaces::All,
            failover_after: Millis::seconds(30),
        };
        let block = Block {
            name: BlockName::from("block"),
            uid: "block".to_owned(),
            version: ResourceVersion(1),
            generation: 1,
            deleting: false,
            finalizer: true,
            spec: Ok(spec),
            release_brake: false,
            status: BlockStatus::default(),
        };
        world.kube.blocks.insert(block.name.clone(), block);
        world
    }

    /// A node with its machine; the interface has room for one address.
    pub fn node(mut self, name: &str) -> Self {
        let (instance, interface) = self.cloud.machine();
        self.fixtures
            .names
            .push((interface.to_string(), format!("eni-{name}")));
        self.fixtures
            .names
            .push((instance.to_string(), format!("i-{name}")));
        let node = Node {
            name: NodeName::from(name),
            created: 1_000,
            instance: Some(instance.clone()),
            instance_type: Some(InstanceType::from("t3.micro")),
            ready: true,
            unreachable: false,
            out_of_service: false,
            labels: BTreeMap::new(),
        };
        self.fixtures
            .machines
            .entry(node.name.clone())
            .or_default()
            .insert(instance);
        self.kube.nodes.insert(node.name.clone(), node);
        self
    }

    /// The interface of the machine of a node.
    pub fn interface_of(&self, node: &str) -> InterfaceId {
        let node = &self.kube.nodes[&NodeName::from(node)];
        let instance = node.instance.as_ref();
        instance
            .and_then(|instance| self.cloud.interface_on(instance))
            .unwrap()
    }

    /// A foreign interface, which can have an address.
    pub fn foreign(mut self, has: Option<Ipv4Addr>) -> (Self, InterfaceId) {
        let interface = self.cloud.foreign_interface();
        self.fixtures
            .names
            .push((interface.to_string(), "eni-foreign".to_owned()));
        if let Some(address) = has {
            self.cloud.put_manually(address, &interface);
        }
        (self, interface)
    }

    /// An IP that was just created.
    pub fn make_ip(&mut self, name: &str, wished: Ipv4Addr, reassign: Reassign) -> Ip {
        self.made += 1;
        let wish = Wish {
            address: Some(wished),
            reassign,
            allowed_namespaces: Namespaces::All,
            ..Wish::default()
        };
        Ip {
            name: IpName::from(name),
            uid: IpUid::new(format!("{name}-{}", self.made)),
            version: ResourceVersion(1),
            generation: 1,
            deleting: false,
            finalizer: false,
            wish: Ok(wish),
            take_from: None,
            status: IpStatus::default(),
        }
    }

    /// An IP that exists from the start.
    pub fn ip(mut self, name: &str, wished: Ipv4Addr, reassign: Reassign) -> Self {
        let ip = self.make_ip(name, wished, reassign);
        self.kube.ips.insert(ip.name.clone(), ip);
        self
    }

    /// A pod that admission has changed and that asks for this IP, bound to this node, of this `ReplicaSet` if one
    /// is named. Each pod has its own UID, also if the name was used before.
    pub fn make_pod(&mut self, name: &str, ip: &str, node: &str, set: Option<&str>) -> Pod {
        self.made += 1;
        let uid = PodUid::new(format!("{name}-{}", self.made));
        let node = NodeName::from(node);
        self.fixtures.bound.insert(uid.clone(), node.clone());
        let ip = IpName::from(ip);
        Pod {
            uid,
            key: key(name),
            version: ResourceVersion(1),
            created: i64::from(self.made),
            node: Some(node),
            ended: false,
            deleting: None,
            annotated: true,
            ip: self.kube.ips.get(&ip).map(|ip| ip.uid.clone()),
            label: Some(ip),
            gated: true,
            gate: None,
            unready_gates: BTreeSet::new(),
            containers_ready: false,
            containers_running: false,
            handover: Handover::ContainersReady,
            controller: set
                .map(|set| Controller::ReplicaSet(set.to_owned(), ReplicaSetUid::from(set))),
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
        let set = ReplicaSet {
            uid: ReplicaSetUid::from(name),
            deployment: Some(DeploymentUid::from(DEPLOYMENT)),
            revision,
            replicas,
        };
        self.kube.replica_sets.insert(name.to_owned(), set);
        self
    }
}
