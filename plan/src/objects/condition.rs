//! A condition of an object.

use alloc::string::String;

use crate::reason::Reason;

/// Of an `IPBlock`: addresses of it can be reserved. Of an `IP`: it is reserved, and either unclaimed or attached, and
/// programmed if the block asks for that.
pub const READY: &str = "Ready";
/// Of an `IPBlock`: it uses an ENI that the VPC CNI may manage.
pub const SHARED_WITH_CNI: &str = "SharedWithCNI";
/// Of an `IPBlock`: an address of it is on an ENI and no `IP` explains it.
pub const ORPHANED_ADDRESS: &str = "OrphanedAddress";
/// Of an `IPBlock`: too many pods vanished at the same time, which may be a fault.
pub const BRAKE_ENGAGED: &str = "BrakeEngaged";

/// A condition without its timestamps: the code that writes it adds them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Condition {
    /// The status: `True` or `False`.
    pub status: bool,
    /// Reason of the condition.
    pub reason: Reason,
    /// Message of the condition: why, and what to do next.
    pub message: String,
    /// `observedGeneration`: the generation that the condition is about.
    pub generation: i64,
}
