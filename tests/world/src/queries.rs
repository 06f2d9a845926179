//! Questions that rules and goals ask of objects.

use std::net::Ipv4Addr;

use mooring_plan::names::{InterfaceId, IpUid};
use mooring_plan::objects::{Claim, Ip, IpStatus, Node, Pod};

use crate::kube::Kube;

/// Does the status explain the address on that interface?
pub fn explains(status: &IpStatus, address: Ipv4Addr, interface: &InterfaceId) -> bool {
    let target = status.claim.as_ref().and_then(Claim::target);
    status.address == Some(address)
        && target.is_some_and(|target| &target.place.interface == interface)
        || status
            .previous
            .iter()
            .any(|entry| entry.address == address && &entry.interface == interface)
}

/// Does this Node count as working?
pub fn is_well(node: &Node) -> bool {
    node.ready && !node.unreachable && !node.out_of_service
}

impl Kube {
    /// The pods whose condition says that they have the address of this IP.
    pub fn says_attached<'a>(&'a self, ip: &'a Ip) -> impl Iterator<Item = &'a Pod> {
        let of = |pod: &&Pod| pod.ip.as_ref() == Some(&ip.uid) && pod.says_attached();
        self.pods.values().filter(of)
    }

    /// The Node that the pod is bound to, while it exists.
    pub fn node_of(&self, pod: &Pod) -> Option<&Node> {
        self.nodes.get(pod.node.as_ref()?)
    }

    /// The revision of the pod's `ReplicaSet`.
    pub fn revision(&self, pod: &Pod) -> Option<u64> {
        Some(self.replica_sets.get(pod.replica_set()?.0)?.revision)
    }

    /// Is the address reserved for this IP? `None`: it is not reserved.
    pub fn reserved_for(&self, address: Ipv4Addr, uid: &IpUid) -> Option<bool> {
        let held = self.reservations.get(&address)?;
        Some(held.owner.as_ref() == Some(uid))
    }
}
