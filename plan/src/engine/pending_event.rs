//! The Event that is posted once a write is done.

use alloc::boxed::Box;
use alloc::string::String;

use crate::address::Address;
use crate::names::IpUid;
use crate::objects::{Claim, IpStatus};
use crate::step::StatusWrite;

/// What is posted once a write is done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PendingEvent {
    /// Of a status write.
    Status(Box<StatusEvent>),
    /// Of a reservation that was let go.
    Released(IpUid, Address),
    /// Of the removal of an annotation `take-from` that was of no use: what is told.
    TakeFromUnused(IpUid, String),
}

/// A status write: what it is, what was there before, what is there then.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct StatusEvent {
    pub(super) uid: IpUid,
    pub(super) what: StatusWrite,
    pub(super) before: Option<Claim>,
    pub(super) status: IpStatus,
}
