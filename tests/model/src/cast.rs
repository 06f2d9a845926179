//! Who takes part in a configuration: a block, nodes with their machines, IPs, pods.

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

/// The pods' Deployment, where they have one.
const DEPLOYMENT: &str = "deployment";

/// What is true of the cast in every state.
#[derive(Clone, Debug, Default)]
pub struct Cast {
    /// The node that each pod was bound to, for life.
    bound: BTreeMap<PodUid, NodeName>,
    machines: BTreeMap<NodeName, BTreeSet<InstanceId>>,
    /// Ids that EC2 gave, and what they are called in a report.
    called: Vec<(String, String)>,
}

/// A world that is being made.
#[derive(Clone, Debug)]
pub struct Scene {
    pub kube: Kube,
    pub cloud: Cloud,
    pub cast: Cast,
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

impl Cast {
    /// Was this pod bound to the node of this machine?
    pub fn bound_to(&self, uid: &PodUid, instance: &InstanceId) -> bool {
        let machines = self.bound.get(uid).and_then(|node| self.machines.get(node));
        machines.is_some_and(|machines| machines.contains(instance))
    }

    /// A text with the ids that EC2 gave replaced.
    #[must_use]
    pub fn readable(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (id, name) in &self.called {
            text = text.replace(id, name);
        }
        text
    }
}

impl Scene {
    /// One block, in EC2's subnet.
    pub fn new() -> Self {
        let mut scene = Self {
            kube: Kube::default(),
            cloud: Cloud::new(),
            cast: Cast::default(),
            made: 0,
        };
        let spec = BlockSpec {
            range: BlockRange::parse("203.0.113.0/24", []).unwrap(),
            subnet: scene.cloud.subnet(),
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
        scene.kube.blocks.insert(block.name.clone(), block);
        scene
    }

    /// A node with its machine, whose interface has room for one address.
    pub fn node(mut self, name: &str) -> Self {
        let (instance, interface) = self.cloud.machine();
        self.cast
            .called
            .push((interface.to_string(), format!("eni-{name}")));
        self.cast
            .called
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
        self.cast
            .machines
            .entry(node.name.clone())
            .or_default()
            .insert(instance);
        self.kube.nodes.insert(node.name.clone(), node);
        self
    }

    /// The interface of a node's machine.
    pub fn interface_of(&self, node: &str) -> InterfaceId {
        let node = &self.kube.nodes[&NodeName::from(node)];
        let instance = node.instance.as_ref();
        instance
            .and_then(|instance| self.cloud.interface_on(instance))
            .unwrap()
    }

    /// An interface of somebody else that may have an address.
    pub fn foreign(mut self, has: Option<Ipv4Addr>) -> (Self, InterfaceId) {
        let interface = self.cloud.somebodys_interface();
        self.cast
            .called
            .push((interface.to_string(), "eni-foreign".to_owned()));
        if let Some(address) = has {
            self.cloud.put_by_hand(address, &interface);
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

    /// A pod that came through admission and asks for that IP, bound to that node, of that `ReplicaSet`
    /// if one is named. Each has a UID of its own, also under a name that was used before.
    pub fn make_pod(&mut self, name: &str, ip: &str, node: &str, set: Option<&str>) -> Pod {
        self.made += 1;
        let uid = PodUid::new(format!("{name}-{}", self.made));
        let node = NodeName::from(node);
        self.cast.bound.insert(uid.clone(), node.clone());
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

    /// A `ReplicaSet` of the pods' Deployment.
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
