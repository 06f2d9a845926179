//! What EC2 says, as plain data.

use crate::address::{Address, Cidr};
use crate::names::{InstanceId, InterfaceId, MacAddress, SubnetId};
use crate::outcome::Action;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

/// A network interface, as `DescribeNetworkInterfaces` shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interface {
    /// Its id.
    pub id: InterfaceId,
    /// Its MAC address: what the kernel of the instance knows it by.
    pub mac: Option<MacAddress>,
    /// The subnet that all its addresses lie in.
    pub subnet: SubnetId,
    /// The instance that it is attached to, being attached to, or being detached from.
    pub instance: Option<InstanceId>,
    /// The attachment's status is `attached`: neither on its way there nor away.
    pub attached: bool,
    /// Its place on the instance; 0 is the instance's first interface.
    pub device_index: Option<u32>,
    /// The address that it was made with and keeps. None for an interface without IPv4.
    pub primary: Option<Address>,
    /// All its IPv4 addresses, the primary one among them.
    pub addresses: BTreeSet<Address>,
    /// IPv4 prefixes delegated to it (the CNI's prefix mode): each takes a slot, as an address does, and every
    /// address in it is this interface's.
    pub prefixes: Vec<Cidr>,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// AWS manages it for one of its own services: addresses on it are not ours to touch.
    pub requester_managed: bool,
}

/// A subnet, as `DescribeSubnets` shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subnet {
    /// Its CIDRs.
    pub cidrs: Vec<Cidr>,
    /// What the VPC CNI does with interfaces there.
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

/// Does the VPC CNI give addresses of the subnet's interfaces to pods?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CniUse {
    /// It does, unless an interface is tagged.
    #[default]
    Allowed,
    /// It does not, not even of an instance's first interface: the subnet has the tag `kubernetes.io/role/cni=0`
    /// (amazon-vpc-cni-k8s 1.22).
    Excluded,
}

/// EC2's states of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceState {
    /// Starting.
    Pending,
    /// Running, as far as EC2 can see.
    Running,
    /// Being terminated.
    ShuttingDown,
    /// Gone for good; still shown for about an hour.
    Terminated,
    /// Being stopped.
    Stopping,
    /// Stopped: its interfaces and their addresses stay with it.
    Stopped,
}

impl InstanceState {
    /// As a sentence says it.
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

    /// Whether no process can run on it any more, or soon will not.
    #[must_use]
    pub const fn is_ending(self) -> bool {
        matches!(
            self,
            Self::ShuttingDown | Self::Terminated | Self::Stopping | Self::Stopped
        )
    }
}

/// Why a machine is lost, according to EC2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lost {
    /// Its instance has ended, or soon will have.
    Ended(InstanceState),
    /// Its instance runs, and a status check fails for good.
    Impaired,
}

/// Whether an assignment may take addresses from the ENI that has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reassign {
    /// EC2 refuses if another ENI has one of the addresses: the one fence that there is.
    #[default]
    Refuse,
    /// EC2 takes them from whichever ENI has them (`AllowReassignment`).
    Allow,
}

impl Reassign {
    /// The call that a move between two ENIs begins with.
    #[must_use]
    pub const fn first_of_a_move(self) -> Action {
        match self {
            Self::Refuse => Action::Unassign,
            Self::Allow => Action::Assign,
        }
    }
}
