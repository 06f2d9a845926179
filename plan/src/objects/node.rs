//! The parts of a Node that decisions need.

use alloc::collections::BTreeMap;
use alloc::string::String;

use crate::names::{BootId, InstanceId, InstanceType, NodeName, ResourceVersion};

/// A Node.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the Node"
)]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    /// The name of the Node.
    pub name: NodeName,
    /// `metadata.uid`.
    pub uid: String,
    /// The `resourceVersion`, which guards writes.
    pub version: ResourceVersion,
    /// `creationTimestamp`, in seconds since 1970.
    pub created: i64,
    /// Its EC2 instance from `providerID`. The kubelet sets it when it registers, so it is not proven.
    pub instance: Option<InstanceId>,
    /// The label `node.kubernetes.io/instance-type`.
    pub instance_type: Option<InstanceType>,
    /// The present boot of its kernel, as its kubelet reports it. None: not known.
    pub boot: Option<BootId>,
    /// True if its condition `Ready` is `True`.
    pub ready: bool,
    /// True if it has the taint `node.kubernetes.io/unreachable:NoExecute`.
    pub unreachable: bool,
    /// True if it has the taint `node.kubernetes.io/out-of-service`.
    pub out_of_service: bool,
    /// True if that taint has the value that fast failover sets.
    pub our_taint: bool,
    /// Labels, for the selectors of blocks.
    pub labels: BTreeMap<String, String>,
}
