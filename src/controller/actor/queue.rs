//! Which IPs are to be looked at: now, in the order in which they came up, or later.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mooring_plan::names::{IpName, Millis};

/// IPs that are to be looked at.
#[derive(Debug, Default)]
pub(super) struct Queue {
    order: VecDeque<IpName>,
    waiting: BTreeSet<IpName>,
    timers: BTreeSet<(Millis, IpName)>,
    due: BTreeMap<IpName, Millis>,
}

impl Queue {
    /// To be looked at now. Once is enough, however often it is said.
    pub(super) fn push(&mut self, ip: IpName) {
        if self.waiting.insert(ip.clone()) {
            self.order.push_back(ip);
        }
    }

    pub(super) fn extend<'a>(&mut self, ips: impl Iterator<Item = &'a IpName>) {
        for ip in ips {
            if !self.waiting.contains(ip) {
                self.push(ip.clone());
            }
        }
    }

    /// The next one, and its timer with it: whoever looks sets a new one.
    pub(super) fn pop(&mut self) -> Option<IpName> {
        let ip = self.order.pop_front()?;
        self.waiting.remove(&ip);
        self.cancel(&ip);
        Some(ip)
    }

    /// To be looked at then, unless it comes up before.
    pub(super) fn at(&mut self, ip: IpName, moment: Millis) {
        self.cancel(&ip);
        self.timers.insert((moment, ip.clone()));
        self.due.insert(ip, moment);
    }

    fn cancel(&mut self, ip: &IpName) {
        if let Some(moment) = self.due.remove(ip) {
            self.timers.remove(&(moment, ip.clone()));
        }
    }

    /// Those whose time has come are to be looked at now.
    pub(super) fn ring(&mut self, now: Millis) {
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

    /// When the next timer rings.
    pub(super) fn next(&self) -> Option<Millis> {
        self.timers.first().map(|(moment, _)| *moment)
    }
}

#[cfg(test)]
mod tests {
    use super::Queue;
    use mooring_plan::names::{IpName, Millis};

    #[test]
    fn an_ip_waits_once_and_in_order() {
        let mut queue = Queue::default();
        for name in ["b", "a", "b"] {
            queue.push(IpName::from(name));
        }
        assert_eq!(queue.pop(), Some(IpName::from("b")));
        assert_eq!(queue.pop(), Some(IpName::from("a")));
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn a_look_cancels_the_timer() {
        let mut queue = Queue::default();
        queue.at(IpName::from("a"), Millis(10));
        queue.at(IpName::from("a"), Millis(5));
        queue.at(IpName::from("b"), Millis(7));
        assert_eq!(queue.next(), Some(Millis(5)));
        queue.push(IpName::from("a"));
        queue.pop();
        assert_eq!(queue.next(), Some(Millis(7)));
        queue.ring(Millis(6));
        assert_eq!(queue.pop(), None);
        queue.ring(Millis(7));
        assert_eq!(queue.pop(), Some(IpName::from("b")));
        assert_eq!(queue.next(), None);
    }
}
