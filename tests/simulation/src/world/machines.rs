//! Machines: instances, their interfaces, and their Nodes.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::time::Duration;

use ec2_emulator::state::id::{AttachmentId, InstanceId, NetworkInterfaceId, SubnetId};
use ec2_emulator::state::request::{Change, Changed};
use serde_json::json;

use super::World;
use crate::cloud::Cloud;

/// The grace period of the node controller for a silent kubelet (Kubernetes, `--node-monitor-grace-period`).
const GRACE: Duration = Duration::from_secs(40);
/// After this time the node controller of the cloud deletes the Node of an instance that is gone.
const FORGOTTEN: Duration = Duration::from_secs(20);
/// The last bytes of the addresses that the network plugin gives to its interfaces.
pub const PLUGINS: RangeInclusive<u8> = 140..=190;

/// How a machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Its kubelet talks.
    Well,
    /// Its kubelet is not heard; pods run on.
    Silent(Duration),
    /// The instance was stopped.
    Stopped(Duration),
    /// The instance is gone for good.
    Gone(Duration),
}

impl Health {
    /// Since when it has been away.
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
    /// How it is.
    pub health: Health,
    /// New pods do not come here.
    pub cordoned: bool,
    /// The time until which its kubelet reports that it is not ready.
    pub unready_until: Option<Duration>,
    /// The status of the Node is not ready.
    pub marked: bool,
}

/// The last byte of an address that an interface has from its creation although it is in a block.
pub const KEPT: u8 = 65;
/// The last bytes of other interfaces' first addresses: none is in a block.
const FIRST_ADDRESSES: [RangeInclusive<u8>; 2] = [4..=31, 100..=127];

/// A network with a subnet for the machines, and those for the addresses.
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

    /// Creates an interface for addresses and attaches it.
    fn plug(&self, instance: InstanceId, third: u8) -> (NetworkInterfaceId, AttachmentId) {
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

    /// An interface of the network plugin's, with addresses of its own, before ours in the order of devices.
    fn plug_plugins(&self, instance: InstanceId) {
        let third = *self.subnets.keys().next().expect("there is one");
        let interface = self.create_interface(third, "the network plugin's", BTreeMap::new());
        self.attach(interface, instance, 1);
        let free: Vec<Ipv4Addr> = self.free(third, PLUGINS).take(2).collect();
        self.put(interface, &free);
    }

    /// Addresses of a subnet that are nowhere.
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
        let lasts = in_block.then_some(KEPT).into_iter().chain(first);
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

    /// A machine of this name joins the cluster, on an instance of its own.
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
        self.say(format!("node {name} joins on {instance}"));
    }

    /// A Node that is none of the machines, and names the instance of this one.
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

    /// The interface for addresses is taken off the machine, and another is put on.
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

    /// Marks a Node so that nothing new comes there, or takes the mark off.
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

    /// Does the Node say that it is ready?
    fn is_ready(&self, name: &str) -> bool {
        let node = self.cluster.get("nodes", "", name);
        node.is_some_and(|node| super::kubelet::is_true(&node, "Ready"))
    }

    /// The node controllers: a Node that is silent for long is tainted, a Node whose instance is gone is deleted.
    pub(super) fn watch_machines(&mut self, now: Duration) {
        let names: Vec<String> = self.machines.keys().cloned().collect();
        for name in names {
            let machine = self.machines.get(&name).cloned().expect("it was listed");
            let since = machine.health.since();
            let gone = matches!(machine.health, Health::Gone(since) if now >= since + FORGOTTEN);
            if gone {
                self.machines.remove(&name);
                self.cluster.delete("nodes", "", &name, None);
                self.say(format!("node {name} is forgotten"));
                continue;
            }
            let mark = since.is_some_and(|since| now >= since + GRACE);
            let rested = machine.unready_until.is_some_and(|until| now >= until);
            // The last report of its kubelet was that it is not ready, and it reports again.
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
            self.say(format!("node {name} is marked unreachable: {mark}"));
        }
    }
}
