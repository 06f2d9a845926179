//! Indexes of facts by the objects that they name. A scan of thousands of objects for each event would be slow.

use alloc::collections::{BTreeMap, BTreeSet};

use super::sets::Sets;
use crate::address::Address;
use crate::names::{
    BlockName, InstanceId, InterfaceId, IpName, IpUid, NodeName, PodKey, PodUid, ReplicaSetUid,
};
use crate::objects::{Claim, Ip, Node, Pod};

/// Indexes of IPs, pods and Nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Index {
    ip_of_uid: BTreeMap<IpUid, IpName>,
    /// IPs by the pods in their claims and in `previous`.
    ips_naming: Sets<PodKey, IpName>,
    /// IPs by the Node that they are claimed for.
    ips_on: Sets<NodeName, IpName>,
    /// IPs that are claimed, by their block.
    claimed_in: Sets<BlockName, IpName>,
    /// IPs by the addresses that they have, can still have on an ENI, or ask for.
    ips_about: Sets<Address, IpName>,
    without_address: BTreeSet<IpName>,
    /// IPs by the ENI of their unfinished claim. The room of an ENI is computed for every candidate.
    unfinished_for: Sets<InterfaceId, IpName>,
    pods_called: Sets<PodKey, PodUid>,
    /// Pods by the Node that they are bound to; None: not bound yet.
    pods_on: Sets<Option<NodeName>, PodUid>,
    pods_of_set: Sets<ReplicaSetUid, PodUid>,
    nodes_of: Sets<InstanceId, NodeName>,
}

fn node_of(ip: &Ip) -> Option<&NodeName> {
    let target = ip.status.claim.as_ref().and_then(Claim::target);
    target.map(|target| &target.node)
}

fn block_of_claim(ip: &Ip) -> Option<&BlockName> {
    ip.status
        .block
        .as_ref()
        .filter(|_| ip.status.claim.is_some())
}

impl Index {
    pub(super) fn add_ip(&mut self, ip: &Ip) {
        self.ip_of_uid.insert(ip.uid.clone(), ip.name.clone());
        for (key, _) in ip.named_pods() {
            self.ips_naming.insert(key.clone(), ip.name.clone());
        }
        if let Some(node) = node_of(ip) {
            self.ips_on.insert(node.clone(), ip.name.clone());
        }
        if let Some(block) = block_of_claim(ip) {
            self.claimed_in.insert(block.clone(), ip.name.clone());
        }
        for address in ip.addresses().chain(ip.desired_address()) {
            self.ips_about.insert(address, ip.name.clone());
        }
        if ip.status.address.is_none() {
            self.without_address.insert(ip.name.clone());
        }
        if let Some(interface) = ip.unfinished_for() {
            self.unfinished_for
                .insert(interface.clone(), ip.name.clone());
        }
    }

    pub(super) fn remove_ip(&mut self, ip: &Ip) {
        self.ip_of_uid.remove(&ip.uid);
        for (key, _) in ip.named_pods() {
            self.ips_naming.remove(key, &ip.name);
        }
        if let Some(node) = node_of(ip) {
            self.ips_on.remove(node, &ip.name);
        }
        if let Some(block) = block_of_claim(ip) {
            self.claimed_in.remove(block, &ip.name);
        }
        for address in ip.addresses().chain(ip.desired_address()) {
            self.ips_about.remove(&address, &ip.name);
        }
        self.without_address.remove(&ip.name);
        if let Some(interface) = ip.unfinished_for() {
            self.unfinished_for.remove(interface, &ip.name);
        }
    }

    pub(super) fn add_pod(&mut self, pod: &Pod) {
        self.pods_called.insert(pod.key.clone(), pod.uid.clone());
        self.pods_on.insert(pod.node.clone(), pod.uid.clone());
        if let Some((_, set)) = pod.replica_set() {
            self.pods_of_set.insert(set.clone(), pod.uid.clone());
        }
    }

    pub(super) fn remove_pod(&mut self, pod: &Pod) {
        self.pods_called.remove(&pod.key, &pod.uid);
        self.pods_on.remove(&pod.node, &pod.uid);
        if let Some((_, set)) = pod.replica_set() {
            self.pods_of_set.remove(set, &pod.uid);
        }
    }

    pub(super) fn add_node(&mut self, node: &Node) {
        if let Some(instance) = &node.instance {
            self.nodes_of.insert(instance.clone(), node.name.clone());
        }
    }

    pub(super) fn remove_node(&mut self, node: &Node) {
        if let Some(instance) = &node.instance {
            self.nodes_of.remove(instance, &node.name);
        }
    }

    /// The Nodes that name an instance; there can be several.
    pub(crate) fn nodes_of(&self, instance: &InstanceId) -> impl Iterator<Item = &NodeName> {
        self.nodes_of.of(instance)
    }

    /// The pods that are bound to the Nodes of an instance.
    pub(crate) fn pods_at(&self, instance: &InstanceId) -> impl Iterator<Item = &PodUid> {
        let nodes = self.nodes_of.of(instance);
        nodes.flat_map(|node| self.pods_on.of(&Some(node.clone())))
    }

    pub(crate) fn ip_of_uid(&self, uid: &IpUid) -> Option<&IpName> {
        self.ip_of_uid.get(uid)
    }

    pub(crate) fn ips_naming(&self, pod: &PodKey) -> impl Iterator<Item = &IpName> {
        self.ips_naming.of(pod)
    }

    pub(crate) fn ips_on(&self, node: &NodeName) -> impl Iterator<Item = &IpName> {
        self.ips_on.of(node)
    }

    /// The IPs that have the address, can still have it on an ENI, or ask for it.
    pub(crate) fn ips_about(&self, address: Address) -> impl Iterator<Item = &IpName> {
        self.ips_about.of(&address)
    }

    /// The IPs without an address.
    pub(crate) fn without_address(&self) -> impl Iterator<Item = &IpName> {
        self.without_address.iter()
    }

    /// The IPs with an unfinished claim for this ENI.
    pub(crate) fn unfinished_for(&self, interface: &InterfaceId) -> impl Iterator<Item = &IpName> {
        self.unfinished_for.of(interface)
    }

    pub(crate) fn claimed_in(&self, block: &BlockName) -> usize {
        self.claimed_in.count(block)
    }

    pub(crate) fn pods_called(&self, key: &PodKey) -> impl Iterator<Item = &PodUid> {
        self.pods_called.of(key)
    }

    pub(crate) fn pods_of_set(&self, set: &ReplicaSetUid) -> impl Iterator<Item = &PodUid> {
        self.pods_of_set.of(set)
    }

    /// The pods that are bound to the Node, and the pods that are not bound yet.
    pub(crate) fn pods_on_or_waiting(&self, node: &NodeName) -> impl Iterator<Item = &PodUid> {
        let here = self.pods_on.of(&Some(node.clone()));
        here.chain(self.pods_on.of(&None))
    }
}
