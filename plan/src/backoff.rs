//! Backoff: the wait after a failure or a repetition, which doubles each time; for a few reads it is always the same.
//! Rules: R3.10, R3.11, R3.41, R5.5, R5.6, R5.14, R5.17.

use core::time::Duration;

use crate::outcome::Outcome;
use crate::time::{Instant, millis};

/// Waits after a failure.
pub(crate) const FAILURES: Waits = Waits {
    first: Duration::from_secs(1),
    longest: Duration::from_secs(30),
};

/// Waits after a read of EC2 that was throttled, denied or not answered. The maximum is short: there are few such
/// reads, and many decisions wait for them.
const DESCRIBES: Waits = Waits {
    first: FAILURES.first,
    longest: Duration::from_secs(2),
};

/// Waits between questions to EC2 about a node that has been away for some time.
pub(crate) const QUESTIONS: Waits = Waits {
    first: Duration::from_secs(4),
    longest: Duration::from_secs(30),
};

/// Waits before a step that is decided again although nothing failed. They are shorter than the second after which
/// a call is tried again in an outage.
pub(crate) const REPETITIONS: Waits = Waits {
    first: Duration::from_millis(200),
    longest: Duration::from_millis(800),
};

/// Waits before a target that EC2 refused again, or denied, is tried again: a try makes the holder not ready for a
/// moment.
pub(crate) const REFUSALS: Waits = Waits {
    first: Duration::from_mins(1),
    longest: Duration::from_mins(8),
};

/// Wait after a `DescribeInstanceTypes` that failed for another reason than an unknown type. Until then, EC2 decides
/// whether there is room.
pub(crate) const LIMITS: Duration = Duration::from_mins(1);

/// Wait before the limit of a type is requested again that EC2 does not know: only a release of AWS changes that.
pub(crate) const UNKNOWN_TYPES: Duration = Duration::from_hours(1);

/// Wait before status checks are read again without the permission.
pub(crate) const CHECKS_DENIED: Duration = Duration::from_mins(10);

/// The waits after a read of EC2 that failed. `outcome` is the answer of EC2, if there was one.
pub(crate) fn of_describe(outcome: Option<Outcome>) -> Waits {
    if outcome.is_some_and(Outcome::is_of_all) {
        DESCRIBES
    } else {
        FAILURES
    }
}

/// The first and the longest wait. Each wait is twice the one before, up to the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waits {
    first: Duration,
    longest: Duration,
}

impl Waits {
    /// The next backoff after `before`. The length depends on the name too, so that objects that failed at the same
    /// time are not tried again at the same time.
    pub(crate) fn after(self, before: Option<&Backoff>, name: &str, now: Instant) -> Backoff {
        // The count stops at the longest wait, so that a model checker does not see more states than necessary.
        let times = before.map_or(1, |before| (self.doublings() + 1).min(before.times + 1));
        let wait = millis(self.wait_after(times - 1));
        let spread = name.bytes().fold(u64::from(times), |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(byte.into())
        });
        let jittered = wait - (spread % 256).saturating_mul(wait) / 1024;
        Backoff {
            until: now.plus(Duration::from_millis(jittered)),
            times,
        }
    }

    /// The wait after this number of waits before, the same for each name.
    pub(crate) fn wait_after(self, waits: u32) -> Duration {
        let wait = millis(self.first) << waits.min(self.doublings());
        Duration::from_millis(wait).min(self.longest)
    }

    /// The number of doublings from the first wait to the longest.
    const fn doublings(self) -> u32 {
        let (first, longest) = (millis(self.first), millis(self.longest));
        longest.div_ceil(first).next_power_of_two().ilog2()
    }
}

/// The current wait.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Backoff {
    /// When to try again at the earliest.
    pub(crate) until: Instant,
    /// Number of failures or repetitions in a row; it stops at the one with the longest wait.
    times: u32,
}

impl Backoff {
    /// True after more than one failure or repetition in a row.
    pub(crate) const fn repeated(&self) -> bool {
        self.times > 1
    }

    pub(crate) fn cut_short(&mut self, now: Instant) {
        self.until = self.until.min(now);
    }

    #[cfg(feature = "timestamps")]
    pub(crate) fn each_timestamp(&mut self, change: &mut impl FnMut(&mut Instant)) {
        change(&mut self.until);
    }
}
