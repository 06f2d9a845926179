//! What a decision asks to be done: one read or one write, and when to look again.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use crate::address::Address;
use crate::cloud::{Lost, Reassign};
use crate::names::{
    BlockName, InstanceId, InstanceType, InterfaceId, IpName, IpUid, NodeName, PodKey, PodUid,
    ResourceVersion, SubnetId,
};
use crate::objects::{BlockStatus, IpStatus, Reservation};
use crate::outcome::Action;
use crate::reason::Reason;
use crate::time::Instant;

/// One step for one IP, and what to say of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decision {
    /// What to do now; None: nothing.
    pub step: Option<Step>,
    /// When to look again although nothing happened, also if the step has to wait for something.
    pub again: Option<Instant>,
    /// What to tell the user; repeated as long as it is so, the driver says each thing once.
    pub notices: Vec<Notice>,
}

/// An Event to be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Notice {
    /// On which object.
    pub on: Regarding,
    /// Its reason; whether it is a Warning follows from it.
    pub reason: Reason,
    /// The sentence, which says what to do next where something is to be done.
    pub message: String,
}

/// The object that a notice is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Regarding {
    /// An `IP`.
    Ip(IpName, IpUid),
    /// A pod.
    Pod(PodKey, PodUid),
    /// A block, with `metadata.uid`.
    Block(BlockName, String),
    /// A Node, with `metadata.uid`.
    Node(NodeName, String),
}

/// One step: each is one request, and its answer comes back as a fact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// A quorum read.
    Read(Read),
    /// A write to the API server.
    Write(Write),
    /// A mutating call to EC2. Never sent but for a claim that is durable.
    Call(Call),
}

/// A read that a decision needs (R1.6). Answers: [`crate::facts::Fact`]'s `…Read`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Read {
    /// GET of a pod.
    Pod(PodKey),
    /// GET of an `IP`.
    Ip(IpName),
    /// GET of a Node.
    Node(NodeName),
    /// GET of an `IPAddress`.
    Reservation(Address),
    /// LIST of the `IPAddress`es whose label names this IP.
    Reservations(IpUid),
    /// The pod's `ReplicaSet`, and every other one of its Deployment.
    ReplicaSets(PodKey, String),
    /// `DescribeInstances` of one instance.
    Instance(InstanceId),
}

/// A write to the API server, guarded by what it was decided from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Write {
    /// Put our finalizer on the `IP` (guarded by its version).
    AddFinalizer {
        /// The `IP`.
        ip: IpName,
        /// Its version.
        version: ResourceVersion,
    },
    /// Take it off: the last thing of an `IP`.
    RemoveFinalizer {
        /// The `IP`.
        ip: IpName,
        /// Its version.
        version: ResourceVersion,
    },
    /// Remove the annotation `take-from`, used.
    DropTakeFrom {
        /// The `IP`.
        ip: IpName,
        /// Its version.
        version: ResourceVersion,
    },
    /// Replace the status (guarded by the version).
    Status {
        /// The `IP`.
        ip: IpName,
        /// Its version.
        version: ResourceVersion,
        /// What it changes.
        change: StatusWrite,
        /// All of the status, as it is to be.
        status: IpStatus,
    },
    /// Say on an `IP` that it cannot be read, and nothing else (guarded by the version).
    ReportUnreadable {
        /// The `IP`.
        ip: IpName,
        /// Its version.
        version: ResourceVersion,
        /// Why it cannot be read.
        message: String,
    },
    /// Create the `IPAddress` of this address for this IP, as its spec at that version says.
    Reserve {
        /// The `IP`.
        ip: IpName,
        /// Its UID.
        uid: IpUid,
        /// Its version.
        version: ResourceVersion,
        /// The address that its spec asks for.
        address: Address,
    },
    /// Put owner reference, labels and finalizer of the `IPAddress` right, and note the version of the IP
    /// that wants it, so that this is a change (guarded by the version of the `IPAddress`).
    RepairReservation {
        /// The `IP`.
        ip: IpName,
        /// Its UID.
        uid: IpUid,
        /// Its version.
        wanted_at: ResourceVersion,
        /// The `IPAddress` as it was read.
        reservation: Reservation,
    },
    /// Delete the `IPAddress` (by UID and version) and take its finalizer off.
    Release(Reservation),
    /// Write our condition on a pod (guarded by UID, and by version where one is given).
    Gate(GateWrite),
    /// Put our label on the pod again, or take label and `ip-uid` off (guarded by UID).
    Label {
        /// The pod's object.
        pod: PodKey,
        /// The pod.
        uid: PodUid,
        /// The IP that the label names; None: it is taken off.
        ip: Option<IpName>,
    },
}

/// What a status write is: for the trace, the metrics and the Events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatusWrite {
    /// The address was reserved.
    Reserved,
    /// A pod claims it, or a claim goes to another pod or place.
    Claim,
    /// A claim goes back to the holder before.
    Revert,
    /// EC2 confirmed the claim.
    Record,
    /// It is to be taken off.
    Detach,
    /// It was taken off: no pod holds it.
    Clear,
    /// Only conditions change, and places that are proven empty leave `previous`.
    Conditions,
}

/// Does a status write bring the address to another place?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moved {
    /// Yes: `lastMoveTime` becomes the present.
    Yes,
    /// No: it stays.
    No,
}

/// Our condition on a pod, as it is to be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GateWrite {
    /// The pod's object.
    pub pod: PodKey,
    /// The pod.
    pub uid: PodUid,
    /// The version that was read; None: whatever it is by now (a loser's `False`).
    pub version: Option<ResourceVersion>,
    /// `True` or `False`.
    pub status: bool,
    /// Why.
    pub reason: Reason,
    /// Why.
    pub message: String,
    /// For a loser: the version of the IP that this was decided from. It is kept on the pod, so that this
    /// write changes the pod's version although nothing else in it may.
    pub denied_at: Option<ResourceVersion>,
}

impl GateWrite {
    /// Does it tell a pod that waits why it waits? Nothing depends on it.
    #[must_use]
    pub const fn tells_why(&self) -> bool {
        !self.status && self.denied_at.is_none()
    }
}

/// A mutating call to EC2.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// `AssignPrivateIpAddresses`.
    Assign {
        /// The network interface that gets the address.
        interface: InterfaceId,
        /// The address.
        address: Address,
        /// May it take the address from another interface?
        reassign: Reassign,
    },
    /// `UnassignPrivateIpAddresses`.
    Unassign {
        /// The network interface that has the address.
        interface: InterfaceId,
        /// The address.
        address: Address,
    },
}

/// What calls have in common that go in one request: all of its addresses are attached or detached, or none
/// (EC2 API reference, `AssignPrivateIpAddresses`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallGroup {
    /// `AssignPrivateIpAddresses`.
    Assign(InterfaceId, Reassign),
    /// `UnassignPrivateIpAddresses`.
    Unassign(InterfaceId),
}

impl CallGroup {
    /// The interface that they go to.
    #[must_use]
    pub const fn interface(&self) -> &InterfaceId {
        match self {
            Self::Assign(interface, _) | Self::Unassign(interface) => interface,
        }
    }

    /// EC2's action.
    #[must_use]
    pub const fn action(&self) -> Action {
        match self {
            Self::Assign(..) => Action::Assign,
            Self::Unassign(_) => Action::Unassign,
        }
    }

    /// The call for one address.
    #[must_use]
    pub fn call(&self, address: Address) -> Call {
        match self {
            Self::Assign(interface, reassign) => Call::Assign {
                interface: interface.clone(),
                address,
                reassign: *reassign,
            },
            Self::Unassign(interface) => Call::Unassign {
                interface: interface.clone(),
                address,
            },
        }
    }
}

impl Call {
    /// What it has in common with the calls that it can go with.
    #[must_use]
    pub fn group(&self) -> CallGroup {
        match self {
            Self::Assign {
                interface,
                reassign,
                ..
            } => CallGroup::Assign(interface.clone(), *reassign),
            Self::Unassign { interface, .. } => CallGroup::Unassign(interface.clone()),
        }
    }

    /// The interface it goes to.
    #[must_use]
    pub fn interface(&self) -> &InterfaceId {
        match self {
            Self::Assign { interface, .. } | Self::Unassign { interface, .. } => interface,
        }
    }

    /// EC2's action, which is also the permission that it needs.
    #[must_use]
    pub const fn action(&self) -> Action {
        match self {
            Self::Assign { .. } => Action::Assign,
            Self::Unassign { .. } => Action::Unassign,
        }
    }

    /// The address it is about.
    #[must_use]
    pub fn address(&self) -> Address {
        match self {
            Self::Assign { address, .. } | Self::Unassign { address, .. } => *address,
        }
    }
}

/// What is to be done for a block, beside the IPs' own steps.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockStep {
    /// `DescribeSubnets`.
    ReadSubnet(SubnetId),
    /// `DescribeInstanceTypes`.
    ReadLimits(BTreeSet<InstanceType>),
    /// Put our finalizer on the block.
    AddFinalizer {
        /// The block.
        block: BlockName,
        /// Its version.
        version: ResourceVersion,
    },
    /// Take it off: nothing lies in it any more.
    RemoveFinalizer {
        /// The block.
        block: BlockName,
        /// Its version.
        version: ResourceVersion,
    },
    /// Replace the status.
    Status {
        /// The block.
        block: BlockName,
        /// Its version.
        version: ResourceVersion,
        /// The status as it is to be.
        status: BlockStatus,
    },
    /// Put the block's label on a Node, or take it off.
    Label {
        /// The Node.
        node: NodeName,
        /// The block that the label names.
        block: BlockName,
        /// Is it put on the Node, or taken off?
        present: bool,
    },
    /// Remove the annotation `release-brake`, used.
    DropReleaseBrake {
        /// The block.
        block: BlockName,
        /// Its version.
        version: ResourceVersion,
    },
    /// GET of the IP that a reservation was made for.
    ReadIp(IpName),
    /// Delete a reservation whose IP is gone, and take its finalizer off.
    Release(Reservation),
}

impl BlockStep {
    /// EC2's action, for those that call EC2.
    #[must_use]
    pub const fn action(&self) -> Option<Action> {
        match self {
            Self::ReadSubnet(_) => Some(Action::DescribeSubnets),
            Self::ReadLimits(_) => Some(Action::DescribeInstanceTypes),
            _ => None,
        }
    }
}

/// Are the status checks of an instance asked for?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Checks {
    /// Yes (`DescribeInstanceStatus`), where the instance runs.
    Asked,
    /// No.
    NotAsked,
}

/// What is to be done for a node (fast failover).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeStep {
    /// `DescribeInstances` of its instance, and where that runs, its status checks, if they are asked for.
    Ask(InstanceId, Checks),
    /// Put our taint `out-of-service` on it (guarded by its version), for this reason.
    SetTaint(ResourceVersion, Lost),
    /// Take our taint off (guarded by its version), and no other.
    RemoveTaint(ResourceVersion),
}
