//! How long EC2 has answered no call of this process. If it does not answer for long, a replica elsewhere can have a way
//! to it.
//! Rule: R6.15.

use core::time::Duration;

use crate::outcome::Outcome;
use crate::time::Instant;

/// The leader releases the lease when EC2 has answered no call for this time, at least.
const AT_LEAST: Duration = Duration::from_mins(1);

/// And not before an inventory of each subnet was tried: at rest no other call is made, and one subnet that cannot be
/// listed does not mean that EC2 is silent. This is the time that an inventory may take in addition to the interval.
const INVENTORY: Duration = Duration::from_secs(20);

/// The calls without an answer since the last one that was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Silence(Option<Unanswered>);

/// When the first and the last of them ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Unanswered {
    first: Instant,
    last: Instant,
}

impl Silence {
    /// Handles how a call of EC2 ended; None: it succeeded. Returns true if it is time to give up. Then the count begins
    /// again.
    pub(super) fn called(
        &mut self,
        outcome: Option<Outcome>,
        inventory_interval: Duration,
        now: Instant,
    ) -> bool {
        let limit = AT_LEAST.max(inventory_interval + INVENTORY);
        let before = self.0.take();
        if !outcome.is_some_and(Outcome::is_silence) {
            return false;
        }
        // If no call was made for that long, the earlier ones say nothing of the time between.
        let goes_on = before.filter(|before| now.since(before.last) < limit);
        let first = goes_on.map_or(now, |before| before.first);
        let gives_up = now.since(first) >= limit;
        if !gives_up {
            self.0 = Some(Unanswered { first, last: now });
        }
        gives_up
    }
}
