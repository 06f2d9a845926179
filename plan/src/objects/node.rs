//! Nodes.

use alloc::collections::BTreeMap;
use alloc::string::String;

use crate::names::{InstanceId, InstanceType, NodeName, ResourceVersion};

/// A Node.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the Node"
)]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// `metadata.uid`.
    pub uid: String,
    /// Its version.
    pub version: ResourceVersion,
    /// Its creation, in seconds since 1970.
    pub created: i64,
    /// The machine behind it, as its kubelet said when it registered. This is not proven.
    pub instance: Option<InstanceId>,
    /// Its label `node.kubernetes.io/instance-type`.
    pub instance_type: Option<InstanceType>,
    /// Its `Ready` condition is `True`.
    pub ready: bool,
    /// `node.kubernetes.io/unreachable:NoExecute`.
    pub unreachable: bool,
    /// `node.kubernetes.io/out-of-service`.
    pub out_of_service: bool,
    /// That taint is ours (it has our value): fast failover has set it.
    pub our_taint: bool,
    /// Labels; only those that block selectors can name matter.
    pub labels: BTreeMap<String, String>,
}
