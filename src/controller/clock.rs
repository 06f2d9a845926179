//! The monotonic clock of this process. It does not depend on the time of day.
//!
//! The clock of tokio stops while the machine is suspended (a virtual machine that is paused or migrated, a suspended
//! laptop). A lease that expired meanwhile would still seem to be held. So the suspended time is added.

use std::sync::atomic::{AtomicU64, Ordering};

use mooring_plan::time;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::{Duration, Instant};

/// The source of the moments of `plan`: the time since the controller started, suspended time included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    started: Instant,
    /// Returns the total time for which the machine was suspended.
    slept: fn() -> Duration,
    slept_before: Duration,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self::with(slept_since_boot)
    }

    /// A clock with another source of the suspended time.
    pub(super) fn with(slept: fn() -> Duration) -> Self {
        Self {
            started: Instant::now(),
            slept,
            slept_before: slept(),
        }
    }

    pub(super) fn now(self) -> time::Instant {
        time::Instant::START.plus(self.started.elapsed() + self.slept())
    }

    /// Sleeps until a moment. Returns at once if it has passed.
    pub(super) async fn until(self, moment: time::Instant) {
        let awake = moment
            .since(time::Instant::START)
            .saturating_sub(self.slept());
        // A moment that the clock cannot represent never comes.
        match self.started.checked_add(awake) {
            Some(instant) => tokio::time::sleep_until(instant).await,
            None => std::future::pending().await,
        }
    }

    fn slept(self) -> Duration {
        (self.slept)().saturating_sub(self.slept_before)
    }
}

/// The suspended time since boot: `CLOCK_BOOTTIME` includes it, `CLOCK_MONOTONIC` does not.
fn slept_since_boot() -> Duration {
    static MOST: AtomicU64 = AtomicU64::new(0);
    // In this order a pause between the two reads makes the result smaller, never larger. `MOST` makes it monotonic.
    let boot = Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default();
    let awake = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
    let slept = boot.saturating_sub(awake).as_millis();
    let slept = u64::try_from(slept).unwrap_or(u64::MAX);
    Duration::from_millis(MOST.fetch_max(slept, Ordering::Relaxed).max(slept))
}

#[cfg(test)]
mod tests {
    use super::{Clock, slept_since_boot};
    use mooring_plan::time::Instant;
    use std::cell::Cell;
    use tokio::time::Duration;

    thread_local! {
        static SLEPT: Cell<Duration> = const { Cell::new(Duration::from_secs(7)) };
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_that_the_machine_slept_has_passed() {
        let clock = Clock::with(|| SLEPT.get());
        assert_eq!(
            clock.now(),
            Instant::START,
            "the time that it slept before does not count"
        );
        tokio::time::advance(Duration::from_secs(2)).await;
        SLEPT.set(Duration::from_secs(67));
        assert_eq!(clock.now(), Instant::from_secs(62));
        clock.until(Instant::from_secs(65)).await;
        assert_eq!(clock.now(), Instant::from_secs(65));
        clock.until(Instant::from_secs(1)).await;
        assert_eq!(clock.now(), Instant::from_secs(65), "it has passed");
    }

    #[test]
    fn time_never_goes_back() {
        let mut before = slept_since_boot();
        for _ in 0..100_000 {
            let now = slept_since_boot();
            assert!(before <= now, "{before:?} {now:?}");
            before = now;
        }
    }
}
