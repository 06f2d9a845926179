//! How often EC2 may be called: a token bucket per action, as EC2 keeps one per account, region and
//! action (EC2 API reference, "Request throttling").
//!
//! The account's bucket is shared with everything else that runs in it and cannot be read. So ours
//! starts as large as EC2's, and EC2's refusals teach it how much of that is left.

use crate::classify::Action;
use crate::names::Millis;

/// The first wait after EC2 throttled a call; it doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: Millis = Millis::seconds(1);
/// No wait is longer: an address must not be forgotten for minutes because others were busy.
pub const LONGEST_WAIT: Millis = Millis::seconds(30);
/// A bucket counts thousandths of a token, so that a refill per second is a refill per millisecond.
const TOKEN: u64 = 1000;
/// So many halvings of the refill at most, so that a bucket never dries up for good.
const MOST_HALVINGS: u32 = 4;

/// One action's bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Bucket {
    /// Tokens that it holds when full.
    size: u64,
    /// Tokens per second while EC2 is content.
    refill: u64,
    /// What it holds, in thousandths of a token.
    held: u64,
    /// When that was counted.
    counted: Millis,
    /// Throttled calls in a row: the wait doubles, and the refill halves, with each.
    throttled: u32,
    /// No call before this moment.
    closed_until: Millis,
}

impl Bucket {
    const fn new(action: Action) -> Self {
        let (size, refill) = match action {
            Action::Assign | Action::Unassign => (100, 5),
            // Filtered or paged: all of ours are.
            Action::DescribeInterfaces
            | Action::DescribeInstances
            | Action::DescribeInstanceTypes
            | Action::DescribeSubnets => (100, 20),
        };
        Self {
            size,
            refill,
            held: size * TOKEN,
            counted: Millis(0),
            throttled: 0,
            closed_until: Millis(0),
        }
    }

    /// Tokens per second as learnt, in thousandths per second.
    fn rate(&self) -> u64 {
        (self.refill * TOKEN) >> self.throttled.min(MOST_HALVINGS)
    }

    fn count(&mut self, now: Millis) {
        let gained = now.since(self.counted).0.saturating_mul(self.rate()) / 1000;
        if gained > 0 {
            self.held = self.held.saturating_add(gained).min(self.size * TOKEN);
            self.counted = now;
        }
    }

    fn take(&mut self, now: Millis) -> Result<(), Millis> {
        self.count(now);
        if now < self.closed_until {
            return Err(self.closed_until);
        }
        if let Some(rest) = self.held.checked_sub(TOKEN) {
            self.held = rest;
            return Ok(());
        }
        let missing = TOKEN - self.held;
        let wait = (missing * 1000).div_ceil(self.rate()).max(1);
        Err(self.counted.plus(Millis(wait)).max(now.plus(Millis(1))))
    }

    fn throttled(&mut self, now: Millis, jitter: u64) {
        self.count(now);
        // EC2 says that the bucket is empty, whatever we thought was in it.
        self.held = 0;
        self.counted = now;
        let longest = FIRST_WAIT
            .0
            .checked_shl(self.throttled.min(20))
            .unwrap_or(LONGEST_WAIT.0);
        let longest = longest.min(LONGEST_WAIT.0);
        let wait = longest / 2 + jitter % (longest / 2);
        // A second refusal of calls that were sent together does not open it again earlier.
        self.closed_until = self.closed_until.max(now.plus(Millis(wait)));
        self.throttled = self.throttled.saturating_add(1);
    }
}

/// The buckets of every action: a value, so that a model can hold it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Buckets {
    assign: Bucket,
    unassign: Bucket,
    describe_interfaces: Bucket,
    describe_instances: Bucket,
    describe_instance_types: Bucket,
    describe_subnets: Bucket,
    /// State of the jitter: waits of two processes must not fall together.
    jitter: u64,
}

impl Buckets {
    /// Full buckets. `seed` sets the jitter apart from other processes'; the same seed and the same
    /// calls give the same waits.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            assign: Bucket::new(Action::Assign),
            unassign: Bucket::new(Action::Unassign),
            describe_interfaces: Bucket::new(Action::DescribeInterfaces),
            describe_instances: Bucket::new(Action::DescribeInstances),
            describe_instance_types: Bucket::new(Action::DescribeInstanceTypes),
            describe_subnets: Bucket::new(Action::DescribeSubnets),
            jitter: seed,
        }
    }

    /// Takes the token for one call of `action`. Where there is none: the moment to ask again.
    ///
    /// # Errors
    /// The moment, later than `now`, before which no token comes.
    pub fn take(&mut self, action: Action, now: Millis) -> Result<(), Millis> {
        self.bucket(action).take(now)
    }

    /// EC2 throttled a call of `action`: its bucket is empty, fills more slowly, and stays closed for
    /// a jittered wait of at most [`LONGEST_WAIT`].
    pub fn throttled(&mut self, action: Action, now: Millis) {
        let jitter = self.next_jitter();
        self.bucket(action).throttled(now, jitter);
    }

    /// EC2 carried out a call of `action`, or refused it for another reason: one step back towards
    /// the full rate.
    pub fn answered(&mut self, action: Action, now: Millis) {
        let bucket = self.bucket(action);
        bucket.count(now);
        bucket.throttled = bucket.throttled.min(MOST_HALVINGS).saturating_sub(1);
    }

    const fn bucket(&mut self, action: Action) -> &mut Bucket {
        match action {
            Action::Assign => &mut self.assign,
            Action::Unassign => &mut self.unassign,
            Action::DescribeInterfaces => &mut self.describe_interfaces,
            Action::DescribeInstances => &mut self.describe_instances,
            Action::DescribeInstanceTypes => &mut self.describe_instance_types,
            Action::DescribeSubnets => &mut self.describe_subnets,
        }
    }

    /// A linear congruential step, its high bits first: spread is all that is asked of it.
    const fn next_jitter(&mut self) -> u64 {
        self.jitter = self
            .jitter
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.jitter.rotate_left(31)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Buckets, LONGEST_WAIT};
    use crate::classify::Action;
    use crate::names::Millis;
    use proptest::prelude::*;

    /// Calls that get a token between `from` and `to`, asking whenever the bucket says to.
    fn calls(buckets: &mut Buckets, action: Action, from: Millis, to: Millis) -> u64 {
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
            (Action::DescribeInstanceTypes, 100, 20),
            (Action::DescribeSubnets, 100, 20),
        ] {
            let mut buckets = Buckets::new(0);
            assert_eq!(
                calls(&mut buckets, action, Millis(0), Millis(1)),
                size,
                "{action}"
            );
            let made = calls(&mut buckets, action, Millis(1), Millis::seconds(60));
            assert!(
                (refill * 60 - 1..=refill * 60).contains(&made),
                "{action}: {made}"
            );
        }
    }

    #[test]
    fn actions_do_not_eat_from_each_other() {
        let mut buckets = Buckets::new(0);
        while buckets.take(Action::Assign, Millis(0)).is_ok() {}
        assert_eq!(buckets.take(Action::Unassign, Millis(0)), Ok(()));
    }

    #[test]
    fn throttling_closes_the_bucket_for_longer_each_time_up_to_half_a_minute() {
        let mut buckets = Buckets::new(7);
        let mut now = Millis(0);
        for longest in [1, 2, 4, 8, 16, 30, 30, 30].map(Millis::seconds) {
            buckets.throttled(Action::Assign, now);
            let when = buckets.take(Action::Assign, now).unwrap_err();
            let wait = when.since(now);
            assert!(
                wait >= Millis(longest.0 / 2) && wait <= longest,
                "{wait:?} of {longest:?}"
            );
            now = when;
        }
    }

    #[test]
    fn answers_bring_the_full_rate_back() {
        let mut buckets = Buckets::new(0);
        for _ in 0..50 {
            buckets.throttled(Action::Assign, Millis(0));
        }
        let mut now = Millis::seconds(60);
        for _ in 0..4 {
            now = now.plus(Millis::seconds(10));
            buckets.take(Action::Assign, now).unwrap();
            buckets.answered(Action::Assign, now);
        }
        calls(&mut buckets, Action::Assign, now, now.plus(Millis(1)));
        let made = calls(
            &mut buckets,
            Action::Assign,
            now,
            now.plus(Millis::seconds(20)),
        );
        assert!((99..=101).contains(&made), "{made}");
    }

    proptest! {
        #[test]
        fn a_refusal_names_a_moment_ahead_and_never_far(
            events in proptest::collection::vec((0u8..3, 0u64..5_000), 1..200),
            seed: u64,
        ) {
            let (mut buckets, mut now) = (Buckets::new(seed), Millis(0));
            for (event, later) in events {
                now = now.plus(Millis(later));
                match event {
                    0 => {
                        if let Err(when) = buckets.take(Action::Assign, now) {
                            prop_assert!(when > now);
                            prop_assert!(when.since(now) <= LONGEST_WAIT);
                        }
                    }
                    1 => buckets.throttled(Action::Assign, now),
                    _ => buckets.answered(Action::Assign, now),
                }
            }
        }
    }
}
