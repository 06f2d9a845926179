//! What a decision asks to be done: one read or one write, and when to look again.

mod block_step;
mod call;
mod write;

use alloc::string::String;
use alloc::vec::Vec;

use crate::address::Address;
use crate::cloud::Lost;
use crate::names::{
    BlockName, InstanceId, IpName, IpUid, NodeName, PodKey, PodUid, ResourceVersion,
};
use crate::reason::Reason;
use crate::time::Instant;
pub use block_step::BlockStep;
pub use call::{Call, CallGroup};
pub use write::{GateWrite, Moved, StatusWrite, Write};

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
