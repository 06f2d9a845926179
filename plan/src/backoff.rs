//! The wait that grows with each repetition: of what failed, and of what is done again and again.
//! Rules: R5.14, R5.17.

use core::time::Duration;

use crate::outcome::Outcome;
use crate::time::{Instant, millis};

/// Of what failed.
pub(crate) const FAILURES: Waits = Waits {
    first: Duration::from_secs(1),
    longest: Duration::from_secs(30),
};

/// Of what is read of EC2 while it is away or does not permit it: there are few such reads, and much waits
/// for them.
const DESCRIBES: Waits = Waits {
    first: FAILURES.first,
    longest: Duration::from_secs(2),
};

/// Of a question about a node that has been away for some time.
pub(crate) const QUESTIONS: Waits = Waits {
    first: Duration::from_secs(4),
    longest: Duration::from_secs(30),
};

/// Of a step that is decided again although nothing failed: less than the second after which the rules try a call
/// again that EC2 does not serve.
pub(crate) const REPETITIONS: Waits = Waits {
    first: Duration::from_millis(200),
    longest: Duration::from_millis(800),
};

/// The waits after a read of EC2 that failed. `outcome` is EC2's answer, where it gave one.
pub(crate) fn of_describe(outcome: Option<Outcome>) -> Waits {
    if outcome.is_some_and(Outcome::is_of_all) {
        DESCRIBES
    } else {
        FAILURES
    }
}

/// How long the waits are. Each is twice the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waits {
    first: Duration,
    longest: Duration,
}

impl Waits {
    /// One more. The name of what waits is in the wait, so that what failed in one moment does not come back
    /// in one.
    pub(crate) fn after(self, before: Option<&Backoff>, name: &str, now: Instant) -> Backoff {
        let (first, longest) = (millis(self.first), millis(self.longest));
        let doublings = longest.div_ceil(first).next_power_of_two().ilog2();
        // Not counted further: two states that differ in nothing else are one.
        let times = before.map_or(1, |before| (doublings + 1).min(before.times + 1));
        let wait = longest.min(first << (times - 1));
        let spread = name.bytes().fold(u64::from(times), |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(byte.into())
        });
        let jittered = wait - (spread % 256).saturating_mul(wait) / 1024;
        Backoff {
            until: now.plus(Duration::from_millis(jittered)),
            times,
        }
    }
}

/// What waits, and until when.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Backoff {
    /// When to try again at the earliest.
    pub(crate) until: Instant,
    /// How many times in a row, up to the one with the longest wait.
    times: u32,
}

impl Backoff {
    /// Was there more than one in a row?
    pub(crate) const fn repeated(&self) -> bool {
        self.times > 1
    }

    pub(crate) fn cut_short(&mut self, now: Instant) {
        self.until = self.until.min(now);
    }

    #[cfg(feature = "timestamps")]
    pub(crate) fn each_moment(&mut self, change: &mut impl FnMut(&mut Instant)) {
        change(&mut self.until);
    }
}
