//! The cloud that addresses are attached in.

pub mod ec2;

use std::error::Error as StdError;

use mooring_plan::outcome::{Action, Outcome};

/// A call that did not succeed.
#[derive(Debug, thiserror::Error)]
#[error("ec2:{action} for {object}: {code}: {message}")]
pub struct CloudError {
    /// The call; with `ec2:` before it also the permission that it needs.
    pub action: Action,
    /// What it was made for, in words.
    pub object: String,
    /// What the answer means.
    pub outcome: Outcome,
    /// EC2's code, or one of [`ec2::classify::code`].
    pub code: String,
    /// EC2's sentence, or ours.
    pub message: String,
    /// What lies beneath, where there is more to say.
    #[source]
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}
