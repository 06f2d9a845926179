//! Token buckets, one an action, as EC2 throttles an account (EC2 API reference, "Request throttling").

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::wire::Action;
use crate::wire::action::Kind;

/// How large a bucket is and how fast it fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// As many calls at once, from a full bucket.
    pub size: u32,
    /// As many a second after that.
    pub refill_per_second: u32,
}

/// Which bucket a call draws from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket {
    /// The action.
    pub action: Action,
    /// Whether the call is filtered or paged, or names what it wants. Only a Describe of interfaces or
    /// instances that is not has a bucket of its own.
    pub narrowed: bool,
}

impl Bucket {
    /// EC2's own size for it. Actions without a line in its table share the size for all that change
    /// something.
    #[must_use]
    pub fn default_size(self) -> Size {
        let (size, refill_per_second) = match self.action {
            Action::AssignPrivateIpAddresses | Action::UnassignPrivateIpAddresses => (100, 5),
            Action::DescribeNetworkInterfaces | Action::DescribeInstances if !self.narrowed => {
                (50, 10)
            }
            Action::CreateTags => (100, 10),
            other if other.kind() == Kind::Read => (100, 20),
            _ => (50, 5),
        };
        Size {
            size,
            refill_per_second,
        }
    }
}

/// The tokens of a bucket in thousandths of a call, to avoid rounding errors.
#[derive(Debug, Clone, Copy)]
struct Level {
    thousandths: u64,
    at: Duration,
}

/// All buckets of the account.
#[derive(Debug, Clone, Default)]
pub struct TokenBuckets {
    sizes: BTreeMap<Action, Size>,
    levels: BTreeMap<Bucket, Level>,
}

impl TokenBuckets {
    /// Changes the size of the buckets of an action, and fills them.
    pub fn resize(&mut self, action: Action, size: Size) {
        self.sizes.insert(action, size);
        self.levels.retain(|bucket, _| bucket.action != action);
    }

    /// The sizes that differ from EC2's.
    #[must_use]
    pub const fn sizes(&self) -> &BTreeMap<Action, Size> {
        &self.sizes
    }

    /// Fills all buckets.
    pub fn fill(&mut self) {
        self.levels.clear();
    }

    /// Leaves this number of calls in the buckets of an action at the time `now`; they refill from there.
    pub fn leave(&mut self, action: Action, tokens: u32, now: Duration) {
        for narrowed in [false, true] {
            let level = Level {
                thousandths: u64::from(tokens) * 1000,
                at: now,
            };
            self.levels.insert(Bucket { action, narrowed }, level);
        }
    }

    /// Draws one call at the time `now`; false: there was none left.
    pub fn draw(&mut self, bucket: Bucket, now: Duration) -> bool {
        let size = self
            .sizes
            .get(&bucket.action)
            .copied()
            .unwrap_or_else(|| bucket.default_size());
        let full = u64::from(size.size) * 1000;
        let level = self.levels.entry(bucket).or_insert(Level {
            thousandths: full,
            at: now,
        });
        // One a second is one thousandth a millisecond. Only whole milliseconds are taken off the clock.
        let passed = super::millis(now.saturating_sub(level.at));
        let refill = passed.saturating_mul(u64::from(size.refill_per_second));
        level.thousandths = level.thousandths.saturating_add(refill).min(full);
        level.at += Duration::from_millis(passed);
        let Some(left) = level.thousandths.checked_sub(1000) else {
            return false;
        };
        level.thousandths = left;
        true
    }
}
