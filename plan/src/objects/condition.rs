//! A condition of an object.

use alloc::string::String;

use crate::reason::Reason;

/// A condition without its times: the effect that writes it keeps those.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Condition {
    /// `True` or `False`.
    pub status: bool,
    /// Why, as a word.
    pub reason: Reason,
    /// Why, and what to do next.
    pub message: String,
    /// The generation that this was said of.
    pub generation: i64,
}
