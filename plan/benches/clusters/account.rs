//! EC2's token buckets of one account, which all of its clusters share.

use mooring_plan::buckets::Budget;
use mooring_plan::outcome::Action;
use mooring_plan::time::Instant;

/// A bucket counts thousandths of a token, so that a refill per second is a refill per millisecond.
const TOKEN: u64 = 1000;

/// What came of the calls of one action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    pub executed: u64,
    /// Refused with `RequestLimitExceeded`. Such a call takes no token.
    pub throttled: u64,
}

/// The bucket of one action.
#[derive(Clone, Debug)]
struct Bucket {
    held: u64,
    counted: Instant,
    calls: Calls,
}

/// One account in one region.
#[derive(Clone, Debug)]
pub struct Account {
    quota: Budget,
    assign: Bucket,
    unassign: Bucket,
}

impl Account {
    /// With full buckets of this size.
    pub fn new(quota: Budget) -> Self {
        let full = Bucket {
            held: quota.burst * TOKEN,
            counted: Instant::START,
            calls: Calls::default(),
        };
        Self {
            quota,
            assign: full.clone(),
            unassign: full,
        }
    }

    /// A call arrives. Is there a token for it?
    pub fn draw(&mut self, action: Action, now: Instant) -> bool {
        let quota = self.quota;
        let bucket = match action {
            Action::Assign => &mut self.assign,
            _ => &mut self.unassign,
        };
        let passed = u64::try_from(now.since(bucket.counted).as_millis()).unwrap();
        let held = bucket.held + passed * quota.per_second;
        bucket.held = held.min(quota.burst * TOKEN);
        bucket.counted = now;
        if let Some(left) = bucket.held.checked_sub(TOKEN) {
            bucket.held = left;
            bucket.calls.executed += 1;
            true
        } else {
            bucket.calls.throttled += 1;
            false
        }
    }

    /// The calls of Assign, and those of Unassign.
    pub fn calls(&self) -> [Calls; 2] {
        [self.assign.calls, self.unassign.calls]
    }
}
