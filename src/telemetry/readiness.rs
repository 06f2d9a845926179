//! Tracks whether the process is ready.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A requirement for the process to be ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Requirement {
    /// The caches of the webhook have been filled by a complete list.
    Caches,
    /// All kinds that the controller watches have been listed.
    Watches,
    /// The webhook listens.
    Webhook,
    /// There is a certificate to serve.
    Certificate,
    /// The API server trusts the certificate, as far as is known.
    Trust,
    /// The process is not in shutdown.
    Running,
}

impl Requirement {
    /// Every requirement, in order.
    pub const ALL: [Self; 6] = [
        Self::Caches,
        Self::Watches,
        Self::Webhook,
        Self::Certificate,
        Self::Trust,
        Self::Running,
    ];
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Caches => "caches",
            Self::Watches => "watches",
            Self::Webhook => "webhook",
            Self::Certificate => "certificate",
            Self::Trust => "caBundle",
            Self::Running => "running",
        })
    }
}

/// Which requirements are met. Clones share the same state.
#[derive(Clone, Debug)]
pub struct Readiness(Arc<[AtomicBool; Requirement::ALL.len()]>);

impl Default for Readiness {
    fn default() -> Self {
        Self::new()
    }
}

impl Readiness {
    /// No requirement is met yet, except that the process is not in shutdown.
    #[must_use]
    pub fn new() -> Self {
        let readiness = Self(Arc::default());
        readiness.set(Requirement::Running, true);
        readiness
    }

    /// Sets whether a requirement is met.
    pub fn set(&self, requirement: Requirement, there: bool) {
        for (known, flag) in Requirement::ALL.iter().zip(self.0.iter()) {
            if *known == requirement {
                flag.store(there, Ordering::Release);
            }
        }
    }

    /// The requirements that are not met.
    #[must_use]
    pub fn missing(&self) -> Vec<Requirement> {
        Requirement::ALL
            .iter()
            .zip(self.0.iter())
            .filter(|(_, flag)| !flag.load(Ordering::Acquire))
            .map(|(requirement, _)| *requirement)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Readiness, Requirement};

    #[test]
    fn it_is_ready_when_every_part_is_there_and_not_before() {
        let readiness = Readiness::new();
        let needed = [
            Requirement::Caches,
            Requirement::Watches,
            Requirement::Webhook,
            Requirement::Certificate,
            Requirement::Trust,
        ];
        assert_eq!(readiness.missing(), needed);
        for requirement in needed {
            assert!(readiness.missing().contains(&requirement));
            readiness.set(requirement, true);
        }
        assert_eq!(readiness.missing(), []);
        readiness.clone().set(Requirement::Running, false);
        assert_eq!(readiness.missing(), [Requirement::Running]);
    }
}
