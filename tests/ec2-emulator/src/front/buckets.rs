//! Token buckets, one for each action, as EC2 throttles an account (EC2 API reference, "Request throttling").

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::wire::Action;
use crate::wire::action::Kind;

/// The size of a bucket and its refill rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// The number of calls that a full bucket allows at once.
    pub size: u32,
    /// The number of calls per second after that.
    pub refill_per_second: u32,
}

/// The key of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket {
    /// The action.
    pub action: Action,
    /// Is the call filtered or paged, or does it name its objects? A Describe of interfaces or instances without any of
    /// these has a separate bucket.
    pub narrowed: bool,
}

impl Bucket {
    /// The size that EC2 documents. Mutating actions without a row in the EC2 table have its common size for mutating
    /// actions.
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

    /// The sizes that differ from those of EC2.
    #[must_use]
    pub const fn sizes(&self) -> &BTreeMap<Action, Size> {
        &self.sizes
    }

    /// Fills all buckets.
    pub fn fill(&mut self) {
        self.levels.clear();
    }

    /// Sets the number of calls in the buckets of an action at the time `now`. They refill from there.
    pub fn leave(&mut self, action: Action, tokens: u32, now: Duration) {
        for narrowed in [false, true] {
            let level = Level {
                thousandths: u64::from(tokens) * 1000,
                at: now,
            };
            self.levels.insert(Bucket { action, narrowed }, level);
        }
    }

    /// Takes one call at the time `now`. False if none is left.
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
        // A rate of one per second is one thousandth per millisecond. Only whole milliseconds are consumed, so no
        // fraction is lost.
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
