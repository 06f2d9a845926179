//! This process's monotonic clock: nothing here depends on what time anybody thinks it is.

use mooring_plan::names::Millis;
use tokio::time::{Duration, Instant};

/// Milliseconds since the controller started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn now(self) -> Millis {
        millis(self.0.elapsed())
    }

    /// Sleeps until a moment; one that has passed is now.
    pub(super) async fn until(self, moment: Millis) {
        // A moment too far ahead for the clock is never.
        match self.0.checked_add(Duration::from_millis(moment.0)) {
            Some(instant) => tokio::time::sleep_until(instant).await,
            None => std::future::pending().await,
        }
    }
}

/// A length of time as `plan` counts it.
pub(super) fn millis(length: Duration) -> Millis {
    Millis(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
}

/// Seconds, for a histogram.
pub(super) fn seconds(length: Millis) -> f64 {
    Duration::from_millis(length.0).as_secs_f64()
}
