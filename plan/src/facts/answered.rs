//! The answer to a quorum read.

use crate::time::Instant;

/// The answer to a quorum read. It proves nothing about changes after the read was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Answered<T> {
    /// When the read was begun.
    pub(crate) begun: Instant,
    /// The value that was read.
    pub(crate) value: T,
}

impl<T> Answered<T> {
    pub(crate) const fn new(begun: Instant, value: T) -> Self {
        Self { begun, value }
    }
}
