//! Machines: instances and their Nodes.

use std::collections::BTreeMap;
use std::time::Duration;

use ec2_emulator::state::id::{AttachmentId, InstanceId, NetworkInterfaceId};
use ec2_emulator::state::request::{Change, Changed};
use serde_json::json;

use super::World;

/// The grace period of the node controller for a silent kubelet (Kubernetes, `--node-monitor-grace-period`).
const GRACE: Duration = Duration::from_secs(40);
/// After this time the node controller of the cloud deletes the Node of an instance that is gone.
const FORGOTTEN: Duration = Duration::from_secs(20);

/// The state of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Its kubelet reports.
    Well,
    /// Its kubelet does not report. Its pods continue to run.
    Silent(Duration),
    /// The instance was stopped.
    Stopped(Duration),
    /// The instance was terminated.
    Gone(Duration),
}

impl Health {
    /// Since when the machine has been away. None: it is not away.
    const fn since(self) -> Option<Duration> {
        match self {
            Self::Well => None,
            Self::Silent(since) | Self::Stopped(since) | Self::Gone(since) => Some(since),
        }
    }
}

/// A machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its instance.
    pub instance: InstanceId,
    /// The interfaces that carry addresses, by the third bytes of their subnets.
    pub interfaces: BTreeMap<u8, (NetworkInterfaceId, AttachmentId)>,
    /// Its state.
    pub health: Health,
    /// It is not schedulable.
    pub cordoned: bool,
    /// The time until which its kubelet reports that it is not ready.
    pub unready_until: Option<Duration>,
    /// The status of the Node is not ready.
    pub marked: bool,
}

impl World {
    /// An instance with an interface for addresses in each subnet.
    fn launch(&self) -> (InstanceId, BTreeMap<u8, (NetworkInterfaceId, AttachmentId)>) {
        let run = Change::RunInstances {
            subnet: self.primary,
            kind: self.shape.machine,
            count: 1,
            address: None,
            delete_on_termination: true,
            tags: BTreeMap::new(),
            interface_tags: BTreeMap::new(),
        };
        let Ok(Changed::Instances(instances)) = self.cloud.change(run) else {
            panic!("no instance");
        };
        let instance = instances.first().expect("one was asked for").id;
        if self.shape.plugin {
            self.plug_plugins(instance);
        }
        let interfaces = self
            .subnets
            .keys()
            .map(|third| (*third, self.plug(instance, *third)));
        (instance, interfaces.collect())
    }

    /// A machine with this name joins the cluster, on a new instance.
    pub fn join(&mut self, name: &str) {
        let (instance, interfaces) = self.launch();
        let machine = Machine {
            instance,
            interfaces,
            health: Health::Well,
            cordoned: false,
            unready_until: None,
            marked: false,
        };
        self.register(name, instance);
        self.machines.insert(name.to_owned(), machine);
        self.note(format!("node {name} joins on {instance}"));
    }

    /// Creates a Node without a machine, which names the instance of this machine.
    pub fn forge(&mut self, name: &str, machine: &str) {
        let instance = self.machines[machine].instance;
        self.register(name, instance);
        self.log.fault(format!(
            "world    node {name} names the instance of {machine}"
        ));
    }

    fn register(&self, name: &str, instance: InstanceId) {
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {
                "kubernetes.io/hostname": name,
                "node.kubernetes.io/instance-type": self.shape.machine.as_str(),
            }},
            "spec": {"providerID": format!("aws:///eu-north-1a/{instance}")},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        });
        let _ = self.cluster.create("nodes", node);
        // The API server ignores the status in a create request.
        self.cluster.merge_status(
            "nodes",
            "",
            name,
            json!({"conditions": [{"type": "Ready", "status": "True"}]}),
        );
    }

    /// Something happens to a machine.
    pub fn set_health(&mut self, name: &str, to: fn(Duration) -> Health) {
        let now = self.log.now();
        let Some(machine) = self.machines.get_mut(name) else {
            return;
        };
        let (before, instance) = (machine.health, machine.instance);
        if matches!(before, Health::Gone(_)) {
            return;
        }
        machine.health = to(now);
        let after = machine.health;
        let ids = std::collections::BTreeSet::from([instance]);
        match after {
            Health::Stopped(_) => {
                let _ = self.cloud.change(Change::StopInstances(ids));
            }
            Health::Gone(_) => {
                machine.interfaces.clear();
                let _ = self.cloud.change(Change::TerminateInstances(ids));
            }
            Health::Well if matches!(before, Health::Stopped(_)) => {
                let _ = self.cloud.change(Change::StartInstances(ids));
            }
            Health::Well | Health::Silent(_) => {}
        }
        self.log.fault(format!("world    node {name} is {after:?}"));
    }

    /// The kubelet of the machine restarts: it is not ready for some time, and still reports.
    pub fn blink(&mut self, name: &str, until: Duration) {
        if let Some(machine) = self
            .machines
            .get_mut(name)
            .filter(|machine| machine.health == Health::Well)
        {
            machine.unready_until = Some(until);
            self.log
                .fault(format!("world    node {name} is not ready for a while"));
            self.ready(name, "False", false);
        }
    }

    /// Detaches the interface for addresses from the machine, and attaches another one.
    pub fn replug(&mut self, name: &str) {
        let Some(machine) = self.machines.get(name) else {
            return;
        };
        let (instance, interfaces) = (machine.instance, machine.interfaces.clone());
        let thirds: Vec<u8> = interfaces.keys().copied().collect();
        let Some(third) = self.chance.pick(&thirds).copied() else {
            return;
        };
        let (interface, attachment) = interfaces[&third];
        let _ = self
            .cloud
            .change(Change::DetachNetworkInterface { attachment });
        if self.chance.one_in(2) {
            let _ = self
                .cloud
                .change(Change::DeleteNetworkInterface { interface });
        }
        let plugged = self.plug(instance, third);
        if let Some(machine) = self.machines.get_mut(name) {
            machine.interfaces.insert(third, plugged);
        }
        self.log.fault(format!(
            "world    node {name} has {} instead of {interface}",
            plugged.0
        ));
    }

    /// Cordons a Node (not schedulable), or makes it schedulable again.
    pub fn cordon(&mut self, name: &str, cordoned: bool) {
        if let Some(machine) = self.machines.get_mut(name) {
            machine.cordoned = cordoned;
            self.cluster.merge(
                "nodes",
                "",
                name,
                json!({"spec": {"unschedulable": cordoned}}),
            );
        }
    }

    /// Writes whether a Node is ready, and whether it is unreachable.
    fn ready(&self, name: &str, status: &str, unreachable: bool) {
        self.cluster.merge_status(
            "nodes",
            "",
            name,
            json!({"conditions": [{"type": "Ready", "status": status}]}),
        );
        let mut taints = self.taints_of(name);
        if unreachable {
            taints.push(json!({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}));
        }
        let taints = if taints.is_empty() {
            json!(null)
        } else {
            json!(taints)
        };
        self.cluster
            .merge("nodes", "", name, json!({"spec": {"taints": taints}}));
    }

    /// Whether the Node is `Ready`.
    fn is_ready(&self, name: &str) -> bool {
        let node = self.cluster.get("nodes", "", name);
        node.is_some_and(|node| super::kubelet::is_true(&node, "Ready"))
    }

    /// The node controllers: they taint a Node whose kubelet does not report, and delete a Node whose instance is gone.
    pub(super) fn watch_machines(&mut self, now: Duration) {
        let names: Vec<String> = self.machines.keys().cloned().collect();
        for name in names {
            let machine = self.machines.get(&name).cloned().expect("it was listed");
            let since = machine.health.since();
            let gone = matches!(machine.health, Health::Gone(since) if now >= since + FORGOTTEN);
            if gone {
                self.machines.remove(&name);
                self.cluster.delete("nodes", "", &name, None);
                self.note(format!("node {name} is forgotten"));
                continue;
            }
            let mark = since.is_some_and(|since| now >= since + GRACE);
            let rested = machine.unready_until.is_some_and(|until| now >= until);
            // Its kubelet reports again, after a last report that it is not ready.
            let spoke = self.shape.fast && since.is_none() && machine.unready_until.is_none();
            let again = spoke && !self.is_ready(&name);
            if mark == machine.marked && !rested && !again {
                continue;
            }
            if let Some(machine) = self.machines.get_mut(&name) {
                machine.marked = mark;
                machine.unready_until = None;
            }
            self.ready(&name, if mark { "Unknown" } else { "True" }, mark);
            self.note(format!("node {name} is marked unreachable: {mark}"));
        }
    }
}
