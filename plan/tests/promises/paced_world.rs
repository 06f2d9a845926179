//! Changes in the world of the paced engine, and the effects of the steps of blocks and nodes.

use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::facts::{Fact, WriteOutcome};
use mooring_plan::names::{BlockName, InterfaceId, NodeName};
use mooring_plan::objects::{Block, BlockSpec, Node, Pod};
use mooring_plan::step::{BlockStep, NodeStep};
use mooring_world::objects::{self, instance_of};

use crate::paced::{Paced, ip, node};

impl Paced {
    /// Two nodes, and one IP that is attached for pod "db".
    pub fn attached_once() -> Self {
        let mut world = Self::new(2, 1, Reassign::Refuse);
        world.pod("db", 0, 0);
        world.run(Duration::from_secs(20));
        assert_eq!(world.attached(1), 1);
        world
    }

    /// An IP is created.
    pub fn ip(&mut self, number: usize) {
        self.add_ip(number, Reassign::Refuse);
        self.watches_show();
    }

    /// A user sets `take-from` to this ENI.
    pub fn take_from(&mut self, number: usize, interface: &InterfaceId) {
        self.kube.change_ip(&ip(number), None, |ip| {
            ip.take_from = Some(interface.clone());
        });
        self.watches_show();
    }

    /// A block is created in the same subnet as the others.
    pub fn block(&mut self, name: &str, range: &str) {
        let block = Block {
            version: self.kube.bump(),
            ..objects::block(name, range)
        };
        self.kube.blocks.insert(block.name.clone(), block);
        self.watches_show();
    }

    /// A Node is changed.
    pub fn change_node(&mut self, number: usize, change: impl FnOnce(&mut Node)) {
        let version = self.kube.bump();
        let node = self.kube.nodes.get_mut(&NodeName::new(node(number)));
        let node = node.unwrap();
        change(node);
        node.version = version;
        self.watches_show();
    }

    /// A pod that asks for this IP is bound to a node.
    pub fn pod(&mut self, name: &str, of: usize, on: usize) {
        self.add_pod(name, of, Some(NodeName::new(node(on))));
    }

    /// A pod that asks for this IP is created and not scheduled yet.
    pub fn pending_pod(&mut self, name: &str, of: usize) {
        self.add_pod(name, of, None);
    }

    /// A pod is bound to a node.
    pub fn is_bound(&mut self, name: &str, on: usize) {
        let on = NodeName::new(node(on));
        let bind = |pod: &mut Pod| pod.node = Some(on);
        self.kube.change_pod(&objects::key(name), bind);
        self.watches_show();
    }

    /// A ready pod of this revision of a Deployment is bound to a node.
    pub fn revision(&mut self, name: &str, of: usize, on: usize, deployment: &str, revision: u64) {
        let set = format!("{deployment}-{revision}");
        let described = objects::replica_set(&set, revision, deployment, 1);
        self.kube.replica_sets.insert(set.clone(), described);
        self.pod(name, of, on);
        let owned = |pod: &mut Pod| pod.controller = Some(objects::of_replica_set(&set));
        self.kube.change_pod(&objects::key(name), owned);
        self.watches_show();
    }

    fn add_pod(&mut self, name: &str, of: usize, on: Option<NodeName>) {
        let uid = self.kube.new_uid(name);
        let asked = self.kube.ips[&ip(of)].uid.clone();
        let mut pod = objects::pod(name, uid, ip(of).as_str(), Some(asked));
        pod.version = self.kube.bump();
        pod.node = on;
        pod.containers_ready = true;
        pod.containers_running = true;
        self.kube.pods.insert(pod.key.clone(), pod);
        self.watches_show();
    }

    /// The node is unreachable, and its pods are being deleted.
    pub fn node_fails(&mut self, number: usize) {
        let name = NodeName::new(node(number));
        self.kube.bump();
        let lost = self.kube.nodes.get_mut(&name).unwrap();
        lost.ready = false;
        lost.unreachable = true;
        let on = self.kube.pods.values();
        let on = on.filter(|pod| pod.node.as_ref() == Some(&name));
        let pods: Vec<_> = on.map(|pod| pod.key.clone()).collect();
        for pod in pods {
            self.kube.change_pod(&pod, |pod| pod.deleting = Some(30));
        }
        self.watches_show();
    }

    /// The node becomes not ready, and its instance is stopped.
    pub fn is_stopped(&mut self, number: usize) {
        let name = node(number);
        self.cloud.stop(&instance_of(&name));
        self.kube.bump();
        let node = self.kube.nodes.get_mut(&NodeName::new(name)).unwrap();
        node.ready = false;
        self.watches_show();
    }

    /// The deletion of the pod begins.
    pub fn is_deleted(&mut self, name: &str) {
        let key = objects::key(name);
        self.kube.change_pod(&key, |pod| pod.deleting = Some(30));
        self.watches_show();
    }

    /// Changes the spec of every block.
    pub fn change_blocks(&mut self, change: impl Fn(&mut BlockSpec)) {
        for block in self.kube.blocks.values_mut() {
            change(block.spec.as_mut().unwrap());
        }
        self.kube.bump();
        self.watches_show();
    }

    /// The pod ends, and its object is removed.
    pub fn ends(&mut self, name: &str) {
        self.kube.bump();
        self.kube.pods.remove(&objects::key(name));
        self.watches_show();
    }

    /// Carries out the writes of a step of a block. Returns how that ended, if the step is one of them.
    pub(crate) fn block_step(&mut self, block: &BlockName, step: &BlockStep) -> Option<Fact> {
        let outcome = if (self.refuses_blocks)(step) {
            WriteOutcome::Refused("denied by a policy".to_owned())
        } else {
            self.kube.block_step(block, step)?;
            WriteOutcome::Done(None)
        };
        Some(Fact::BlockWrote(block.clone(), step.clone(), outcome))
    }

    pub(crate) fn node_step(&mut self, name: &NodeName, step: &NodeStep) -> Vec<Fact> {
        let wanted = match step {
            NodeStep::Ask(instance, _) => {
                let state = self.cloud.state_of(instance);
                let read = Fact::InstanceRead(instance.clone(), state);
                return vec![Fact::NodeAsked(name.clone(), None), read];
            }
            NodeStep::SetTaint(..) => true,
            NodeStep::RemoveTaint(_) => false,
        };
        let version = self.kube.bump();
        let node = self.kube.nodes.get_mut(name).unwrap();
        (node.out_of_service, node.our_taint) = (wanted, wanted);
        node.version = version;
        vec![Fact::NodeWrote(name.clone(), WriteOutcome::Done(None))]
    }
}
