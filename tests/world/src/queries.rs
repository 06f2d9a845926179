//! Questions that rules and goals ask of objects.

use mooring_plan::address::Address;
use mooring_plan::names::{InterfaceId, IpUid};
use mooring_plan::objects::{Claim, Ip, IpStatus, Node, Pod, ReplicaSet};

use crate::kube::Kube;

/// Does the status explain the address on that interface?
pub fn explains(status: &IpStatus, address: Address, interface: &InterfaceId) -> bool {
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
    pub fn reports_attached<'a>(&'a self, ip: &'a Ip) -> impl Iterator<Item = &'a Pod> {
        let of = |pod: &&Pod| pod.ip.as_ref() == Some(&ip.uid) && pod.reports_attached();
        self.pods.values().filter(of)
    }

    /// The Node that the pod is bound to, while it exists.
    pub fn node_of(&self, pod: &Pod) -> Option<&Node> {
        self.nodes.get(pod.node.as_ref()?)
    }

    /// The pod's `ReplicaSet`, while it exists.
    pub fn set_of(&self, pod: &Pod) -> Option<&ReplicaSet> {
        self.replica_sets.get(pod.replica_set()?.0)
    }

    /// Is this pod of a newer revision of the same Deployment than the other?
    pub fn is_newer(&self, pod: &Pod, other: &Pod) -> bool {
        let sets = self.set_of(pod).zip(self.set_of(other));
        sets.is_some_and(|(ours, theirs)| {
            ours.deployment == theirs.deployment && ours.revision > theirs.revision
        })
    }

    /// Is the address reserved for this IP? `None`: it is not reserved.
    pub fn reserved_for(&self, address: Address, uid: &IpUid) -> Option<bool> {
        let held = self.reservations.get(&address)?;
        Some(held.owner.as_ref() == Some(uid))
    }
}
