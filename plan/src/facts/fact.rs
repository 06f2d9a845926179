//! What watches, answers and inventories say.

use crate::address::Address;
use crate::cloud::{InstanceState, Interface, Subnet};
use crate::names::{
    BlockName, InstanceId, InstanceType, IpName, IpUid, NodeName, PodKey, PodUid, ReplicaSetUid,
    ResourceVersion, SubnetId,
};
use crate::objects::{Block, Ip, Node, NodeReport, Pod, ReplicaSet, Reservation, UnreadableIp};
use crate::outcome::Outcome;
use crate::step::{Call, Read, Write};
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

/// Something that this process was told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fact {
    /// A watch shows an `IP`.
    Ip(Ip),
    /// A watch or an answer shows an `IP` whose status cannot be read.
    IpUnreadable(UnreadableIp),
    /// A watch, or a list, shows the one with this UID no more. Another of its name may be known by then.
    IpGone(IpName, IpUid),
    /// A watch shows a block.
    Block(Block),
    /// It is gone.
    BlockGone(BlockName),
    /// A watch shows a pod with our label.
    Pod(Pod),
    /// The watch said that it was deleted (or lost our label): its end was seen.
    PodDeleted(PodUid),
    /// A list does not show it any more; its end was not seen.
    PodVanished(PodUid),
    /// A watch shows a Node.
    Node(Node),
    /// It is gone.
    NodeGone(NodeName),
    /// A watch shows an `IPAddress` of ours.
    Reservation(Reservation),
    /// It is gone, or not labelled as ours any more.
    ReservationGone(Address),
    /// A watch shows an `IPNode`.
    NodeReport(NodeReport),
    /// It is gone.
    NodeReportGone(NodeName),
    /// A kind's first list is complete.
    Synced(Kind),
    /// The version that a complete list of a kind was made at.
    Listed(Kind, ResourceVersion),

    /// The answer to [`Read::Pod`]: None is a 404.
    PodRead(PodKey, Option<Pod>),
    /// The answer to [`Read::Ip`].
    IpRead(IpName, Option<Ip>),
    /// What a quorum list of all IPs shows. One that is not in it says nothing.
    IpsRead(Vec<Ip>),
    /// The answer to [`Read::Node`].
    NodeRead(NodeName, Option<Node>),
    /// The answer to [`Read::Reservation`].
    ReservationRead(Address, Option<Reservation>),
    /// The answer to [`Read::Reservations`].
    ReservationsRead(IpUid, Vec<Reservation>),
    /// The answer to [`Read::ReplicaSets`]: the pod's, and all of its Deployment.
    ReplicaSetsRead(ReplicaSetUid, Vec<ReplicaSet>),
    /// The answer to [`Read::Instance`]: None is "no such instance", which proves nothing.
    InstanceRead(InstanceId, Option<InstanceState>),
    /// What the status checks of an instance say: since when one of them fails, in the words of EC2. None: none does.
    ChecksRead(InstanceId, Option<String>),
    /// The status checks could not be asked for.
    ChecksFailed(Outcome),
    /// EC2 was asked about the instance of this Node. What it answered is a fact of its own.
    NodeAsked(NodeName),
    /// A write of a Node was answered. What came of it, a watch shows.
    NodeWrote(NodeName, WriteOutcome),
    /// A read for this IP failed: nothing is known by it. With EC2's word, where it was asked.
    ReadFailed {
        /// The IP.
        ip: IpName,
        /// The read.
        read: Read,
        /// EC2's word.
        outcome: Option<Outcome>,
    },

    /// `DescribeSubnets` answered.
    SubnetRead(SubnetId, Subnet),
    /// `DescribeSubnets` failed.
    SubnetFailed(SubnetId, Outcome),
    /// `DescribeInstanceTypes` answered: IPv4 addresses per interface.
    LimitsRead(BTreeMap<InstanceType, u32>),
    /// `DescribeInstanceTypes` failed for these: [`Outcome::Invalid`] if EC2 does not know one of them.
    LimitsFailed(BTreeSet<InstanceType>, Outcome),
    /// An inventory of a subnet was begun.
    InventoryBegun(SubnetId),
    /// A complete inventory: every page of it.
    InventoryDone(SubnetId, Vec<Interface>),
    /// An inventory failed: nothing is known by it.
    InventoryFailed(SubnetId, Outcome),

    /// A create of the `IPAddress` of this address is sent for an IP.
    ReserveBegun(IpName, Address),
    /// A write was answered.
    Wrote {
        /// The IP that it was for.
        ip: IpName,
        /// The write.
        write: Write,
        /// How it ended.
        outcome: WriteOutcome,
    },
    /// A call is sent: from now until its answer it may be executed at any time.
    CallBegun(IpName, Call),
    /// A call was answered, or will not be.
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
    /// Done. The object as it now is, where the write was of an `IP` or a pod.
    Done(Option<Written>),
    /// Another writer was faster: read and decide again.
    Conflict,
    /// The object is not there (404, or another UID).
    NotFound,
    /// `Reserve`: an object of that name is there.
    AlreadyExists,
    /// Refused for good: what the API server said.
    Refused(String),
    /// Not known: it may have been done.
    Unknown,
}

/// An object as a write left it.
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
    /// What it means.
    pub outcome: Outcome,
    /// EC2's code.
    pub code: String,
    /// EC2's sentence.
    pub message: String,
}
