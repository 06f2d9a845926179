//! The answer to a quorum read.

use crate::time::Instant;

/// What a quorum read showed. What was begun before a moment says nothing of what happened since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Answered<T> {
    /// When the read was begun.
    pub(crate) begun: Instant,
    /// What it showed.
    pub(crate) value: T,
}

impl<T> Answered<T> {
    pub(crate) const fn new(begun: Instant, value: T) -> Self {
        Self { begun, value }
    }
}
