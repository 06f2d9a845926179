//! Tombstones: UIDs of IPs that are gone. An answer can come after the watch event that its object is gone. It must not
//! add the object again, because no further event would remove it.
//! Rule: R1.23.

use alloc::collections::VecDeque;

use crate::facts::{Fact, Facts, WriteOutcome, Written};
use crate::names::{IpName, IpUid};
use crate::step::Read;
use crate::time::Instant;

/// Maximum number of tombstones. It is enough because answers come within seconds.
const CAPACITY: usize = 1024;

/// UIDs of IPs that are gone. A UID is never used again.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Tombstones(VecDeque<IpUid>);

impl Tombstones {
    /// Removes IPs that are gone from a fact. `begun` is when the request that it answers was begun.
    pub(super) fn filter(&mut self, fact: Fact, begun: Instant, facts: &Facts) -> Fact {
        match fact {
            Fact::Wrote {
                ip: name,
                write,
                outcome: WriteOutcome::Done(Some(Written::Ip(ip))),
            } if self.0.contains(&ip.uid) => Fact::Wrote {
                ip: name,
                write,
                outcome: WriteOutcome::Done(None),
            },
            Fact::IpRead(name, Some(ip)) if self.0.contains(&ip.uid) => not_read(name),
            // The answer to the report about its status.
            Fact::IpUnreadable(ip) if self.0.contains(&ip.uid) => not_read(ip.name),
            Fact::IpsRead(mut ips) => {
                ips.retain(|ip| !self.0.contains(&ip.uid));
                Fact::IpsRead(ips)
            }
            // The UID of the event counts: another IP of the same name can be known already.
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
        if self.0.len() > CAPACITY {
            self.0.pop_front();
        }
    }
}

/// What an answer about an IP that is gone counts as.
fn not_read(name: IpName) -> Fact {
    Fact::ReadFailed {
        ip: name.clone(),
        read: Read::Ip(name),
        outcome: None,
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned as _;
    use core::time::Duration;

    use super::{CAPACITY, Tombstones};
    use crate::facts::{Fact, Facts, Settings, WriteOutcome, Written};
    use crate::names::{IpName, IpUid, ResourceVersion};
    use crate::objects::{Ip, IpStatus};
    use crate::step::Write;
    use crate::time::Instant;

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
        let write = Write::RemoveFinalizer {
            ip: IpName::from("a"),
            version: ResourceVersion(0),
        };
        Fact::Wrote {
            ip: IpName::from("a"),
            write,
            outcome: WriteOutcome::Done(Some(Written::Ip(ip(uid)))),
        }
    }

    #[test]
    fn an_answer_of_an_ip_that_is_gone_brings_nothing_back_and_one_of_its_successor_does() {
        let mut facts = Facts::new(Settings {
            inventory_interval: Duration::from_secs(1),
        });
        let mut tombstones = Tombstones::default();
        facts.apply(Fact::Ip(ip("first")), Instant::START, Instant::START);
        assert_eq!(
            tombstones.filter(wrote("first"), Instant::START, &facts),
            wrote("first")
        );
        let went = Fact::IpGone(IpName::from("a"), IpUid::from("first"));
        tombstones.filter(went, Instant::START, &facts);
        assert!(matches!(
            tombstones.filter(wrote("first"), Instant::START, &facts),
            Fact::Wrote {
                outcome: WriteOutcome::Done(None),
                ..
            }
        ));
        let read = Fact::IpRead(IpName::from("a"), Some(ip("first")));
        assert!(matches!(
            tombstones.filter(read, Instant::START, &facts),
            Fact::ReadFailed { .. }
        ));
        assert_eq!(
            tombstones.filter(wrote("second"), Instant::START, &facts),
            wrote("second")
        );
    }

    #[test]
    fn the_oldest_are_forgotten_first_and_no_sooner_than_needed() {
        let mut tombstones = Tombstones::default();
        let uid = |number: usize| IpUid::new(alloc::format!("{number}"));
        for number in 0..CAPACITY {
            tombstones.add(uid(number));
            tombstones.add(uid(number));
        }
        assert!(tombstones.0.contains(&uid(0)));
        tombstones.add(uid(CAPACITY));
        assert!(!tombstones.0.contains(&uid(0)));
        assert!(tombstones.0.contains(&uid(1)));
        assert_eq!(tombstones.0.len(), CAPACITY);
    }

    #[test]
    fn a_read_before_the_creation_of_an_ip_does_not_remove_it() {
        let mut facts = Facts::new(Settings {
            inventory_interval: Duration::from_secs(1),
        });
        let mut tombstones = Tombstones::default();
        facts.apply(
            Fact::Ip(ip("second")),
            Instant::from_millis(5),
            Instant::from_millis(5),
        );
        let missed = Fact::IpRead(IpName::from("a"), None);
        tombstones.filter(missed.clone(), Instant::from_millis(4), &facts);
        let read = Fact::IpRead(IpName::from("a"), Some(ip("second")));
        assert_eq!(
            tombstones.filter(read.clone(), Instant::from_millis(4), &facts),
            read
        );
        tombstones.filter(missed, Instant::from_millis(6), &facts);
        assert_ne!(
            tombstones.filter(read.clone(), Instant::from_millis(7), &facts),
            read
        );
    }

    #[test]
    fn a_watch_that_lags_does_not_make_the_successor_gone() {
        let mut facts = Facts::new(Settings {
            inventory_interval: Duration::from_secs(1),
        });
        let mut tombstones = Tombstones::default();
        let read = Fact::IpRead(IpName::from("a"), Some(ip("second")));
        facts.apply(read.clone(), Instant::START, Instant::START);
        let went = Fact::IpGone(IpName::from("a"), IpUid::from("first"));
        tombstones.filter(went, Instant::START, &facts);
        assert_eq!(
            tombstones.filter(read.clone(), Instant::START, &facts),
            read
        );
    }
}
