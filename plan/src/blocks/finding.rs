//! A condition of a block before it is written to the status.
//! Rule: R3.6.

use alloc::string::{String, ToString};

use crate::objects::Block;
use crate::reason::Reason;

/// A condition of a block, as computed from the facts.
pub(super) struct Finding {
    pub(super) kind: &'static str,
    pub(super) on: bool,
    pub(super) reason: Reason,
    pub(super) message: String,
    /// True if an Event is posted too while the condition lasts.
    pub(super) with_event: bool,
}

impl Finding {
    /// What an earlier process found for this spec: a process that has just started keeps it until its own inventories
    /// can say.
    pub(super) fn before(block: &Block, kind: &'static str) -> Option<Self> {
        let before = block.status.conditions.get(kind);
        let before = before.filter(|condition| condition.generation == block.generation)?;
        Some(Self {
            kind,
            on: before.status,
            reason: before.reason,
            message: before.message.clone(),
            with_event: false,
        })
    }

    pub(super) fn none(kind: &'static str, message: &str) -> Self {
        Self {
            kind,
            on: false,
            reason: Reason::NoneSeen,
            message: message.to_string(),
            with_event: false,
        }
    }

    pub(super) fn with_event(kind: &'static str, reason: Reason, message: String) -> Self {
        Self {
            kind,
            on: true,
            reason,
            message,
            with_event: true,
        }
    }
}
