//! The queue of IPs that need a reconciliation: now, in the order in which they were queued, or at a later time.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::names::IpName;
use crate::time::Instant;

/// IPs that need a reconciliation.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct WorkQueue {
    order: VecDeque<IpName>,
    queued: BTreeSet<IpName>,
    timers: BTreeSet<(Instant, IpName)>,
    due: BTreeMap<IpName, Instant>,
}

impl WorkQueue {
    /// Queues an IP for now. An IP that is queued already is not added again.
    pub(super) fn push(&mut self, ip: IpName) {
        if self.queued.insert(ip.clone()) {
            self.order.push_back(ip);
        }
    }

    pub(super) fn extend<'a>(&mut self, ips: impl Iterator<Item = &'a IpName>) {
        for ip in ips {
            if !self.queued.contains(ip) {
                self.push(ip.clone());
            }
        }
    }

    /// Removes and returns the next IP. Its timer is cancelled: the reconciliation sets a new one.
    pub(super) fn pop(&mut self) -> Option<IpName> {
        let ip = self.order.pop_front()?;
        self.queued.remove(&ip);
        self.cancel(&ip);
        Some(ip)
    }

    /// Sets the timer of an IP: it is queued at this time, unless it is queued before.
    pub(super) fn at(&mut self, ip: IpName, moment: Instant) {
        self.cancel(&ip);
        self.timers.insert((moment, ip.clone()));
        self.due.insert(ip, moment);
    }

    fn cancel(&mut self, ip: &IpName) {
        if let Some(moment) = self.due.remove(ip) {
            self.timers.remove(&(moment, ip.clone()));
        }
    }

    /// Queues the IPs whose timer has expired.
    pub(super) fn promote_due(&mut self, now: Instant) {
        while self
            .timers
            .first()
            .is_some_and(|(moment, _)| *moment <= now)
        {
            if let Some((_, ip)) = self.timers.pop_first() {
                self.due.remove(&ip);
                self.push(ip);
            }
        }
    }

    /// When the next timer expires.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.timers.first().map(|(moment, _)| *moment)
    }
}

#[cfg(test)]
mod tests {
    use super::WorkQueue;
    use crate::names::IpName;
    use crate::time::Instant;

    #[test]
    fn an_ip_is_queued_once_and_in_order() {
        let mut queue = WorkQueue::default();
        for name in ["b", "a", "b"] {
            queue.push(IpName::from(name));
        }
        assert_eq!(queue.pop(), Some(IpName::from("b")));
        assert_eq!(queue.pop(), Some(IpName::from("a")));
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn a_reconciliation_cancels_the_timer() {
        let mut queue = WorkQueue::default();
        queue.at(IpName::from("a"), Instant::from_millis(10));
        queue.at(IpName::from("a"), Instant::from_millis(5));
        queue.at(IpName::from("b"), Instant::from_millis(7));
        assert_eq!(queue.next_timer(), Some(Instant::from_millis(5)));
        queue.push(IpName::from("a"));
        queue.pop();
        assert_eq!(queue.next_timer(), Some(Instant::from_millis(7)));
        queue.promote_due(Instant::from_millis(6));
        assert_eq!(queue.pop(), None);
        queue.promote_due(Instant::from_millis(7));
        assert_eq!(queue.pop(), Some(IpName::from("b")));
        assert_eq!(queue.next_timer(), None);
    }
}
