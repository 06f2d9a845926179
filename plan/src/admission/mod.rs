//! The admission rules, as pure functions of the request and the known objects.
//!
//! A rule that refuses returns a [`Denial`], which always says what to do next.

pub mod address;
pub mod block;
pub mod denial;
pub mod placement;
pub mod pod;
pub mod syntax;
pub mod tolerations;
pub mod usage;

pub use denial::{Denial, DenyReason};
