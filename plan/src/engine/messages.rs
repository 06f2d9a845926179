//! What goes into the engine and what comes out of it.

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

/// What an engine is told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// A watch shows something.
    Fact(Fact),
    /// An effect has ended.
    Completed(Work, Completion),
    /// A request of [`Effect::Calls`] has ended.
    Called(CallGroup, Vec<(IpName, Address)>, Result<(), CallError>),
    /// What the lease says now.
    Leadership(Leadership),
}

/// What can be in flight: the key of an effect and of its completion.
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

/// What came of an effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Completion {
    /// What its answers say.
    pub facts: Vec<Fact>,
    /// The reads of EC2 that were made, and how each failed; None: it did not.
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

/// What is to be done.
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
        /// Does it bring the address to another place?
        moved: Moved,
    },
    /// One request to EC2 for the addresses of these IPs. It ends with [`Event::Called`].
    Calls(CallGroup, Vec<(IpName, Address)>),
    /// Requests for a block, in any order. They end together with [`Work::Block`].
    BlockSteps(BlockName, Vec<BlockStep>),
    /// A request for a node. It ends with [`Work::Node`].
    NodeStep(NodeName, NodeStep),
    /// A complete list of a subnet's interfaces. It ends with [`Work::Inventory`].
    Inventory(SubnetId),
    /// A quorum list of all IPs. It ends with [`Work::Ips`].
    ListIps,
    /// Post a Kubernetes Event. Nothing waits for it.
    Post(Notice),
    /// Something for metrics and logs.
    Report(Report),
}

/// What metrics and logs show.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Report {
    /// Every kind has been listed.
    Synced,
    /// This process decides from now on, or no longer.
    Leading(bool),
    /// A claim was recorded; the time since it began.
    Attached(Duration),
    /// The same of a claim that took the address from another place or pod.
    Moved(Duration),
    /// A part of a failover that a taint of ours began has ended; how long it took.
    Failover(FailoverPart, Duration),
    /// An inventory of a subnet contradicts EC2's own answers.
    Contradicted(SubnetId, Contradiction),
    /// How many addresses of each block are in each state.
    Addresses(BTreeMap<(BlockName, &'static str), u64>),
    /// How many addresses of each block with a probe its target sees, or does not see.
    Probed(BTreeMap<(BlockName, &'static str), u64>),
    /// Is the release brake of this block engaged?
    Brake(BlockName, bool),
    /// The subnets that are listed from now on, and no others.
    Subnets(Vec<SubnetId>),
    /// A complete inventory; the time since it began.
    Inventory(SubnetId, Duration),
    /// How many calls of this action may be made at once.
    Tokens(Action, u64),
}
