//! An instance type whose limit EC2 did not return.

use crate::outcome::Outcome;
use crate::time::Instant;

/// An instance type whose limit was requested without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LimitUnanswered {
    /// The earliest time of the next request.
    pub(crate) again: Instant,
    /// Maximum number of types in that request.
    pub(crate) at_once: usize,
    /// The failure of the last request.
    pub(crate) outcome: Outcome,
}
