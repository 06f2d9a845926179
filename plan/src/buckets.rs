//! The rate limit for calls to EC2: one token bucket per action. EC2 has one per account, region and action (EC2 API
//! reference, "Request throttling").
//! Rule: R5.10.
//!
//! The bucket of the account is shared with all other programs and cannot be read. So the local bucket starts with the
//! size that EC2 documents, and is set to empty when EC2 throttles a call. `facts/outage.rs` decides when a throttled
//! call is tried again.

use alloc::collections::BTreeMap;
use core::time::Duration;

use crate::ec2::token_bucket;
use crate::outcome::Action;
use crate::time::{Instant, millis};

/// Buckets count in thousandths of a token: N tokens per second are then N units per millisecond.
const TOKEN: u64 = 1000;

/// Limit for mutating calls per action: the part of the limit of the account that Mooring uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Budget {
    /// Size of the bucket: calls at once after a pause. At least 1.
    pub burst: u64,
    /// Tokens per second. At least 1.
    pub per_second: u64,
}

impl Default for Budget {
    /// The full limit of EC2.
    fn default() -> Self {
        let (burst, per_second) = token_bucket(Action::Assign);
        Self { burst, per_second }
    }
}

/// The bucket of one action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Bucket {
    /// Tokens in a full bucket.
    size: u64,
    /// Tokens per second.
    refill: u64,
    /// The current content, in thousandths of a token.
    held: u64,
    /// When the content was last computed.
    counted: Instant,
}

impl Bucket {
    const fn new(action: Action) -> Self {
        let (size, refill) = token_bucket(action);
        Self::sized(size, refill)
    }

    const fn sized(size: u64, refill: u64) -> Self {
        Self {
            size,
            refill,
            held: size * TOKEN,
            counted: Instant::START,
        }
    }

    fn count(&mut self, now: Instant) {
        let gained = millis(now.since(self.counted)).saturating_mul(self.refill);
        self.held = self.held.saturating_add(gained).min(self.size * TOKEN);
        self.counted = now;
    }

    fn take(&mut self, now: Instant) -> Result<(), Instant> {
        self.count(now);
        if let Some(rest) = self.held.checked_sub(TOKEN) {
            self.held = rest;
            return Ok(());
        }
        let missing = TOKEN - self.held;
        let wait = missing.div_ceil(self.refill).max(1);
        Err(self
            .counted
            .plus(Duration::from_millis(wait))
            .max(now.plus(Duration::from_millis(1))))
    }

    /// Whole tokens in the bucket.
    fn held(&mut self, now: Instant) -> u64 {
        self.count(now);
        self.held / TOKEN
    }

    /// Whole tokens that are missing from the full bucket.
    fn used(&mut self, now: Instant) -> u64 {
        self.count(now);
        (self.size * TOKEN - self.held) / TOKEN
    }

    const fn throttled(&mut self, now: Instant) {
        self.held = 0;
        self.counted = now;
    }
}

/// The buckets of all actions: a plain value, so that it can be part of the state of a model checker. A bucket that is
/// not here is full.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Buckets(BTreeMap<Action, Bucket>);

impl Buckets {
    /// Sets the budget for mutating calls.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        let bucket = Bucket::sized(budget.burst.max(1), budget.per_second.max(1));
        self.0.insert(Action::Assign, bucket);
        self.0.insert(Action::Unassign, bucket);
        self
    }

    /// Takes the token for one call of `action`.
    ///
    /// # Errors
    /// No token is available: when to try again (later than `now`).
    pub fn take(&mut self, action: Action, now: Instant) -> Result<(), Instant> {
        self.bucket(action).take(now)
    }

    /// Number of tokens of `action` that were taken and are not refilled yet.
    pub fn used(&mut self, action: Action, now: Instant) -> u64 {
        self.bucket(action).used(now)
    }

    /// Number of calls of `action` that may be made now.
    pub fn held(&mut self, action: Action, now: Instant) -> u64 {
        self.bucket(action).held(now)
    }

    /// EC2 throttled a call of `action`: the bucket is set to empty.
    pub fn throttled(&mut self, action: Action, now: Instant) {
        self.bucket(action).throttled(now);
    }

    fn bucket(&mut self, action: Action) -> &mut Bucket {
        self.0.entry(action).or_insert_with(|| Bucket::new(action))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use core::time::Duration;

    use super::{Buckets, Budget};
    use crate::outcome::Action;
    use crate::time::Instant;
    use proptest::prelude::*;

    /// Number of calls that get a token between `from` and `to`, if each is tried when the bucket says.
    fn calls(buckets: &mut Buckets, action: Action, from: Instant, to: Instant) -> u64 {
        let (mut now, mut made) = (from, 0);
        // The limit ends the loop if a bucket never refuses.
        while now < to && made < 100_000 {
            match buckets.take(action, now) {
                Ok(()) => made += 1,
                Err(when) => now = when,
            }
        }
        made
    }

    #[test]
    fn a_burst_is_as_large_as_the_bucket_and_then_as_fast_as_the_refill() {
        for (action, size, refill) in [
            (Action::Assign, 100, 5),
            (Action::Unassign, 100, 5),
            (Action::DescribeInterfaces, 100, 20),
            (Action::DescribeInstances, 100, 20),
            (Action::DescribeInstanceStatus, 100, 20),
            (Action::DescribeInstanceTypes, 100, 20),
            (Action::DescribeSubnets, 100, 20),
        ] {
            let mut buckets = Buckets::default();
            assert_eq!(
                calls(
                    &mut buckets,
                    action,
                    Instant::START,
                    Instant::from_millis(1)
                ),
                size,
                "{action}"
            );
            let made = calls(
                &mut buckets,
                action,
                Instant::from_millis(1),
                Instant::from_secs(60),
            );
            assert!(
                (refill * 60 - 1..=refill * 60).contains(&made),
                "{action}: {made}"
            );
        }
    }

    #[test]
    fn a_budget_is_of_the_mutating_calls_only() {
        let budget = Budget {
            burst: 10,
            per_second: 2,
        };
        let mut buckets = Buckets::default().with_budget(budget);
        for (action, expected) in [
            (Action::Assign, 20..=30),
            (Action::Unassign, 20..=30),
            (Action::DescribeInterfaces, 290..=300),
        ] {
            let made = calls(&mut buckets, action, Instant::START, Instant::from_secs(10));
            assert!(expected.contains(&made), "{action}: {made}");
        }
    }

    #[test]
    fn actions_do_not_eat_from_each_other() {
        let mut buckets = Buckets::default();
        while buckets.take(Action::Assign, Instant::START).is_ok() {}
        assert_eq!(buckets.take(Action::Unassign, Instant::START), Ok(()));
    }

    #[test]
    fn held_and_used_tokens_are_whole_numbers() {
        let (mut buckets, now) = (Buckets::default(), Instant::from_millis(5));
        let both = |buckets: &mut Buckets, now| {
            let held = buckets.held(Action::Assign, now);
            (held, buckets.used(Action::Assign, now))
        };
        assert_eq!(both(&mut buckets, now), (100, 0));
        for _ in 0..3 {
            assert_eq!(buckets.take(Action::Assign, now), Ok(()));
        }
        assert_eq!(both(&mut buckets, now), (97, 3));
        // Half a token was refilled.
        let later = now.plus(Duration::from_millis(100));
        assert_eq!(both(&mut buckets, later), (97, 2));
    }

    #[test]
    fn after_any_number_of_throttlings_the_rate_is_the_refill_rate() {
        for throttlings in [1, 2, 50] {
            let mut buckets = Buckets::default();
            let mut now = Instant::START;
            for _ in 0..throttlings {
                now = now.plus(Duration::from_secs(1));
                buckets.throttled(Action::Assign, now);
            }
            let made = calls(
                &mut buckets,
                Action::Assign,
                now,
                now.plus(Duration::from_secs(20)),
            );
            assert!((99..=100).contains(&made), "{throttlings}: {made}");
        }
    }

    proptest! {
        #[test]
        fn a_refusal_names_a_moment_ahead_and_never_far(
            events in proptest::collection::vec((0u8..2, 0u64..5_000), 1..200),
        ) {
            let (mut buckets, mut now) = (Buckets::default(), Instant::START);
            for (event, later) in events {
                now = now.plus(Duration::from_millis(later));
                match event {
                    0 => {
                        if let Err(when) = buckets.take(Action::Assign, now) {
                            prop_assert!(when > now);
                            prop_assert!(when.since(now) <= Duration::from_millis(200));
                        }
                    }
                    _ => buckets.throttled(Action::Assign, now),
                }
            }
        }
    }
}
