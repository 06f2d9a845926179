//! The input and output types of the engine.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use super::failover_timers::FailoverPart;
use crate::address::Address;
use crate::facts::{CallError, Contradiction, Fact};
use crate::lease::Leadership;
use crate::names::{BlockName, IpName, NodeName, SubnetId};
use crate::outcome::{Action, Outcome};
use crate::step::{BlockStep, CallGroup, Moved, NodeStep, Notice, Read, Write};

/// The input of an engine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// A fact from a watch.
    Fact(Fact),
    /// An effect has ended.
    Completed(Work, Completion),
    /// A request of [`Effect::Calls`] has ended.
    Called(CallGroup, Vec<(IpName, Address)>, Result<(), CallError>),
    /// The present leadership, according to the lease.
    Leadership(Leadership),
}

/// The key that connects an effect with its completion.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// A step of an IP.
    Ip(IpName),
    /// A round of steps of a block.
    Block(BlockName),
    /// A step of a node.
    Node(NodeName),
    /// An inventory of a subnet.
    Inventory(SubnetId),
    /// The list of all IPs.
    Ips,
}

/// The result of an effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Completion {
    /// The facts from its answers.
    pub facts: Vec<Fact>,
    /// The reads of EC2 that were made, and how each failed; None: it succeeded.
    pub called: Vec<(Action, Option<Outcome>)>,
}

impl From<Fact> for Completion {
    fn from(fact: Fact) -> Self {
        Self::from(Vec::from([fact]))
    }
}

impl From<Vec<Fact>> for Completion {
    fn from(facts: Vec<Fact>) -> Self {
        Self {
            facts,
            called: Vec::new(),
        }
    }
}

/// A request of the engine to its caller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// A read for an IP. It ends with [`Work::Ip`].
    Read(IpName, Read),
    /// A write for an IP. It ends with [`Work::Ip`].
    Write {
        /// The IP.
        ip: IpName,
        /// The write.
        write: Write,
        /// Whether the write records the address at another place than before.
        moved: Moved,
    },
    /// One request to EC2 for these addresses. It ends with [`Event::Called`].
    Calls(CallGroup, Vec<(IpName, Address)>),
    /// Requests for a block, in any order. They end together with [`Work::Block`].
    BlockSteps(BlockName, Vec<BlockStep>),
    /// A request for a node. It ends with [`Work::Node`].
    NodeStep(NodeName, NodeStep),
    /// A complete list of the ENIs of a subnet. It ends with [`Work::Inventory`].
    Inventory(SubnetId),
    /// A quorum list of all IPs. It ends with [`Work::Ips`].
    ListIps,
    /// Release the lease, so that another replica can lead. It has no effect without other replicas.
    Resign,
    /// Post a Kubernetes Event. Nothing waits for it.
    Post(Notice),
    /// A report for metrics and logs.
    Report(Report),
}

/// Values for metrics and logs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Report {
    /// Every kind has been listed.
    Synced,
    /// True if this process leads and decides from now on.
    Leading(bool),
    /// A claim was recorded. The time since the claim began.
    Attached(Duration),
    /// As [`Self::Attached`], for a claim that took the address from another place or pod.
    Moved(Duration),
    /// A part of a failover that began with the taint of Mooring has ended. The time that it took.
    Failover(FailoverPart, Duration),
    /// An inventory of a subnet contradicts earlier answers of EC2.
    Contradicted(SubnetId, Contradiction),
    /// Number of addresses per block and state.
    Addresses(BTreeMap<(BlockName, &'static str), u64>),
    /// Number of verified and not verified addresses per block with a probe.
    Probed(BTreeMap<(BlockName, &'static str), u64>),
    /// Number of nodes with attached addresses whose node part is away.
    NodePartsAway(u64),
    /// Whether the release brake of this block is engaged.
    Brake(BlockName, bool),
    /// All subnets for which inventories are taken from now on.
    Subnets(Vec<SubnetId>),
    /// An inventory is complete. The time that it took.
    Inventory(SubnetId, Duration),
    /// Number of calls of this action that may be made now.
    Tokens(Action, u64),
}
