//! What is seen of reservations, by a watch or in an answer.

use alloc::collections::BTreeSet;

use crate::address::Address;
use crate::facts::{Affected, Facts};
use crate::objects::Reservation;
use crate::time::Instant;

impl Facts {
    pub(super) fn see_reservation(&mut self, reservation: Reservation, now: Instant) -> Affected {
        let before = self.reservations.get(reservation.address);
        if before.is_some_and(|before| {
            before.uid == reservation.uid && before.version >= reservation.version
        }) {
            return Affected::Nothing;
        }
        let mut touched = self.affected_by_reservation(&reservation);
        for name in &touched {
            if let Some(memory) = self.memory.get_mut(name) {
                memory.failures.news(now);
                // It may have been written for a version of the IP that was not read yet.
                memory.last_write_at = memory.last_write_at.max(now);
            }
        }
        if let Some(before) = before {
            touched.extend(self.affected_by_reservation(before));
        }
        self.reservations.insert(reservation);
        Affected::of(touched)
    }

    /// Whose it was, and what may have its address now: also what found it taken by one that no watch shows.
    pub(super) fn lose_reservation(&mut self, address: Address) -> Affected {
        let mut touched = BTreeSet::new();
        let waiting = self.affected_by_freed([address].into_iter());
        for name in &waiting {
            let memory = self.memory.get_mut(name);
            if memory.is_some_and(|memory| memory.taken.remove(&address).is_some()) {
                touched.insert(name.clone());
            }
        }
        if let Some(gone) = self.reservations.remove(address) {
            touched.extend(self.affected_by_reservation(&gone));
            touched.extend(waiting);
        }
        Affected::of(touched)
    }
}
