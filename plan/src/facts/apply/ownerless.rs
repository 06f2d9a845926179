//! Tracks reservations and addresses that belong to no IP (any more), and since when.
//! Rules: R2.22, R5.22.

use super::super::Facts;
use crate::objects::{Ip, Reservation};
use crate::step::Read;
use crate::time::Instant;

impl Facts {
    pub(super) fn note_ownerless(&mut self, now: Instant) {
        let known = core::mem::take(&mut self.ownerless);
        let since = |held: &Reservation| {
            let known = known.get(&held.address);
            let same = known.filter(|(uid, _)| uid == &held.uid);
            same.map_or(now, |(_, since)| *since)
        };
        let ownerless = self.ownerless().map(|(held, _)| held);
        let noted = ownerless.map(|held| (held.address, (held.uid.clone(), since(held))));
        self.ownerless = noted.collect();
    }

    /// Notes addresses that the IP does not explain any more: inventories up to now do not prove an orphan.
    pub(super) fn note_unexplained(&mut self, before: &Ip, now: Instant) {
        for subnet in self.subnets.values_mut() {
            let after = self.ips.get(&before.name);
            let ended = before.addresses().filter(|address| {
                !after.is_some_and(|after| after.uid == before.uid && after.explains(*address))
            });
            subnet.explained.extend(ended.map(|address| (address, now)));
        }
    }

    /// A failed read does not prove that the IP is gone: it is read again after two more inventories.
    pub(super) fn ownerless_unread(&mut self, read: &Read, now: Instant) {
        let Read::Ip(name) = read else { return };
        for (address, (_, since)) in &mut self.ownerless {
            let held = self.reservations.get(*address);
            if held.is_some_and(|held| held.parent.as_ref() == Some(name)) {
                *since = now;
            }
        }
    }
}
