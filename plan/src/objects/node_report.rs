//! The report of a node part: the object `IPNode`.

use alloc::collections::BTreeMap;
use alloc::string::String;

use crate::address::Address;
use crate::names::{BootId, ClaimId, IpName, NodeName, PodUid};

/// An `IPNode`. Only the node part of that node can write it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeReport {
    /// The Node.
    pub node: NodeName,
    /// The version of the node part.
    pub version: String,
    /// The boot of the kernel that it describes. None: not known, for example from a node part of an earlier version.
    pub boot: Option<BootId>,
    /// Time of the last report, in seconds since 1970 on the clock of the node. It is only checked for changes.
    pub heartbeat: i64,
    /// The addresses on the node, by IP.
    pub addresses: BTreeMap<IpName, AddressReport>,
}

/// The report about one address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressReport {
    /// The address.
    pub address: Address,
    /// The pod that it is programmed for.
    pub pod: PodUid,
    /// The claim that it is programmed for.
    pub claim: ClaimId,
    /// Whether the address is programmed.
    pub state: AddressState,
    /// The outcome of the probe. None: no outcome yet, or the block has no probe.
    pub probe: Option<ProbeOutcome>,
}

/// The outcome of a probe.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProbeOutcome {
    /// The target, as in the block.
    pub target: String,
    /// The source address that the target saw. None: the target did not report one.
    pub observed: Option<Address>,
    /// The round trip time of the attempt with this outcome, in milliseconds.
    pub round_trip: Option<u64>,
    /// Why the address is not verified, and what to do next.
    pub message: String,
}

/// The state of an address on a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressState {
    /// Packets pass.
    Programmed,
    /// Packets do not pass yet, or not any more. The message says what is missing.
    NotProgrammed(String),
    /// Packets can never pass on this node. The message says why, and what works there.
    Unsupported(String),
}
