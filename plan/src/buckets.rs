//! How often EC2 may be called: a token bucket per action, as EC2 keeps one per account, region and
//! action (EC2 API reference, "Request throttling").
//! Rule: R5.10.
//!
//! The account's bucket is shared with everything else that runs in it and cannot be read. So ours
//! starts as large as EC2's, and a call that EC2 throttles tells that it is empty. How often a throttled
//! call is tried again is the outage's matter (`facts/outage.rs`).

use core::time::Duration;

use crate::ec2::token_bucket;
use crate::outcome::Action;
use crate::time::{Instant, millis};

/// A bucket counts thousandths of a token, so that a refill per second is a refill per millisecond.
const TOKEN: u64 = 1000;

/// How many mutating calls of each action Mooring makes of those that EC2 allows the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Budget {
    /// At once, after a pause: at least 1.
    pub burst: u64,
    /// Each second: at least 1.
    pub per_second: u64,
}

impl Default for Budget {
    /// All that EC2 allows.
    fn default() -> Self {
        let (burst, per_second) = token_bucket(Action::Assign);
        Self { burst, per_second }
    }
}

/// One action's bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Bucket {
    /// Tokens that it holds when full.
    size: u64,
    /// Tokens per second.
    refill: u64,
    /// What it holds, in thousandths of a token.
    held: u64,
    /// When that was counted.
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

    /// Whole tokens that it holds.
    fn held(&mut self, now: Instant) -> u64 {
        self.count(now);
        self.held / TOKEN
    }

    /// Whole tokens that are missing.
    fn used(&mut self, now: Instant) -> u64 {
        self.count(now);
        (self.size * TOKEN - self.held) / TOKEN
    }

    const fn throttled(&mut self, now: Instant) {
        self.held = 0;
        self.counted = now;
    }
}

/// The buckets of every action: a value, so that a model can hold it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Buckets {
    assign: Bucket,
    unassign: Bucket,
    describe_interfaces: Bucket,
    describe_instances: Bucket,
    describe_instance_status: Bucket,
    describe_instance_types: Bucket,
    describe_subnets: Bucket,
}

impl Default for Buckets {
    /// Full buckets.
    fn default() -> Self {
        Self {
            assign: Bucket::new(Action::Assign),
            unassign: Bucket::new(Action::Unassign),
            describe_interfaces: Bucket::new(Action::DescribeInterfaces),
            describe_instances: Bucket::new(Action::DescribeInstances),
            describe_instance_status: Bucket::new(Action::DescribeInstanceStatus),
            describe_instance_types: Bucket::new(Action::DescribeInstanceTypes),
            describe_subnets: Bucket::new(Action::DescribeSubnets),
        }
    }
}

impl Buckets {
    /// The same with this budget for mutating calls.
    #[must_use]
    pub fn with_budget(self, budget: Budget) -> Self {
        let bucket = Bucket::sized(budget.burst.max(1), budget.per_second.max(1));
        Self {
            assign: bucket,
            unassign: bucket,
            ..self
        }
    }

    /// Takes the token for one call of `action`. Where there is none: the moment to ask again.
    ///
    /// # Errors
    /// The moment, later than `now`, before which no token comes.
    pub fn take(&mut self, action: Action, now: Instant) -> Result<(), Instant> {
        self.bucket(action).take(now)
    }

    /// How many tokens of `action` were taken and have not come back.
    pub fn used(&mut self, action: Action, now: Instant) -> u64 {
        self.bucket(action).used(now)
    }

    /// How many calls of `action` may be made at once.
    pub fn held(&mut self, action: Action, now: Instant) -> u64 {
        self.bucket(action).held(now)
    }

    /// EC2 throttled a call of `action`: its bucket is empty, whatever ours held.
    pub const fn throttled(&mut self, action: Action, now: Instant) {
        self.bucket(action).throttled(now);
    }

    const fn bucket(&mut self, action: Action) -> &mut Bucket {
        match action {
            Action::Assign => &mut self.assign,
            Action::Unassign => &mut self.unassign,
            Action::DescribeInterfaces => &mut self.describe_interfaces,
            Action::DescribeInstances => &mut self.describe_instances,
            Action::DescribeInstanceStatus => &mut self.describe_instance_status,
            Action::DescribeInstanceTypes => &mut self.describe_instance_types,
            Action::DescribeSubnets => &mut self.describe_subnets,
        }
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

    /// Calls that get a token between `from` and `to`, asking whenever the bucket says to.
    fn calls(buckets: &mut Buckets, action: Action, from: Instant, to: Instant) -> u64 {
        let (mut now, mut made) = (from, 0);
        // A bucket that never said no would not end.
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
    fn what_is_held_and_what_is_used_are_whole_tokens() {
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
        // Half a token has come back.
        let later = now.plus(Duration::from_millis(100));
        assert_eq!(both(&mut buckets, later), (97, 2));
    }

    #[test]
    fn once_throttled_it_is_as_fast_as_the_refill_at_once_however_often_that_was() {
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
