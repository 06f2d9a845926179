//! The result of a decision: one step (a read, a write or a call), and when to decide again.

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

/// One step for one IP, and its notices.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decision {
    /// The next step; None: nothing to do now.
    pub step: Option<Step>,
    /// When to decide again if no event comes. This applies too if the step must wait.
    pub again: Option<Instant>,
    /// Events for the user. A decision repeats them while they are true; the engine posts each once.
    pub notices: Vec<Notice>,
}

/// A Kubernetes Event that is to be written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Notice {
    /// The object that the Event is about.
    pub on: Regarding,
    /// The reason. It also decides whether the Event is a Warning.
    pub reason: Reason,
    /// The message. It says what to do next if the user must act.
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

/// One step. Each is one request, and its answer becomes a fact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// A quorum read.
    Read(Read),
    /// A write to the API server.
    Write(Write),
    /// A mutating call to EC2. It is sent only for a durable claim.
    Call(Call),
}

impl Step {
    /// The same step, decided from another version of the object.
    pub(crate) fn without_versions(&self) -> Self {
        match self {
            Self::Write(write) => Self::Write(write.clone().without_versions()),
            step => step.clone(),
        }
    }
}

/// A read that a decision needs (R1.6). The answers are the variants `…Read` of [`crate::facts::Fact`].
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
    /// GET of the `ReplicaSet` of the pod, and LIST of all others of its Deployment.
    ReplicaSets(PodKey, String),
    /// `DescribeInstances` of one instance.
    Instance(InstanceId),
}

/// Whether the status checks of an instance are read too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Checks {
    /// Yes (`DescribeInstanceStatus`), at the same time as the state.
    Asked,
    /// No: only the state of the instance is read.
    NotAsked,
}

/// A step for a node (fast failover).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeStep {
    /// `DescribeInstances` of its instance, and its status checks if they are asked for.
    Ask(InstanceId, Checks),
    /// Add our taint `out-of-service` to the Node (guarded by its `resourceVersion`), for this reason.
    SetTaint(ResourceVersion, Lost),
    /// Remove our taint, and no other one (guarded by the `resourceVersion` of the Node).
    RemoveTaint(ResourceVersion),
}
