//! The clock of the server. It follows the clock of the runtime, which the simulation controls.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The time at the start: 2026-01-01T00:00:00Z.
const START: i64 = 1_767_225_600;

/// A clock that follows the clock of the runtime.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    begun: Instant,
    first: Timestamp,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            begun: Instant::now(),
            first: Timestamp::from_second(START).expect("a second of this century"),
        }
    }

    /// The time since the start.
    pub(super) fn elapsed(self) -> Duration {
        self.begun.elapsed()
    }

    /// The time in the format of metadata.
    pub(super) fn now(self) -> String {
        self.after(0)
    }

    /// The time after this number of seconds.
    pub(super) fn after(self, seconds: u64) -> String {
        let passed = self.elapsed() + Duration::from_secs(seconds);
        let whole = i64::try_from(passed.as_secs()).unwrap_or(i64::MAX);
        (self.first + SignedDuration::from_secs(whole)).to_string()
    }
}
