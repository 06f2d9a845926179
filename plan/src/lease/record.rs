//! The content of the `Lease`, and the timings of an election.

use alloc::string::{String, ToString};
use core::fmt;
use core::time::Duration;

use crate::ec2::CALL_LIMIT;
use crate::names::ResourceVersion;
use crate::time::millis;

/// The name of a replica in the `Lease`: unique for each process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(String);

impl Identity {
    /// The identity with this name, which no other process may have.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name, as in `spec.holderIdentity`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The timings of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timings {
    /// How long other replicas wait after the last change of the lease that they saw.
    pub duration: Duration,
    /// The holder stops leading when this time has passed since the start of its last successful renewal.
    pub renew_deadline: Duration,
    /// Interval of renewals, and of tries to acquire the lease.
    pub retry_period: Duration,
}

impl Timings {
    /// True if an election works with these times: a holder has time to renew, and stops before another one begins.
    #[must_use]
    pub fn are_valid(&self) -> bool {
        !self.retry_period.is_zero()
            && self.retry_period < self.renew_deadline
            && self.renew_deadline < self.duration
    }

    /// No mutating call is begun with less time left: 5 s, or a third of the duration of a short lease.
    pub(super) fn margin(&self) -> Duration {
        CALL_LIMIT.min(Duration::from_millis(millis(self.duration) / 3))
    }

    /// `spec.leaseDurationSeconds`: whole seconds, at least 1.
    #[must_use]
    pub const fn seconds(&self) -> u64 {
        let seconds = millis(self.duration).div_ceil(1000);
        if seconds == 0 { 1 } else { seconds }
    }
}

/// A `Lease` that was read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Record {
    /// The `resourceVersion` that guards the next write.
    pub version: ResourceVersion,
    /// The holder; None: the lease was released.
    pub holder: Option<Identity>,
    /// `spec.leaseDurationSeconds`.
    pub duration: Option<Duration>,
    /// `spec.renewTime` as text. It is only compared, never parsed.
    pub renewed: String,
    /// `spec.leaseTransitions`: number of changes of the holder.
    pub transitions: u64,
}

impl Record {
    /// True if the holder did not renew it in between. The version is not compared: it also changes with a label.
    pub(super) fn same_renewal(&self, other: &Self) -> bool {
        self.holder == other.holder
            && self.renewed == other.renewed
            && self.transitions == other.transitions
    }
}

/// The spec of the `Lease` in a write. `renewTime` is always the current time of the writer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spec {
    /// The new holder; None: the lease is released.
    pub holder: Option<Identity>,
    /// `leaseDurationSeconds`.
    pub seconds: u64,
    /// `leaseTransitions`.
    pub transitions: u64,
    /// True if the holder changes: then `acquireTime` is set to the current time too.
    pub acquired: bool,
}

impl From<&str> for Identity {
    fn from(name: &str) -> Self {
        Self(name.to_string())
    }
}
