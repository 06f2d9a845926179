//! The server's clock: the runtime's, which a simulation owns.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// What the clock shows at the start: 2026-01-01T00:00:00Z.
const START: i64 = 1_767_225_600;

/// A clock that runs with the runtime's.
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

    /// Since the start.
    pub(super) fn elapsed(self) -> Duration {
        self.begun.elapsed()
    }

    /// As an object's metadata tells it.
    pub(super) fn now(self) -> String {
        self.after(0)
    }

    /// So many seconds from now.
    pub(super) fn after(self, seconds: u64) -> String {
        let passed = self.elapsed() + Duration::from_secs(seconds);
        let whole = i64::try_from(passed.as_secs()).unwrap_or(i64::MAX);
        (self.first + SignedDuration::from_secs(whole)).to_string()
    }
}
