//! Tracks whether the process is ready.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A requirement for the process to be ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
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

impl Part {
    /// Every part, in order.
    pub const ALL: [Self; 6] = [
        Self::Caches,
        Self::Watches,
        Self::Webhook,
        Self::Certificate,
        Self::Trust,
        Self::Running,
    ];
}

impl fmt::Display for Part {
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
pub struct Readiness(Arc<[AtomicBool; Part::ALL.len()]>);

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
        readiness.set(Part::Running, true);
        readiness
    }

    /// Sets whether a requirement is met.
    pub fn set(&self, part: Part, there: bool) {
        for (known, flag) in Part::ALL.iter().zip(self.0.iter()) {
            if *known == part {
                flag.store(there, Ordering::Release);
            }
        }
    }

    /// The requirements that are not met.
    #[must_use]
    pub fn missing(&self) -> Vec<Part> {
        Part::ALL
            .iter()
            .zip(self.0.iter())
            .filter(|(_, flag)| !flag.load(Ordering::Acquire))
            .map(|(part, _)| *part)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, Readiness};

    #[test]
    fn it_is_ready_when_every_part_is_there_and_not_before() {
        let readiness = Readiness::new();
        let needed = [
            Part::Caches,
            Part::Watches,
            Part::Webhook,
            Part::Certificate,
            Part::Trust,
        ];
        assert_eq!(readiness.missing(), needed);
        for part in needed {
            assert!(readiness.missing().contains(&part));
            readiness.set(part, true);
        }
        assert_eq!(readiness.missing(), []);
        readiness.clone().set(Part::Running, false);
        assert_eq!(readiness.missing(), [Part::Running]);
    }
}
