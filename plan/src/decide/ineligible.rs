//! Why a pod cannot hold the address now, and what its Event says.
//! Rules: R3.1, R3.5, R3.6, R3.9, R5.5.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::names::{InterfaceId, IpName, NodeName};
use crate::objects::Block;
use crate::reason::Reason;

/// Why a pod cannot hold the address now.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Ineligible {
    /// Not bound to a node yet.
    Unscheduled,
    /// Being deleted, ended, or without the annotation: it does not want an address.
    Leaving,
    /// The webhook did not admit it: it has no readiness gate, or no UID of an IP.
    NotAdmitted,
    /// It was admitted for an earlier IP of the same name.
    Stale(IpName),
    /// Its namespace may not use the address.
    Namespace,
    /// Its Node is unknown, not ready, or unreachable.
    NodeAway(NodeName),
    /// Its Node has no EC2 instance.
    NoInstance(NodeName),
    /// Its Node names an instance for which another Node is accepted.
    InstanceOfAnother(NodeName, NodeName),
    /// No inventory shows the ENIs in the subnet of the block yet.
    NoInventory,
    /// The instance has no usable ENI in the subnet of the block.
    NoInterface(NodeName),
    /// The ENI has no room.
    Full(InterfaceId),
    /// EC2 refused this target.
    Refused(InterfaceId, Reason),
}

impl Ineligible {
    /// The Event for a pod that waits; None if no message is needed. What EC2 does not show is reported on the IP.
    pub(crate) fn notice(&self, block: Option<&Block>) -> Option<(Reason, String)> {
        let name = block.map_or("", |block| block.name.as_str());
        Some(match self {
            Self::Unscheduled | Self::Leaving | Self::NoInventory => return None,
            Self::NotAdmitted => (
                Reason::NoEligibleNode,
                String::from(
                    "the pod did not come through Mooring's admission webhook: it has no readiness gate or names no \
                     IP's UID. Delete it, so that it is created again",
                ),
            ),
            Self::Stale(ip) => (
                Reason::StalePod,
                format!(
                    "the pod was admitted for an earlier IP {ip} that was deleted: delete the pod"
                ),
            ),
            Self::Namespace => (
                Reason::NoEligibleNode,
                format!(
                    "the pod's namespace may not use this address: add it to spec.allowedNamespaces of the IP and of \
                     block {name} ([\"*\"]: every namespace)"
                ),
            ),
            Self::NodeAway(node) => (
                Reason::NoEligibleNode,
                format!(
                    "node {node} is not ready or not reachable: the address waits until the node is ready or \
                     another pod can hold it"
                ),
            ),
            Self::NoInstance(node) => (
                Reason::NoEligibleNode,
                format!("node {node} has no EC2 instance id in spec.providerID"),
            ),
            Self::InstanceOfAnother(node, first) => (
                Reason::NoEligibleNode,
                format!(
                    "node {node} names the same EC2 instance in spec.providerID as node {first}, which is accepted: \
                     delete the Node of the two that is not that instance's"
                ),
            ),
            Self::NoInterface(node) => (
                Reason::NoEligibleNode,
                format!(
                    "node {node} has no network interface {} that block {name} can use: attach one, or let the pod run \
                     on a node that has one",
                    usable(block)
                ),
            ),
            Self::Full(interface) => (
                Reason::NodeFull,
                format!(
                    "{interface} has no room for another address: free one, or let the pod run on another node"
                ),
            ),
            Self::Refused(interface, Reason::AccessDenied) => (
                Reason::AccessDenied,
                format!(
                    "EC2 denied a call that is needed to assign the address to {interface}: the IP's Events name the \
                     permission. The call is retried after 1, 2 and 4 minutes, then every 8 minutes, or sooner when \
                     EC2 permits it; for a new pod immediately"
                ),
            ),
            Self::Refused(interface, reason) => (
                *reason,
                format!(
                    "EC2 refused {interface} ({}): it is tried again when an inventory shows room there",
                    reason.as_str()
                ),
            ),
        })
    }
}

/// Which interfaces a block can use, as a part of a sentence.
fn usable(block: Option<&Block>) -> String {
    let Some(spec) = block.and_then(|block| block.spec.as_ref().ok()) else {
        return String::from("in the subnet");
    };
    let tags = spec.interface_tags.iter();
    let tags: Vec<String> = tags.map(|(key, value)| format!("{key}={value}")).collect();
    if tags.is_empty() {
        return format!("in {}", spec.subnet);
    }
    format!("in {} with the tags {}", spec.subnet, tags.join(", "))
}
