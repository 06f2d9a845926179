//! Tombstones: UIDs of IPs that are gone. An answer can come later than the event that its object is gone. It
//! must not bring the object back: no event would ever say again that it is gone.

use alloc::collections::VecDeque;

use crate::facts::{Fact, Facts, WriteOutcome, Written};
use crate::names::{IpUid, Millis};
use crate::step::Read;

/// The most that are kept: answers come within seconds.
const CAPACITY: usize = 1024;

/// UIDs of IPs that are gone. A UID is never used again.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Tombstones(VecDeque<IpUid>);

impl Tombstones {
    /// The fact, without what is known to be gone. `begun` is when the request that it answers was begun.
    pub(super) fn filter(&mut self, fact: Fact, begun: Millis, facts: &Facts) -> Fact {
        match fact {
            Fact::Wrote(name, write, WriteOutcome::Done(Some(Written::Ip(ip))))
                if self.0.contains(&ip.uid) =>
            {
                Fact::Wrote(name, write, WriteOutcome::Done(None))
            }
            Fact::IpRead(name, Some(ip)) if self.0.contains(&ip.uid) => {
                Fact::ReadFailed(name.clone(), Read::Ip(name), None)
            }
            Fact::IpsRead(mut ips) => {
                ips.retain(|ip| !self.0.contains(&ip.uid));
                Fact::IpsRead(ips)
            }
            // The one that a watch names: another of its name may be known already.
            Fact::IpGone(name, uid) => {
                self.add(uid.clone());
                Fact::IpGone(name, uid)
            }
            Fact::IpRead(name, None) => {
                if let Some(ip) = facts.ip(&name).filter(|_| facts.is_of_known(&name, begun)) {
                    self.add(ip.uid.clone());
                }
                Fact::IpRead(name, None)
            }
            fact => fact,
        }
    }

    fn add(&mut self, uid: IpUid) {
        if self.0.contains(&uid) {
            return;
        }
        self.0.push_back(uid);
        while self.0.len() > CAPACITY {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned as _;

    use super::Tombstones;
    use crate::facts::{Fact, Facts, Settings, WriteOutcome, Written};
    use crate::names::{IpName, IpUid, Millis, ResourceVersion};
    use crate::objects::{Ip, IpStatus};
    use crate::step::Write;

    fn ip(uid: &str) -> Ip {
        Ip {
            name: IpName::from("a"),
            uid: IpUid::from(uid),
            version: ResourceVersion(1),
            generation: 1,
            deleting: true,
            finalizer: false,
            desired: Err("none".to_owned()),
            take_from: None,
            status: IpStatus::default(),
        }
    }

    fn wrote(uid: &str) -> Fact {
        let write = Write::RemoveFinalizer(IpName::from("a"), ResourceVersion(0));
        Fact::Wrote(
            IpName::from("a"),
            write,
            WriteOutcome::Done(Some(Written::Ip(ip(uid)))),
        )
    }

    #[test]
    fn an_answer_of_an_ip_that_is_gone_brings_nothing_back_and_one_of_its_successor_does() {
        let mut facts = Facts::new(Settings {
            inventory_interval: Millis::seconds(1),
        });
        let mut tombstones = Tombstones::default();
        facts.apply(Fact::Ip(ip("first")), Millis(0), Millis(0));
        assert_eq!(
            tombstones.filter(wrote("first"), Millis(0), &facts),
            wrote("first")
        );
        let went = Fact::IpGone(IpName::from("a"), IpUid::from("first"));
        tombstones.filter(went, Millis(0), &facts);
        assert!(matches!(
            tombstones.filter(wrote("first"), Millis(0), &facts),
            Fact::Wrote(_, _, WriteOutcome::Done(None))
        ));
        let read = Fact::IpRead(IpName::from("a"), Some(ip("first")));
        assert!(matches!(
            tombstones.filter(read, Millis(0), &facts),
            Fact::ReadFailed(..)
        ));
        assert_eq!(
            tombstones.filter(wrote("second"), Millis(0), &facts),
            wrote("second")
        );
    }

    #[test]
    fn what_a_read_did_not_find_before_an_ip_was_made_is_not_that_ip() {
        let mut facts = Facts::new(Settings {
            inventory_interval: Millis::seconds(1),
        });
        let mut tombstones = Tombstones::default();
        facts.apply(Fact::Ip(ip("second")), Millis(5), Millis(5));
        let missed = Fact::IpRead(IpName::from("a"), None);
        tombstones.filter(missed.clone(), Millis(4), &facts);
        let read = Fact::IpRead(IpName::from("a"), Some(ip("second")));
        assert_eq!(tombstones.filter(read.clone(), Millis(4), &facts), read);
        tombstones.filter(missed, Millis(6), &facts);
        assert_ne!(tombstones.filter(read.clone(), Millis(7), &facts), read);
    }

    #[test]
    fn a_watch_that_lags_does_not_make_the_successor_gone() {
        let mut facts = Facts::new(Settings {
            inventory_interval: Millis::seconds(1),
        });
        let mut tombstones = Tombstones::default();
        let read = Fact::IpRead(IpName::from("a"), Some(ip("second")));
        facts.apply(read.clone(), Millis(0), Millis(0));
        let went = Fact::IpGone(IpName::from("a"), IpUid::from("first"));
        tombstones.filter(went, Millis(0), &facts);
        assert_eq!(tombstones.filter(read.clone(), Millis(0), &facts), read);
    }
}
