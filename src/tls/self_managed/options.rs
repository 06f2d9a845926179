//! What can be chosen.

use std::time::Duration;

use super::decide::Lifetimes;

/// Where the certificate is kept, and how long things last.
#[derive(Clone, Debug)]
pub struct Options {
    /// Namespace of the Secret.
    pub namespace: String,
    /// Its name.
    pub secret: String,
    /// How often it is looked at.
    pub interval: Duration,
    /// How long things last.
    pub lifetimes: Lifetimes,
}
