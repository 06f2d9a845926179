//! The cloud provider: EC2.

pub mod ec2;

use std::error::Error as StdError;

use mooring_plan::outcome::{Action, Outcome};

/// A call that failed.
#[derive(Debug, thiserror::Error)]
#[error("ec2:{action} for {object}: {code}: {message}")]
pub struct CloudError {
    /// The action. With the prefix `ec2:` it is also the IAM permission that the call needs.
    pub action: Action,
    /// What it was made for, in words.
    pub object: String,
    /// The classified answer.
    pub outcome: Outcome,
    /// The code of EC2, or one of [`ec2::classify::code`].
    pub code: String,
    /// The sentence of EC2, or one of Mooring.
    pub message: String,
    /// The cause, if the message does not contain it.
    #[source]
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}
