//! Facts from watches, answers and inventories.

use crate::address::Address;
use crate::cloud::{InstanceState, Interface, Subnet};
use crate::names::{
    BlockName, InstanceId, InstanceType, InterfaceId, IpName, IpUid, NodeName, PodKey, PodUid,
    ReplicaSetUid, SubnetId,
};
use crate::objects::{Block, Ip, Node, NodeReport, Pod, ReplicaSet, Reservation, UnreadableIp};
use crate::outcome::Outcome;
use crate::step::{BlockStep, Call, Read, Write};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

/// The kinds that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `IP`.
    Ip,
    /// `IPBlock`.
    Block,
    /// Pods with our label.
    Pod,
    /// Nodes.
    Node,
    /// `IPAddress`es that we manage.
    Reservation,
    /// `IPNode`s: what node parts report.
    NodeReport,
}

impl Kind {
    /// Every kind that is watched.
    pub const ALL: [Self; 6] = [
        Self::Ip,
        Self::Block,
        Self::Pod,
        Self::Node,
        Self::Reservation,
        Self::NodeReport,
    ];
}

/// A fact that this process receives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fact {
    /// A watch shows an `IP`.
    Ip(Ip),
    /// A watch or an answer shows an `IP` whose status cannot be read.
    IpUnreadable(UnreadableIp),
    /// A watch or a list shows that the IP with this UID is gone. Another IP of the same name can be known already.
    IpGone(IpName, IpUid),
    /// A watch shows a block.
    Block(Block),
    /// A watch or a list shows that the block is gone.
    BlockGone(BlockName),
    /// A watch shows a pod with our label.
    Pod(Pod),
    /// The watch showed that the pod was deleted (or lost our label): its end was seen.
    PodDeleted(PodUid),
    /// A list does not show the pod any more; its end was not seen.
    PodVanished(PodUid),
    /// A watch shows a Node.
    Node(Node),
    /// A watch or a list shows that the Node with this UID is gone. Another Node of the same name can be known already.
    NodeGone(NodeName, String),
    /// A watch shows an `IPAddress` of ours.
    Reservation(Reservation),
    /// The `IPAddress` with this UID is gone, or does not have our label any more. Another one of the same address can be
    /// known already.
    ReservationGone(Address, String),
    /// A watch shows an `IPNode`.
    NodeReport(NodeReport),
    /// A watch or a list shows that the `IPNode` is gone.
    NodeReportGone(NodeName),
    /// The first list of a kind is complete.
    Synced(Kind),
    /// The API server was restored from a backup: what it shows of a kind from now on can have lower versions.
    Restored(Kind),

    /// The answer to [`Read::Pod`]: None is a 404.
    PodRead(PodKey, Option<Pod>),
    /// The answer to [`Read::Ip`].
    IpRead(IpName, Option<Ip>),
    /// A quorum list of all IPs. That an IP is not in it proves nothing.
    IpsRead(Vec<Ip>),
    /// The answer to [`Read::Node`].
    NodeRead(NodeName, Option<Node>),
    /// The answer to [`Read::Reservation`].
    ReservationRead(Address, Option<Reservation>),
    /// The answer to [`Read::Reservations`].
    ReservationsRead(IpUid, Vec<Reservation>),
    /// The answer to [`Read::ReplicaSets`]: the `ReplicaSet` of the pod, if there is one of this UID, and at least all
    /// others of its Deployment.
    ReplicaSetsRead(ReplicaSetUid, Vec<ReplicaSet>),
    /// The answer to [`Read::Instance`]: None is "no such instance", which proves nothing.
    InstanceRead(InstanceId, Option<InstanceState>),
    /// The status checks of an instance: since when one of them fails, as text of EC2. None: no check fails.
    ChecksRead(InstanceId, Option<String>),
    /// The status checks could not be read.
    ChecksFailed(Outcome),
    /// EC2 was asked about the instance of this Node, and how that failed, if it did. The answer is a separate fact.
    NodeAsked(NodeName, Option<Outcome>),
    /// A write of a Node was answered. A watch shows the new state.
    NodeWrote(NodeName, WriteOutcome),
    /// A write of a step of this block was answered. A watch shows the new state.
    BlockWrote(BlockName, BlockStep, WriteOutcome),
    /// A read for this IP failed and proves nothing.
    ReadFailed {
        /// The IP.
        ip: IpName,
        /// The read.
        read: Read,
        /// The outcome, if it was a read of EC2.
        outcome: Option<Outcome>,
    },

    /// `DescribeSubnets` answered.
    SubnetRead(SubnetId, Subnet),
    /// `DescribeSubnets` failed.
    SubnetFailed(SubnetId, Outcome),
    /// `DescribeInstanceTypes` answered: number of IPv4 addresses per ENI.
    LimitsRead(BTreeMap<InstanceType, u32>),
    /// `DescribeInstanceTypes` failed for these: [`Outcome::Invalid`] if EC2 does not know one of them.
    LimitsFailed(BTreeSet<InstanceType>, Outcome),
    /// An inventory of a subnet was begun.
    InventoryBegun(SubnetId),
    /// An inventory is complete (all pages).
    InventoryDone(SubnetId, Vec<Interface>),
    /// An inventory failed and proves nothing.
    InventoryFailed(SubnetId, Outcome),

    /// The create of the `IPAddress` of this address is sent for an IP: it can be executed from now on.
    ReserveBegun(IpName, Address),
    /// The write of a claim is sent for an IP: this address takes a slot on this ENI from now on.
    ClaimBegun(IpName, InterfaceId, Address),
    /// A write was answered.
    Wrote {
        /// The IP that it was for.
        ip: IpName,
        /// The write.
        write: Write,
        /// How it ended.
        outcome: WriteOutcome,
    },
    /// A call is sent: it can be executed at any time from now on.
    CallBegun(IpName, Call),
    /// A call was answered, or has failed without an answer.
    Called {
        /// The IP that it was for.
        ip: IpName,
        /// The call.
        call: Call,
        /// How it ended.
        result: Result<(), CallError>,
    },
}

/// How a write to the API server ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WriteOutcome {
    /// Done, with the new object if there is one.
    Done(Option<Written>),
    /// Another writer changed the object first: read and decide again.
    Conflict,
    /// The object does not exist (404), or has another UID.
    NotFound,
    /// `Reserve`: an object of that name exists.
    AlreadyExists,
    /// Refused, with the message of the API server. The same write would be refused again.
    Refused(String),
    /// Not known: it may have been done.
    Unknown,
}

/// An object after a write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Written {
    /// An `IP`.
    Ip(Ip),
    /// A pod.
    Pod(Pod),
    /// An `IPAddress`.
    Reservation(Reservation),
}

/// How a call to EC2 failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallError {
    /// The meaning of the error.
    pub outcome: Outcome,
    /// The text for a person. The same refusal has the same text each time, so that a status with it does not
    /// change when the call is refused again.
    pub text: String,
    /// The addresses that the error names. Empty: it names none.
    pub named: BTreeSet<Address>,
}

impl CallError {
    /// An error that names no address.
    #[must_use]
    pub fn new(outcome: Outcome, text: impl Into<String>) -> Self {
        Self {
            outcome,
            text: text.into(),
            named: BTreeSet::new(),
        }
    }
}
