//! Options of the self-managed certificate.

use std::time::Duration;

use super::decide::Lifetimes;

/// Where the certificate is stored, and its lifetimes.
#[derive(Clone, Debug)]
pub struct Options {
    /// Namespace of the Secret.
    pub namespace: String,
    /// Name of the Secret.
    pub secret: String,
    /// Time between two reads of the Secret.
    pub interval: Duration,
    /// Lifetimes and waits.
    pub lifetimes: Lifetimes,
}
