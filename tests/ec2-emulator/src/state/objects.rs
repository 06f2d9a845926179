//! The objects of EC2.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::id::{AttachmentId, InstanceId, NetworkInterfaceId, SubnetId, VpcId};
use super::instance_type::InstanceType;

/// Tags of a resource.
pub type Tags = BTreeMap<String, String>;

/// The limit of an interface that is not attached: the limit of the largest type.
pub const ADDRESSES_UNATTACHED: usize = 50;

/// A virtual network.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vpc {
    /// The id.
    pub id: VpcId,
    /// Its only CIDR.
    pub cidr: Ipv4Net,
    /// Its tags.
    pub tags: Tags,
}

/// A part of a VPC, in one zone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subnet {
    /// The id.
    pub id: SubnetId,
    /// The VPC it belongs to.
    pub vpc: VpcId,
    /// Its CIDR.
    pub cidr: Ipv4Net,
    /// Its availability zone.
    pub zone: String,
    /// Its tags.
    pub tags: Tags,
}

impl Subnet {
    /// AWS reserves the first four addresses and the last (VPC User Guide, Subnet sizing).
    #[must_use]
    pub fn reserves(&self, address: Ipv4Addr) -> bool {
        let first = u32::from(self.cidr.network());
        self.cidr.contains(&address)
            && (u32::from(address) - first < 4 || address == self.cidr.broadcast())
    }

    /// The addresses that can be given to an interface, in order.
    pub fn usable(&self) -> impl Iterator<Item = Ipv4Addr> {
        let first = u32::from(self.cidr.network());
        let last = u32::from(self.cidr.broadcast());
        (first.saturating_add(4)..last).map(Ipv4Addr::from)
    }
}

/// The state of an instance. The transient states (pending, stopping, shutting-down) do not exist here: a call passes
/// through them at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceState {
    /// It runs.
    Running,
    /// It is stopped: its interfaces keep their addresses.
    Stopped,
    /// It is terminated permanently, and still listed.
    Terminated,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instance {
    /// The id.
    pub id: InstanceId,
    /// Its type, which sets the limits.
    pub kind: InstanceType,
    /// Its state.
    pub state: InstanceState,
    /// The subnet of its primary interface.
    pub subnet: SubnetId,
    /// Its tags.
    pub tags: Tags,
    /// Since when its status checks fail, in the time format of EC2. The system check and the instance check always
    /// fail together.
    pub impaired: Option<String>,
}

/// The attachment of an interface to an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attachment {
    /// The id. Each attach creates a new one.
    pub id: AttachmentId,
    /// The instance.
    pub instance: InstanceId,
    /// 0 for the primary interface.
    pub device_index: u32,
    /// Is the interface deleted with its instance?
    pub delete_on_termination: bool,
}

/// A network interface (ENI).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkInterface {
    /// The id.
    pub id: NetworkInterfaceId,
    /// The subnet that its addresses come from.
    pub subnet: SubnetId,
    /// Its primary address, which never changes.
    pub primary: Ipv4Addr,
    /// Its secondary addresses.
    pub secondary: BTreeSet<Ipv4Addr>,
    /// Prefixes delegated to it, each as a whole.
    pub prefixes: BTreeSet<Ipv4Net>,
    /// Its attachment.
    pub attachment: Option<Attachment>,
    /// Free text.
    pub description: String,
    /// Its tags.
    pub tags: Tags,
}

impl NetworkInterface {
    /// Every address on it, the primary one first.
    pub fn addresses(&self) -> impl Iterator<Item = Ipv4Addr> {
        std::iter::once(self.primary).chain(self.secondary.iter().copied())
    }

    /// Is the address in a delegated prefix of the interface?
    #[must_use]
    pub fn has_in_prefix(&self, address: Ipv4Addr) -> bool {
        self.prefixes.iter().any(|prefix| prefix.contains(&address))
    }

    /// The number of used slots. A prefix uses one, the same as an address.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.addresses().count() + self.prefixes.len()
    }

    /// Is the address on the interface, as primary or secondary address?
    #[must_use]
    pub fn has(&self, address: Ipv4Addr) -> bool {
        self.primary == address || self.secondary.contains(&address)
    }
}

impl NetworkInterface {
    /// The status of the interface in the words of EC2.
    #[must_use]
    pub const fn status(&self) -> &'static str {
        match self.attachment {
            Some(_) => "in-use",
            None => "available",
        }
    }
}

impl InstanceState {
    /// The name of the state in EC2.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Terminated => "terminated",
        }
    }

    /// The number of the state in EC2 (EC2 API reference, `InstanceState`).
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Running => 16,
            Self::Terminated => 48,
            Self::Stopped => 80,
        }
    }
}
