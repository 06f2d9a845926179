//! Answers of EC2, as plain data.

use crate::address::{Address, Cidr};
use crate::names::{InstanceId, InterfaceId, MacAddress, SubnetId};
use crate::outcome::Action;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

/// A network interface, as `DescribeNetworkInterfaces` shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interface {
    /// The id of the ENI.
    pub id: InterfaceId,
    /// The MAC address, by which the kernel of the instance identifies the ENI.
    pub mac: Option<MacAddress>,
    /// The subnet that contains all its addresses.
    pub subnet: SubnetId,
    /// The instance of its attachment, also while it is being attached or detached.
    pub instance: Option<InstanceId>,
    /// True if the status of the attachment is `attached` (not `attaching` or `detaching`).
    pub attached: bool,
    /// The device index on the instance; 0 is the first ENI of the instance.
    pub device_index: Option<u32>,
    /// The primary address, which never leaves the ENI. None for an ENI without IPv4.
    pub primary: Option<Address>,
    /// All its IPv4 addresses, including the primary one.
    pub addresses: BTreeSet<Address>,
    /// IPv4 prefixes that are delegated to it (prefix mode of the CNI). Each uses one slot, as an address does, and all
    /// addresses in it belong to this ENI.
    pub prefixes: Vec<Cidr>,
    /// The tags of the ENI.
    pub tags: BTreeMap<String, String>,
    /// True if AWS manages the ENI for one of its services: Mooring must not change its addresses.
    pub requester_managed: bool,
}

/// A subnet, as `DescribeSubnets` shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subnet {
    /// The CIDRs of the subnet.
    pub cidrs: Vec<Cidr>,
    /// Whether the VPC CNI uses the ENIs of this subnet.
    pub cni: CniUse,
}

impl Subnet {
    /// A subnet without tags.
    #[must_use]
    pub fn untagged(cidrs: Vec<Cidr>) -> Self {
        Self {
            cidrs,
            cni: CniUse::Allowed,
        }
    }
}

/// Whether the VPC CNI gives addresses of the ENIs of a subnet to pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CniUse {
    /// It does, except for ENIs with the tag that excludes them.
    #[default]
    Allowed,
    /// It does not, including the first ENI of an instance: the subnet has the tag `kubernetes.io/role/cni=0`
    /// (amazon-vpc-cni-k8s 1.22).
    Excluded,
}

/// The state of an instance in EC2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceState {
    /// Starting.
    Pending,
    /// Running, according to EC2.
    Running,
    /// Being terminated.
    ShuttingDown,
    /// Terminated. EC2 still shows it for about an hour.
    Terminated,
    /// Being stopped.
    Stopping,
    /// Stopped: its ENIs and their addresses stay attached.
    Stopped,
}

impl InstanceState {
    /// The state as words for a message.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Pending => "starting",
            Self::Running => "running",
            Self::ShuttingDown => "shutting down",
            Self::Terminated => "terminated",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
        }
    }

    /// True if no process can run on the instance, now or soon.
    #[must_use]
    pub const fn is_ending(self) -> bool {
        matches!(
            self,
            Self::ShuttingDown | Self::Terminated | Self::Stopping | Self::Stopped
        )
    }
}

/// Why an instance counts as lost, according to EC2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lost {
    /// The instance is in a state in which it ends or has ended.
    Ended(InstanceState),
    /// The instance runs, but a status check fails permanently.
    Impaired,
}

/// Whether an Assign may take the addresses from the ENI that has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reassign {
    /// EC2 refuses the call if another ENI has one of the addresses. EC2 offers no other fencing.
    #[default]
    Refuse,
    /// EC2 takes them from the ENI that has them (`AllowReassignment`).
    Allow,
}

impl Reassign {
    /// The first call of a move between two ENIs.
    #[must_use]
    pub const fn first_of_a_move(self) -> Action {
        match self {
            Self::Refuse => Action::Unassign,
            Self::Allow => Action::Assign,
        }
    }
}
