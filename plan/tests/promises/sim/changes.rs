//! Changes by users, nodes and EC2: blocks, IPs, nodes, ENIs.

use mooring_plan::address::Address;
use mooring_plan::cloud::{InstanceState, Reassign};
use mooring_plan::names::{BlockName, InterfaceId, IpName, NodeName};
use mooring_plan::objects::{Block, DesiredIp, Ip, Namespaces, Node};
use mooring_world::objects;

use super::{Sim, address, instance_of};

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

    /// Two processes, and two nodes and the IP "partner", of which neither knows yet.
    pub fn of_two_processes() -> Self {
        let mut sim = Self::new();
        sim.second_controller();
        for node in ["n1", "n2"] {
            sim.node(node);
        }
        sim.ip("partner", "203.0.113.10");
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

    /// The same, and "a" belongs to a `ReplicaSet` of the Deployment "dep".
    pub fn attached_by_deployment(nodes: &[&str]) -> Self {
        let mut sim = Self::reserved(nodes);
        sim.pod("a").on(nodes[0]).replica_set("rs1", 1, "dep");
        sim.settle();
        sim.expect_attached("partner", "a");
        sim.count_from_here();
        sim
    }

    /// The same, and the containers of "a" are ready.
    pub fn attached_and_ready(nodes: &[&str]) -> Self {
        let mut sim = Self::reserved(nodes);
        sim.next_revision("a", nodes[0], 1);
        sim.settle();
        sim.expect_attached("partner", "a");
        sim.count_from_here();
        sim
    }

    /// Adds a ready pod of this revision of the Deployment "dep".
    pub fn next_revision(&mut self, pod: &str, node: &str, revision: u64) {
        let set = format!("rs{revision}");
        self.pod(pod).on(node).replica_set(&set, revision, "dep");
        self.containers_ready(pod);
    }

    /// "partner" is edited to 203.0.113.20 while pod "a" has its address on n1, and this number of the following steps
    /// is done.
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

    /// A node with its instance and an ENI that the CNI does not manage.
    pub fn node(&mut self, name: &str) {
        self.interface(&format!("eni-{name}"), name);
        self.kube.bump();
        self.kube
            .nodes
            .insert(NodeName::from(name), objects::node(name));
    }

    /// Another ENI on the instance of a node.
    pub fn interface(&mut self, id: &str, node: &str) {
        let last = (4..=250).rev();
        let mut free = last.map(|last| Address::v4([203, 0, 113, last]));
        let primary = free.find(|primary| self.ec2.holder_of(*primary).is_none());
        self.new_interface_on(id, node, primary.unwrap());
    }

    /// A new ENI with this primary address, on an instance without a Node.
    pub fn new_interface(&mut self, id: &str, primary: &str) {
        self.new_interface_on(id, "elsewhere", address(primary));
    }

    fn new_interface_on(&mut self, id: &str, node: &str, primary: Address) {
        self.ec2.remember(self.now);
        self.ec2
            .create_interface(&id.into(), Some(&instance_of(node)), Some(primary));
    }

    pub fn ip(&mut self, name: &str, desired: &str) {
        let desired = objects::desired(address(desired));
        self.ip_asking_for(name, desired);
    }

    pub fn ip_of_block(&mut self, name: &str, block: &str) {
        let desired = DesiredIp {
            block: Some(BlockName::from(block)),
            allowed_namespaces: Namespaces::All,
            ..DesiredIp::default()
        };
        self.ip_asking_for(name, desired);
    }

    pub fn ip_asking_for(&mut self, name: &str, desired: DesiredIp) {
        let uid = self.kube.new_uid("ip");
        let ip = Ip {
            version: self.kube.bump(),
            ..objects::ip(name, uid, desired)
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

    pub fn change_spec(&mut self, name: &str, change: impl FnOnce(&mut DesiredIp)) {
        self.note(format!("the spec of {name} is changed"));
        self.kube.change_ip(&IpName::from(name), None, |ip| {
            let mut desired = ip.desired.clone().unwrap();
            change(&mut desired);
            if ip.desired != Ok(desired.clone()) {
                ip.generation += 1;
            }
            ip.desired = Ok(desired);
        });
    }

    /// `spec.address` is edited.
    pub fn edit(&mut self, name: &str, to: &str) {
        self.change_spec(name, |desired| desired.address = Some(address(to)));
    }

    /// `spec.reassign: true`.
    pub fn allow_reassignment(&mut self, name: &str) {
        self.change_spec(name, |desired| desired.reassign = Reassign::Allow);
    }

    /// With `reassign` the IP "partner" allows reassignment, and the controllers know it.
    pub fn settle_reassignment(&mut self, reassign: bool) {
        if reassign {
            self.allow_reassignment("partner");
            self.settle();
        }
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

    pub fn change_node(&mut self, name: &str, change: impl FnOnce(&mut Node)) {
        self.rules.node_changed(name, self.now);
        let version = self.kube.bump();
        if let Some(node) = self.kube.nodes.get_mut(&NodeName::from(name)) {
            change(node);
            node.version = version;
        }
    }

    /// The Node object is deleted.
    pub fn remove_node(&mut self, name: &str) {
        self.note(format!("node {name} goes"));
        self.rules.node_changed(name, self.now);
        self.kube.bump();
        self.kube.nodes.remove(&NodeName::from(name));
    }

    /// A ready Node with this name, on the instance with this name.
    pub fn node_is_well(&mut self, name: &str) {
        self.note(format!("node {name} is well"));
        let mut well = objects::node(name);
        well.uid = match self.kube.nodes.get(&well.name) {
            Some(known) => known.uid.clone(),
            None => self.kube.new_uid("node"),
        };
        self.kube.nodes.insert(well.name.clone(), well.clone());
        self.change_node(name, |node| *node = well);
    }

    /// The kubelet does not report: the node controller taints the Node.
    pub fn node_unreachable(&mut self, name: &str) {
        self.note(format!("node {name} is unreachable"));
        self.change_node(name, |node| {
            node.ready = false;
            node.unreachable = true;
        });
    }

    /// The node of the pod fails, and the pod is evicted, but no kubelet stops it.
    pub fn node_fails_under(&mut self, pod: &str, node: &str) {
        self.node_unreachable(node);
        self.delete_pod(pod);
    }

    pub fn instance(&mut self, node: &str, state: InstanceState) {
        self.rules.node_changed(node, self.now);
        self.ec2.remember(self.now);
        match state {
            InstanceState::Running => self.ec2.start(&instance_of(node)),
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

    /// A foreign client puts the address on this ENI; None: it detaches the address.
    pub fn found_on(&mut self, text: &str, interface: Option<&str>) {
        self.note(format!("a foreign client puts {text} on {interface:?}"));
        let on = interface.map(InterfaceId::from);
        self.rules.put_by_hand(address(text), on.as_ref(), self.now);
        self.ec2.remember(self.now);
        self.ec2.put_manually(address(text), on.as_ref());
    }
}
