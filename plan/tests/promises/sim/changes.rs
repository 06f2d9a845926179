//! What users, kubelets and EC2 do by themselves, in sentences.

use std::net::Ipv4Addr;

use mooring_plan::cloud::{InstanceState, Reassign};
use mooring_plan::names::{BlockName, InterfaceId, IpName, NodeName, WorkloadUid};
use mooring_plan::objects::{Block, Controller, Handover, Ip, Namespaces, Node, Pod, Wish};
use mooring_world::objects::{self, of_replica_set};

use super::{Sim, address, instance_of, key};

/// A pod that is being described; each word is so at once.
pub struct Described<'a> {
    sim: &'a mut Sim,
    name: String,
}

impl Sim {
    /// A world at rest with these nodes, in which the IP "partner" is reserved.
    pub fn reserved(nodes: &[&str]) -> Self {
        let mut sim = Self::new();
        for node in nodes {
            sim.node(node);
        }
        sim.ip("partner", "203.0.113.10");
        sim.settle();
        sim.count_from_here();
        sim
    }

    /// A world at rest with these nodes, in which pod "a" on the first has the address of "partner".
    pub fn attached(nodes: &[&str]) -> Self {
        let mut sim = Self::reserved(nodes);
        sim.pod("a").on(nodes[0]);
        sim.settle();
        sim.expect_attached("partner", "a");
        sim.count_from_here();
        sim
    }

    /// "partner" is edited to 203.0.113.20 while pod "a" has its address on n1, and so many steps of that
    /// are done.
    pub fn edited_while_attached(steps: usize) -> Self {
        let mut sim = Self::attached(&["n1"]);
        sim.edit("partner", "203.0.113.20");
        for _ in 0..steps {
            let _ = sim.step(0);
        }
        sim
    }

    pub fn block(&mut self, name: &str, cidr: &str) {
        let block = Block {
            uid: self.kube.new_uid("block"),
            version: self.kube.bump(),
            ..objects::block(name, cidr)
        };
        self.kube.blocks.insert(block.name.clone(), block);
    }

    pub fn change_block(&mut self, name: &str, change: impl FnOnce(&mut Block)) {
        let version = self.kube.bump();
        let block = self.kube.blocks.get_mut(&BlockName::from(name)).unwrap();
        change(block);
        block.version = version;
    }

    /// A node with its instance and an interface that the CNI leaves alone.
    pub fn node(&mut self, name: &str) {
        self.interface(&format!("eni-{name}"), name);
        self.kube.bump();
        self.kube
            .nodes
            .insert(NodeName::from(name), objects::node(name));
    }

    /// Another interface on the instance of a node.
    pub fn interface(&mut self, id: &str, node: &str) {
        let last = (4..=250).rev();
        let mut free = last.map(|last| Ipv4Addr::new(203, 0, 113, last));
        let primary = free.find(|primary| self.ec2.holder_of(*primary).is_none());
        self.new_interface_on(id, node, primary.unwrap());
    }

    /// A new interface, on no instance of the tests', with a primary address that AWS chose.
    pub fn new_interface(&mut self, id: &str, primary: &str) {
        self.new_interface_on(id, "elsewhere", address(primary));
    }

    fn new_interface_on(&mut self, id: &str, node: &str, primary: Ipv4Addr) {
        self.ec2.remember(self.now);
        self.ec2
            .create_interface(&id.into(), Some(&instance_of(node)), Some(primary));
    }

    pub fn ip(&mut self, name: &str, wished: &str) {
        let wish = objects::wish(address(wished));
        self.ip_wishing(name, wish);
    }

    pub fn ip_of_block(&mut self, name: &str, block: &str) {
        let wish = Wish {
            block: Some(BlockName::from(block)),
            allowed_namespaces: Namespaces::All,
            ..Wish::default()
        };
        self.ip_wishing(name, wish);
    }

    pub fn ip_wishing(&mut self, name: &str, wish: Wish) {
        let uid = self.kube.new_uid("ip");
        let ip = Ip {
            version: self.kube.bump(),
            ..objects::ip(name, uid, wish)
        };
        self.note(format!("IP {name} is created"));
        self.kube.ips.insert(ip.name.clone(), ip);
    }

    pub fn has_ip(&self, name: &str) -> bool {
        self.kube.ips.contains_key(&IpName::from(name))
    }

    pub fn the_ip(&self, name: &str) -> &Ip {
        self.kube
            .ips
            .get(&IpName::from(name))
            .unwrap_or_else(|| panic!("no IP {name}\n{}", self.story()))
    }

    pub fn change_wish(&mut self, name: &str, change: impl FnOnce(&mut Wish)) {
        self.note(format!("the wish of {name} is changed"));
        self.kube.change_ip(&IpName::from(name), None, |ip| {
            let mut wish = ip.wish.clone().unwrap();
            change(&mut wish);
            if ip.wish != Ok(wish.clone()) {
                ip.generation += 1;
            }
            ip.wish = Ok(wish);
        });
    }

    /// `spec.address` is edited.
    pub fn edit(&mut self, name: &str, wished: &str) {
        self.change_wish(name, |wish| wish.address = Some(address(wished)));
    }

    /// `spec.reassign: true`.
    pub fn allow_reassignment(&mut self, name: &str) {
        self.change_wish(name, |wish| wish.reassign = Reassign::Allow);
    }

    pub fn delete_ip(&mut self, name: &str) {
        self.note(format!("IP {name} is deleted"));
        self.kube
            .change_ip(&IpName::from(name), None, |ip| ip.deleting = true);
    }

    pub fn take_from(&mut self, name: &str, interface: &str) {
        self.kube.change_ip(&IpName::from(name), None, |ip| {
            ip.take_from = Some(InterfaceId::from(interface));
        });
    }

    /// A pod that came through admission and asks for the IP "partner", bound nowhere yet.
    pub fn pod(&mut self, name: &str) -> Described<'_> {
        let uid = self.kube.new_uid(name);
        let version = self.kube.bump();
        let asks = "partner";
        let ip = self.kube.ips.get(&IpName::from(asks));
        let pod = Pod {
            version,
            created: i64::try_from(version.0).unwrap(),
            ..objects::pod(name, uid, asks, ip.map(|ip| ip.uid.clone()))
        };
        self.note(format!("pod {name} ({}) is created", pod.uid));
        assert!(
            self.kube.pods.insert(pod.key.clone(), pod).is_none(),
            "pod {name} exists"
        );
        Described {
            sim: self,
            name: name.to_owned(),
        }
    }

    pub fn the_pod(&self, name: &str) -> &Pod {
        &self.kube.pods[&key(name)]
    }

    pub fn has_pod(&self, name: &str) -> bool {
        self.kube.pods.contains_key(&key(name))
    }

    pub fn change_pod(&mut self, name: &str, change: impl FnOnce(&mut Pod)) {
        self.kube.change_pod(&key(name), change);
    }

    /// Its containers run and are ready.
    pub fn containers_ready(&mut self, name: &str) {
        self.note(format!("the containers of {name} are ready"));
        self.change_pod(name, |pod| {
            pod.containers_ready = true;
            pod.containers_running = true;
        });
    }

    /// It is being deleted, with a grace period of 30 s.
    pub fn delete_pod(&mut self, name: &str) {
        self.note(format!("pod {name} is being deleted"));
        self.change_pod(name, |pod| pod.deleting = Some(30));
    }

    /// Its object goes.
    pub fn pod_goes(&mut self, name: &str) {
        self.note(format!("pod {name} goes"));
        self.kube.bump();
        self.kube.pods.remove(&key(name));
    }

    pub fn remove_annotation(&mut self, name: &str) {
        self.note(format!("the annotation of {name} is removed"));
        self.change_pod(name, |pod| pod.annotated = false);
    }

    pub fn change_node(&mut self, name: &str, change: impl FnOnce(&mut Node)) {
        self.rules.node_changed(name, self.now);
        self.kube.bump();
        if let Some(node) = self.kube.nodes.get_mut(&NodeName::from(name)) {
            change(node);
        }
    }

    /// The Node's object is deleted.
    pub fn node_goes(&mut self, name: &str) {
        self.note(format!("node {name} goes"));
        self.rules.node_changed(name, self.now);
        self.kube.bump();
        self.kube.nodes.remove(&NodeName::from(name));
    }

    /// A Node of that name on the instance of that name, ready.
    pub fn node_is_well(&mut self, name: &str) {
        self.note(format!("node {name} is well"));
        if !self.kube.nodes.contains_key(&NodeName::from(name)) {
            let node = objects::node(name);
            self.kube.nodes.insert(node.name.clone(), node);
        }
        self.change_node(name, |node| *node = objects::node(name));
    }

    /// The kubelet is silent: the node controller taints the Node.
    pub fn node_unreachable(&mut self, name: &str) {
        self.note(format!("node {name} is unreachable"));
        self.change_node(name, |node| {
            node.ready = false;
            node.unreachable = true;
        });
    }

    /// The node dies under the pod, which is evicted: nobody ends it there.
    pub fn node_dies_under(&mut self, pod: &str, node: &str) {
        self.node_unreachable(node);
        self.delete_pod(pod);
    }

    pub fn instance(&mut self, node: &str, state: InstanceState) {
        self.rules.node_changed(node, self.now);
        self.ec2.remember(self.now);
        match state {
            InstanceState::Stopped => self.ec2.stop(&instance_of(node)),
            InstanceState::Terminated => self.ec2.terminate(&instance_of(node)),
            other => panic!("an instance does not become {other:?} here"),
        }
    }

    pub fn replica_set(&mut self, name: &str, revision: u64, deployment: &str, replicas: u64) {
        let set = objects::replica_set(name, revision, deployment, replicas);
        self.kube.bump();
        self.kube.replica_sets.insert(name.to_owned(), set);
        self.rules.sets_changed(self.now);
    }

    /// Somebody puts the address there by hand.
    pub fn found_on(&mut self, text: &str, interface: Option<&str>) {
        self.note(format!("somebody puts {text} on {interface:?}"));
        self.rules.put_by_hand(address(text), self.now);
        let on = interface.map(InterfaceId::from);
        self.ec2.remember(self.now);
        self.ec2.put_manually(address(text), on.as_ref());
    }
}

impl Described<'_> {
    fn so(self, change: impl FnOnce(&mut Pod)) -> Self {
        self.sim.change_pod(&self.name, change);
        self
    }

    /// Asks for another IP than "partner".
    pub fn asks(self, ip: &str) -> Self {
        let name = IpName::from(ip);
        let uid = self.sim.kube.ips.get(&name).map(|ip| ip.uid.clone());
        self.so(|pod| {
            pod.label = Some(name);
            pod.ip = uid;
        })
    }

    /// Bound to that node.
    pub fn on(self, node: &str) -> Self {
        let node = NodeName::from(node);
        self.so(|pod| pod.node = Some(node))
    }

    /// Of a `ReplicaSet` that may be there already, as it is.
    pub fn of_replica_set(self, name: &str, revision: u64, deployment: &str) -> Self {
        if self.sim.kube.replica_sets.contains_key(name) {
            return self.of(of_replica_set(name));
        }
        self.replica_set(name, revision, deployment)
    }

    /// Of that `ReplicaSet`, which is of that revision of that Deployment.
    pub fn replica_set(self, name: &str, revision: u64, deployment: &str) -> Self {
        self.sim.replica_set(name, revision, deployment, 1);
        self.of(of_replica_set(name))
    }

    /// Of a `StatefulSet`, or another controller that is no `ReplicaSet`.
    pub fn of_controller(self, uid: &str) -> Self {
        self.of(Controller::Other(WorkloadUid::from(uid)))
    }

    fn of(self, controller: Controller) -> Self {
        self.so(|pod| pod.controller = Some(controller))
    }

    /// Its containers run and are ready.
    pub fn ready(self) {
        self.so(|pod| {
            pod.containers_ready = true;
            pod.containers_running = true;
        });
    }

    /// `ip.wgtwo.com/handover: running`.
    pub fn hands_over_running(self) -> Self {
        self.so(|pod| pod.handover = Handover::Running)
    }
}
