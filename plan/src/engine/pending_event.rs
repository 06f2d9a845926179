//! The Event to post when a write succeeds.

use alloc::boxed::Box;
use alloc::string::String;

use crate::address::Address;
use crate::names::IpUid;
use crate::objects::{Claim, IpStatus};
use crate::step::StatusWrite;

/// The Event to post when a write succeeds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PendingEvent {
    /// For a status write.
    Status(Box<StatusEvent>),
    /// For the release of a reservation.
    Released(IpUid, Address),
    /// For the removal of an annotation `take-from` without effect, with the message.
    TakeFromUnused(IpUid, String),
}

/// A status write: its type, the claim before it, and the new status.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct StatusEvent {
    pub(super) uid: IpUid,
    pub(super) what: StatusWrite,
    pub(super) before: Option<Claim>,
    pub(super) status: IpStatus,
}
