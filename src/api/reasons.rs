//! Which reasons are warnings.

pub use mooring_plan::reason::Reason;

/// The `type` of an Event of this reason: `Normal` or `Warning`.
#[must_use]
pub const fn event_type(reason: Reason) -> &'static str {
    match reason {
        Reason::Reserved
        | Reason::Claimed
        | Reason::Attached
        | Reason::Moved
        | Reason::MovedTo
        | Reason::Detached
        | Reason::Detaching
        | Reason::Released
        | Reason::Unclaimed
        | Reason::IPDeleted
        | Reason::AddressChanging
        | Reason::NotRequested
        | Reason::Programmed
        | Reason::Verified
        | Reason::BackInService
        | Reason::Waiting
        | Reason::NoneSeen
        | Reason::Ready => "Normal",
        Reason::AddressInUse
        | Reason::BlockExhausted
        | Reason::NoEligibleNode
        | Reason::NodeFull
        | Reason::AttachFailed
        | Reason::Throttled
        | Reason::DriftRepaired
        | Reason::TakeFromUnused
        | Reason::AccessDenied
        | Reason::WriteRefused
        | Reason::ClaimedByOther
        | Reason::HandoverWaiting
        | Reason::NotProgrammed
        | Reason::UnsupportedDataPath
        | Reason::NodePartAway
        | Reason::NotVerified
        | Reason::OutOfService
        | Reason::Deadlock
        | Reason::StalePod
        | Reason::OrphanedAddress
        | Reason::SharedWithCNI
        | Reason::BrakeEngaged
        | Reason::PreviousFull
        | Reason::Drifted
        | Reason::SubnetMismatch
        | Reason::SubnetNotFound
        | Reason::BlockMissing
        | Reason::AmbiguousBlock
        | Reason::Invalid => "Warning",
    }
}
