//! Every moment that facts remember, for a model checker: it has no clock, and forgets of time what no
//! decision can tell apart.

use super::Facts;
use crate::names::Millis;

impl Facts {
    /// Shows every moment to `change`, which may move it. Moved all alike, and `now` with them, they
    /// lead to the same decisions.
    pub fn each_moment(&mut self, change: &mut impl FnMut(&mut Millis)) {
        for seen in self.pods.values_mut() {
            change(&mut seen.seen);
            seen.deleting_since.iter_mut().for_each(&mut *change);
        }
        for seen in self.nodes.values_mut() {
            seen.not_ready_since.iter_mut().for_each(&mut *change);
        }
        self.replica_sets
            .values_mut()
            .for_each(|(at, _)| change(at));
        self.instances.values_mut().for_each(|(at, _)| change(at));
        self.limits_asked.values_mut().for_each(&mut *change);
        self.absent.values_mut().for_each(|(_, at)| change(at));
        for subnet in self.subnets.values_mut() {
            for at in [&mut subnet.wanted, &mut subnet.tried] {
                at.iter_mut().for_each(&mut *change);
            }
            for backoff in [&mut subnet.unread, &mut subnet.failed]
                .into_iter()
                .flatten()
            {
                backoff.each_moment(change);
            }
            for inventory in [&mut subnet.last, &mut subnet.before].into_iter().flatten() {
                change(&mut inventory.begun);
            }
            subnet
                .own
                .values_mut()
                .for_each(|own| change(&mut own.answered));
            subnet.unknown.values_mut().for_each(&mut *change);
        }
        for memory in self.memory.values_mut() {
            change(&mut memory.round);
            change(&mut memory.claim_seen);
            change(&mut memory.refused_seen);
            if let Some((at, _)) = &mut memory.detaching {
                change(at);
            }
            memory.refused.values_mut().for_each(&mut *change);
            memory.taken.values_mut().for_each(|(at, _)| change(at));
            memory.failures.each_moment(change);
        }
        let reads = &mut self.reads;
        reads.pods.values_mut().for_each(|(at, _)| change(at));
        reads.ips.values_mut().for_each(|(at, _)| change(at));
        reads.nodes.values_mut().for_each(&mut *change);
        reads.replica_sets.values_mut().for_each(&mut *change);
        reads
            .reservations
            .values_mut()
            .for_each(|(at, _)| change(at));
        reads
            .own_reservations
            .values_mut()
            .for_each(|(at, _)| change(at));
    }
}
