//! An instance type whose limit EC2 did not say.

use crate::time::Instant;

/// A type that was asked for in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LimitUnanswered {
    /// When to ask again at the earliest.
    pub(crate) again: Instant,
    /// With how many types in all, at most.
    pub(crate) at_once: usize,
}
