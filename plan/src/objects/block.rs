//! An `IPBlock`, and which namespaces may use it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::Condition;
use crate::block::BlockRange;
use crate::names::{BlockName, Namespace, ResourceVersion, SubnetId};

/// Which namespaces may use an address (`spec.allowedNamespaces`). By default none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Namespaces {
    /// `["*"]`
    All,
    /// Only these namespaces.
    Only(BTreeSet<Namespace>),
}

impl Default for Namespaces {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

impl Namespaces {
    /// From the list in the field.
    pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: BTreeSet<&str> = names.into_iter().collect();
        if names.contains("*") {
            return Self::All;
        }
        Self::Only(names.into_iter().map(Namespace::from).collect())
    }

    /// True if pods of this namespace may use it.
    #[must_use]
    pub fn allow(&self, namespace: &Namespace) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(namespace),
        }
    }

    /// True if a namespace that is allowed here is not allowed in `after`.
    #[must_use]
    pub fn narrows_to(&self, after: &Self) -> bool {
        match (self, after) {
            (_, Self::All) => false,
            (Self::All, Self::Only(_)) => true,
            (Self::Only(before), Self::Only(after)) => !before.is_subset(after),
        }
    }
}

/// Which program brings packets from the ENI to the pod and back (`spec.node`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataPath {
    /// Another program than Mooring.
    #[default]
    Foreign,
    /// The node part: a pod is ready only after the node part has programmed the address.
    NodePart,
}

/// An `IPBlock`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block {
    /// The name of the block.
    pub name: BlockName,
    /// `metadata.uid`.
    pub uid: String,
    /// The `resourceVersion`, which guards writes.
    pub version: ResourceVersion,
    /// `metadata.generation`.
    pub generation: i64,
    /// True if it is being deleted.
    pub deleting: bool,
    /// True if it has our finalizer.
    pub finalizer: bool,
    /// The spec; `Err` is a message why it cannot be read.
    pub spec: Result<BlockSpec, String>,
    /// True if a user confirms that the pods are gone (annotation `ip.wgtwo.com/release-brake`): the brake ends.
    pub release_brake: bool,
    /// The present status.
    pub status: BlockStatus,
}

/// The spec of an `IPBlock`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockSpec {
    /// CIDR and excluded addresses.
    pub range: BlockRange,
    /// The subnet whose ENIs can carry the addresses.
    pub subnet: SubnetId,
    /// Node labels that an administrator sets; None: the controller labels the nodes.
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Only ENIs with all these tags are used.
    pub interface_tags: BTreeMap<String, String>,
    /// Namespaces that may use it.
    pub allowed_namespaces: Namespaces,
    /// How long a Node must be away before the address may move from a pod that is being deleted.
    pub failover_after: Duration,
    /// True if a node is tainted `out-of-service` when its instance has ended according to EC2.
    pub fast_failover: bool,
    /// Which program brings packets from the ENI to the pod.
    pub data_path: DataPath,
    /// True if the node part asks a target which source address it sees.
    pub probe: bool,
}

/// The status of an `IPBlock`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockStatus {
    /// The CIDRs of the subnet, as canonical text.
    pub subnet_cidrs: Vec<String>,
    /// Number of addresses that can be reserved in total.
    pub capacity: u64,
    /// Number of addresses that are reserved by IPs.
    pub reserved: u64,
    /// Number of reserved addresses that are attached.
    pub attached: u64,
    /// Number of addresses that others have: on an ENI and not reserved by an IP, or reserved by another manager.
    pub foreign: u64,
    /// Number of addresses that can still be reserved.
    pub free: u64,
    /// Number of nodes with a usable ENI.
    pub nodes: u64,
    /// Conditions by type.
    pub conditions: BTreeMap<String, Condition>,
}
