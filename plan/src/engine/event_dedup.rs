//! Deduplicates notices: each is posted once while it stays true.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use crate::step::Notice;
use crate::time::Instant;

/// A notice that was not true for this time is posted again.
const FORGET_AFTER: Duration = Duration::from_mins(10);

/// The posted notices, and when each was last true.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct EventDedup(BTreeMap<Notice, Instant>);

impl EventDedup {
    /// Returns the notices that were not posted yet, and remembers all of them.
    pub(super) fn new_ones(&mut self, notices: Vec<Notice>, now: Instant) -> Vec<Notice> {
        let mut new = Vec::new();
        for notice in notices {
            let last = self.0.insert(notice.clone(), now);
            if last.is_none_or(|last| now.since(last) >= FORGET_AFTER) {
                new.push(notice);
            }
        }
        new
    }

    /// Removes notices that were not true for [`FORGET_AFTER`].
    pub(super) fn forget_old(&mut self, now: Instant) {
        self.0.retain(|_, last| now.since(*last) < FORGET_AFTER);
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned as _;
    use alloc::vec;
    use core::time::Duration;

    use super::{EventDedup, FORGET_AFTER};
    use crate::names::{IpName, IpUid};
    use crate::reason::Reason;
    use crate::step::{Notice, Regarding};
    use crate::time::Instant;

    fn notice(message: &str) -> Notice {
        let on = Regarding::Ip(IpName::from("a"), IpUid::from("u"));
        Notice {
            on,
            reason: Reason::NodeFull,
            message: message.to_owned(),
        }
    }

    #[test]
    fn a_notice_is_posted_once_while_it_stays_true_and_again_when_it_comes_back() {
        let mut dedup = EventDedup::default();
        assert_eq!(dedup.new_ones(vec![notice("x")], Instant::START).len(), 1);
        for minute in 1..100 {
            let now = Instant::from_secs(60 * minute);
            assert!(dedup.new_ones(vec![notice("x")], now).is_empty());
        }
        let later = Instant::from_secs(6000);
        assert_eq!(dedup.new_ones(vec![notice("y")], later).len(), 1);
        let later = Instant::from_secs(7000);
        dedup.forget_old(later);
        assert_eq!(dedup.new_ones(vec![notice("x")], later).len(), 1);
    }

    #[test]
    fn old_notices_take_no_memory_and_recent_ones_are_known() {
        let mut dedup = EventDedup::default();
        dedup.new_ones(vec![notice("x")], Instant::START);
        let known = dedup.clone();
        let just_before = FORGET_AFTER.saturating_sub(Duration::from_millis(1));
        dedup.forget_old(Instant::START.plus(just_before));
        assert_eq!(dedup, known);
        dedup.forget_old(Instant::START.plus(FORGET_AFTER));
        assert_eq!(dedup, EventDedup::default());
        dedup.new_ones(vec![notice("x")], Instant::START);
        dedup.forget_old(Instant::from_secs(6000));
        assert_eq!(dedup, EventDedup::default());
    }
}
