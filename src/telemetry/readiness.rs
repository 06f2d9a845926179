//! Whether the process can do its work.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What must be there before the process is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// What the webhook answers from has been listed.
    Caches,
    /// What the controller watches has been listed.
    Watches,
    /// The webhook listens.
    Webhook,
    /// There is a certificate to serve.
    Certificate,
    /// The API server trusts it, as far as is known.
    Trust,
    /// The process was not asked to end.
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

/// Which parts are there. Clones see the same parts.
#[derive(Clone, Debug)]
pub struct Readiness(Arc<[AtomicBool; Part::ALL.len()]>);

impl Default for Readiness {
    fn default() -> Self {
        Self::new()
    }
}

impl Readiness {
    /// Nothing is there yet, and the process was not asked to end.
    #[must_use]
    pub fn new() -> Self {
        let readiness = Self(Arc::default());
        readiness.set(Part::Running, true);
        readiness
    }

    /// A part has come or gone.
    pub fn set(&self, part: Part, there: bool) {
        for (known, flag) in Part::ALL.iter().zip(self.0.iter()) {
            if *known == part {
                flag.store(there, Ordering::Release);
            }
        }
    }

    /// The parts that are not there.
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
