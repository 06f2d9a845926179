//! The `Lease` as it is read and written, and the times of an election.

use alloc::string::{String, ToString};
use core::fmt;
use core::time::Duration;

use crate::names::ResourceVersion;
use crate::time::millis;

/// A mutating call to EC2 takes at most this long: none is begun with less of the lease left (R5.1).
const CALL: Duration = Duration::from_secs(5);

/// A replica's name in the `Lease`: unique to one process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(String);

impl Identity {
    /// The name as it stands in `spec.holderIdentity`.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name as it stands in `spec.holderIdentity`.
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

/// The lengths of time of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timings {
    /// How long others respect the lease after they last saw it change.
    pub duration: Duration,
    /// The holder gives up when its last renewal was begun this long ago.
    pub renew_deadline: Duration,
    /// How often it is renewed, or tried for.
    pub retry_period: Duration,
}

impl Timings {
    /// No mutating call is begun with less than this left: 5 s, or a third of a lease so short that it
    /// could never have them.
    pub(super) fn margin(&self) -> Duration {
        CALL.min(Duration::from_millis(millis(self.duration) / 3))
    }

    /// `spec.leaseDurationSeconds`: whole seconds, never none.
    #[must_use]
    pub const fn seconds(&self) -> u64 {
        let seconds = millis(self.duration).div_ceil(1000);
        if seconds == 0 { 1 } else { seconds }
    }
}

/// The `Lease` as it was read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Record {
    /// Its version: the next write is guarded by it.
    pub version: ResourceVersion,
    /// Who holds it; None: it was given back.
    pub holder: Option<Identity>,
    /// How long its holder said that it lasts.
    pub duration: Option<Duration>,
    /// `spec.renewTime` as text: compared, never understood.
    pub renewed: String,
    /// How often it changed hands.
    pub transitions: u64,
}

impl Record {
    /// Does it say the same? The version also changes with a label, and that renews nothing.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        self.holder == other.holder
            && self.renewed == other.renewed
            && self.transitions == other.transitions
    }
}

/// What a write puts into the `Lease`; `renewTime` is always the writer's present.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spec {
    /// Who holds it then; None: it is given back.
    pub holder: Option<Identity>,
    /// `leaseDurationSeconds`.
    pub seconds: u64,
    /// `leaseTransitions`.
    pub transitions: u64,
    /// Does it change hands, so that `acquireTime` is the present too?
    pub acquired: bool,
}

impl From<&str> for Identity {
    fn from(name: &str) -> Self {
        Self(name.to_string())
    }
}
