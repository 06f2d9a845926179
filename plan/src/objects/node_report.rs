//! What the node part of a node reports: the object `IPNode`.

use alloc::collections::BTreeMap;
use alloc::string::String;

use crate::address::Address;
use crate::names::{ClaimId, IpName, NodeName, PodUid};

/// An `IPNode`. Only the node part of that node can write it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeReport {
    /// The Node.
    pub node: NodeName,
    /// The version of the node part.
    pub version: String,
    /// When it last reported, in seconds since 1970 by its own clock: only that it changes matters.
    pub heartbeat: i64,
    /// The addresses that IPs have there.
    pub addresses: BTreeMap<IpName, AddressReport>,
}

/// How far the programming of one address is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressReport {
    /// The address.
    pub address: Address,
    /// The pod that it is programmed for.
    pub pod: PodUid,
    /// The claim that it is programmed for.
    pub claim: ClaimId,
    /// How far it is.
    pub state: AddressState,
    /// What the probe of the block found. None: it found nothing yet, or there is no probe.
    pub probe: Option<ProbeOutcome>,
}

/// What the target of a probe sees.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProbeOutcome {
    /// The target, as the block names it.
    pub target: String,
    /// The source address that the target saw. None: it did not say.
    pub observed: Option<Address>,
    /// The round trip of the attempt that led to this outcome, in milliseconds.
    pub round_trip: Option<u64>,
    /// Why it is not verified, and what to do next.
    pub message: String,
}

/// How far a node part is with an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressState {
    /// Packets pass.
    Programmed,
    /// They do not pass yet, or not any more: what is missing, as a sentence.
    NotProgrammed(String),
    /// They never will on this node: why, and what works there.
    Unsupported(String),
}
