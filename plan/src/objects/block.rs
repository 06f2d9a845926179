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
    /// These.
    Only(BTreeSet<Namespace>),
}

impl Default for Namespaces {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

impl Namespaces {
    /// As the field lists them.
    pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: BTreeSet<&str> = names.into_iter().collect();
        if names.contains("*") {
            return Self::All;
        }
        Self::Only(names.into_iter().map(Namespace::from).collect())
    }

    /// May pods of this namespace use it?
    #[must_use]
    pub fn allow(&self, namespace: &Namespace) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(namespace),
        }
    }

    /// Does `after` leave out a namespace that was allowed?
    #[must_use]
    pub fn narrows_to(&self, after: &Self) -> bool {
        match (self, after) {
            (_, Self::All) => false,
            (Self::All, Self::Only(_)) => true,
            (Self::Only(before), Self::Only(after)) => !before.is_subset(after),
        }
    }
}

/// Who brings packets from the interface to the pod and back (`spec.node`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataPath {
    /// Not Mooring.
    #[default]
    Foreign,
    /// The node part: a pod is ready only after it has programmed the address.
    NodePart,
}

/// An `IPBlock`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block {
    /// Its name.
    pub name: BlockName,
    /// `metadata.uid`.
    pub uid: String,
    /// Its version.
    pub version: ResourceVersion,
    /// `metadata.generation`.
    pub generation: i64,
    /// Is it being deleted?
    pub deleting: bool,
    /// Does it carry our finalizer?
    pub finalizer: bool,
    /// The spec; `Err` says in a sentence why it cannot be read.
    pub spec: Result<BlockSpec, String>,
    /// A person confirms that the pods are gone (annotation `ip.wgtwo.com/release-brake`): the brake ends.
    pub release_brake: bool,
    /// What was last said of it.
    pub status: BlockStatus,
}

/// An `IPBlock`'s spec.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockSpec {
    /// CIDR and excluded addresses.
    pub range: BlockRange,
    /// The subnet whose interfaces can carry the addresses.
    pub subnet: SubnetId,
    /// The administrator's labels; None: the controller labels the nodes.
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Only interfaces with all these tags.
    pub interface_tags: BTreeMap<String, String>,
    /// Namespaces that may use it.
    pub allowed_namespaces: Namespaces,
    /// How long a Node may be away before the address may leave a pod that is being deleted.
    pub failover_after: Duration,
    /// Is a node taken out of service when EC2 says that its instance has ended?
    pub fast_failover: bool,
    /// Who brings packets from the interface to the pod.
    pub data_path: DataPath,
    /// Does the node part ask a target which source address it sees?
    pub probe: bool,
}

/// An `IPBlock`'s status.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockStatus {
    /// The subnet's CIDRs, canonical text.
    pub subnet_cidrs: Vec<String>,
    /// Addresses that can be reserved at all.
    pub capacity: u64,
    /// Addresses reserved by IPs.
    pub reserved: u64,
    /// Of these, on an interface.
    pub attached: u64,
    /// Addresses that others have: on an interface, and reserved by no IP.
    pub foreign: u64,
    /// Addresses that can still be reserved.
    pub free: u64,
    /// Nodes with a usable interface.
    pub nodes: u64,
    /// Conditions by type.
    pub conditions: BTreeMap<String, Condition>,
}
