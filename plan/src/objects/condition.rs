//! A condition of an object.

use alloc::string::String;

use crate::reason::Reason;

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
