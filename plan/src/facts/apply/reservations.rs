//! Applies facts about reservations, from a watch or an answer.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::address::Address;
use crate::facts::{Affected, Answered, Facts, WriteOutcome};
use crate::names::{IpName, IpUid};
use crate::objects::Reservation;
use crate::step::BlockStep;
use crate::time::Instant;

impl Facts {
    pub(super) fn see_reservation(&mut self, reservation: Reservation, now: Instant) -> Affected {
        let before = self.reservations.get(reservation.address);
        // The watch lags behind an answer, or the answer behind the watch.
        if before.is_some_and(|before| before.version >= reservation.version) {
            return Affected::Nothing;
        }
        let mut affected = self.affected_by_reservation(&reservation);
        for name in &affected {
            if let Some(memory) = self.memory.get_mut(name) {
                memory.failures.end_backoff(now);
                // The reservation can have been written for a version of the IP that was not read yet.
                memory.last_write_at = memory.last_write_at.max(now);
            }
        }
        if let Some(before) = before {
            affected.extend(self.affected_by_reservation(before));
        }
        self.reservations.insert(reservation);
        Affected::of(affected)
    }

    /// Applies the list of all reservations of an IP.
    pub(super) fn see_own(
        &mut self,
        uid: IpUid,
        list: Vec<Reservation>,
        begun: Instant,
    ) -> Affected {
        let name = self.index.ip_of_uid(&uid).cloned();
        let answered = Answered::new(begun, list);
        self.reads.own_reservations.insert(uid, answered);
        // Only one step of an IP is in flight, so the list was begun after the answer to its last create.
        name.map_or(Affected::Nothing, |name| self.reserve_ended(&name))
    }

    /// The outcome of the create of this IP is known now, or does not matter any more.
    pub(super) fn reserve_ended(&mut self, name: &IpName) -> Affected {
        let freed = self.reservations.end(name);
        freed.map_or(Affected::Nothing, |address| {
            Affected::of(self.affected_by_freed([address].into_iter()))
        })
    }

    /// A block has released a reservation. A read that is answered late can have shown it again since the watch has shown
    /// its end.
    pub(super) fn released(&mut self, step: &BlockStep, outcome: &WriteOutcome) -> Affected {
        match (step, outcome) {
            (BlockStep::Release(released), WriteOutcome::Done(_) | WriteOutcome::NotFound) => {
                self.lose_released(released)
            }
            _ => Affected::Nothing,
        }
    }

    /// The API server has answered that this reservation is gone.
    pub(super) fn lose_released(&mut self, released: &Reservation) -> Affected {
        self.lose_reservation_of(released.address, &released.uid)
    }

    /// The reservation with this UID is gone.
    pub(super) fn lose_reservation_of(&mut self, address: Address, uid: &str) -> Affected {
        // A newer reservation can be known already, and no event has to show it again: it is kept.
        let known = self.reservations.get(address);
        if known.is_some_and(|known| known.uid != uid) {
            return Affected::Nothing;
        }
        self.lose_reservation(address)
    }

    /// Removes a reservation. Affects its IP, and the IPs that can get the address now, including those that found it
    /// taken by an owner that no watch shows.
    pub(super) fn lose_reservation(&mut self, address: Address) -> Affected {
        let mut affected = BTreeSet::new();
        let waiting = self.affected_by_freed([address].into_iter());
        for name in &waiting {
            let memory = self.memory.get_mut(name);
            if memory.is_some_and(|memory| memory.taken.remove(&address).is_some()) {
                affected.insert(name.clone());
            }
        }
        if let Some(gone) = self.reservations.remove(address) {
            affected.extend(self.affected_by_reservation(&gone));
            affected.extend(waiting);
        }
        Affected::of(affected)
    }
}
