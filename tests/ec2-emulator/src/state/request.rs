//! The requests and their answers.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::filter::{InstanceFilter, InterfaceFilter, SubnetFilter};
use super::id::{AttachmentId, InstanceId, NetworkInterfaceId, ResourceId, SubnetId, VpcId};
use super::instance_type::InstanceType;
use super::objects::{Instance, InstanceState, NetworkInterface, Subnet, Tags, Vpc};

/// A request that may change something, or that only reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    /// May change something.
    Change(Change),
    /// It only reads; a real EC2 can answer with an old state.
    Read(Read),
}

/// The answer to a request that was not refused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Response {
    /// To [`Request::Change`].
    Changed(Changed),
    /// To [`Request::Read`].
    Seen(Seen),
}

/// The addresses that an `AssignPrivateIpAddresses` requests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wanted {
    /// These.
    Addresses(BTreeSet<Ipv4Addr>),
    /// These prefixes, each as a whole (`Ipv4Prefix`).
    Prefixes(BTreeSet<Ipv4Net>),
    /// This number of free addresses (`SecondaryPrivateIpAddressCount`).
    Count(usize),
}

/// A request that may change something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// `CreateVpc`
    CreateVpc {
        /// Between /16 and /28.
        cidr: Ipv4Net,
        /// Tags from the start.
        tags: Tags,
    },
    /// `CreateSubnet`
    CreateSubnet {
        /// The VPC of the subnet.
        vpc: VpcId,
        /// Inside the VPC, overlapping no other subnet of it.
        cidr: Ipv4Net,
        /// `AvailabilityZone`; left out: EC2 chooses.
        zone: Option<String>,
        /// Tags from the start.
        tags: Tags,
    },
    /// `RunInstances`
    RunInstances {
        /// The subnet of the primary interface.
        subnet: SubnetId,
        /// The type, which sets the limits.
        kind: InstanceType,
        /// How many.
        count: usize,
        /// The primary address, for one instance only; left out: the lowest that is free.
        address: Option<Ipv4Addr>,
        /// Is the primary interface deleted with the instance (the default in EC2)?
        delete_on_termination: bool,
        /// Tags of the instances.
        tags: Tags,
        /// Tags of the primary interfaces.
        interface_tags: Tags,
    },
    /// `CreateNetworkInterface`
    CreateNetworkInterface {
        /// The subnet that its addresses come from.
        subnet: SubnetId,
        /// The primary address; left out: the lowest that is free.
        address: Option<Ipv4Addr>,
        /// Free text.
        description: String,
        /// Tags from the start.
        tags: Tags,
    },
    /// `AttachNetworkInterface`
    AttachNetworkInterface {
        /// The interface.
        interface: NetworkInterfaceId,
        /// The instance, in the same zone.
        instance: InstanceId,
        /// A free device index on the instance.
        device_index: u32,
    },
    /// `DetachNetworkInterface`
    DetachNetworkInterface {
        /// The attachment, not the interface.
        attachment: AttachmentId,
    },
    /// `DeleteNetworkInterface`
    DeleteNetworkInterface {
        /// An interface that is attached to nothing.
        interface: NetworkInterfaceId,
    },
    /// `AssignPrivateIpAddresses`
    AssignPrivateIpAddresses {
        /// The interface that gets them.
        interface: NetworkInterfaceId,
        /// The addresses.
        wanted: Wanted,
        /// May they be taken from other interfaces?
        allow_reassignment: bool,
    },
    /// `UnassignPrivateIpAddresses`
    UnassignPrivateIpAddresses {
        /// The interface that has them.
        interface: NetworkInterfaceId,
        /// Secondary addresses on it.
        addresses: BTreeSet<Ipv4Addr>,
    },
    /// `UnassignPrivateIpAddresses` with `Ipv4Prefix`
    UnassignPrefixes {
        /// The interface that has them.
        interface: NetworkInterfaceId,
        /// Prefixes delegated to it.
        prefixes: BTreeSet<Ipv4Net>,
    },
    /// `StartInstances`
    StartInstances(BTreeSet<InstanceId>),
    /// `StopInstances`
    StopInstances(BTreeSet<InstanceId>),
    /// `TerminateInstances`
    TerminateInstances(BTreeSet<InstanceId>),
    /// `CreateTags`
    CreateTags {
        /// The resource that gets them.
        resources: BTreeSet<ResourceId>,
        /// Added to the existing tags. A tag with the same key is overwritten.
        tags: Tags,
    },
}

/// A request that only reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Read {
    /// `DescribeNetworkInterfaces`
    NetworkInterfaces {
        /// Only these; each must exist. Empty: all.
        ids: BTreeSet<NetworkInterfaceId>,
        /// All must match.
        filters: Vec<InterfaceFilter>,
    },
    /// `DescribeInstances`
    Instances {
        /// Only these; each must exist. Empty: all.
        ids: BTreeSet<InstanceId>,
        /// All must match.
        filters: Vec<InstanceFilter>,
    },
    /// `DescribeInstanceStatus`
    InstanceStatus {
        /// Only these; each must exist. Empty: all.
        ids: BTreeSet<InstanceId>,
        /// Include instances that do not run.
        all: bool,
    },
    /// `DescribeSubnets`
    Subnets {
        /// Only these; each must exist. Empty: all.
        ids: BTreeSet<SubnetId>,
        /// All must match.
        filters: Vec<SubnetFilter>,
    },
    /// `DescribeInstanceTypes`
    InstanceTypes {
        /// Only these. Empty: all.
        kinds: BTreeSet<InstanceType>,
    },
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Changed {
    /// A VPC was created.
    Vpc(Vpc),
    /// A subnet was created.
    Subnet(Subnet),
    /// Instances were started for the first time.
    Instances(Vec<Instance>),
    /// An interface was created.
    NetworkInterface(NetworkInterface),
    /// An interface was attached.
    Attached(AttachmentId),
    /// The interface has these addresses now, whether or not it had them before.
    Assigned {
        /// The interface.
        interface: NetworkInterfaceId,
        /// The addresses asked for.
        addresses: BTreeSet<Ipv4Addr>,
    },
    /// The interface has these prefixes now.
    AssignedPrefixes {
        /// The interface.
        interface: NetworkInterfaceId,
        /// The prefixes asked for.
        prefixes: BTreeSet<Ipv4Net>,
    },
    /// The states of instances before and after.
    States(Vec<StateChange>),
    /// Done, without a result.
    Done,
}

/// The change of the state of one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateChange {
    /// The instance.
    pub instance: InstanceId,
    /// The former state.
    pub previous: InstanceState,
    /// The present state.
    pub current: InstanceState,
}

/// The result of a read, in the order of the ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Seen {
    /// Network interfaces.
    NetworkInterfaces(Vec<NetworkInterface>),
    /// Instances, terminated ones included.
    Instances(Vec<Instance>),
    /// Instances, for their status.
    InstanceStatus(Vec<Instance>),
    /// Subnets.
    Subnets(Vec<Subnet>),
    /// Instance types.
    InstanceTypes(Vec<InstanceType>),
}
