//! What may come in: the rules by which requests are admitted, as pure functions over what is known.
//!
//! A rule answers with a [`Denial`], which cannot be made without a way out.

pub mod address;
pub mod block;
pub mod denial;
pub mod placement;
pub mod pod;
pub mod syntax;
pub mod tolerations;
pub mod usage;

pub use denial::{Denial, DenyReason};
