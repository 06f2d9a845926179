//! Access to all moments in the facts, for a model checker. It has no clock, and removes differences in time that
//! cannot change a decision.

use core::time::Duration;

use super::Facts;
use super::READ_FRESH;
use super::failures::HEALTHY_ATTACH;
use crate::time::Instant;

impl Facts {
    /// Calls `change` with every moment; it may modify them. If all moments and `now` are moved by the same time, the
    /// decisions stay the same.
    pub fn each_timestamp(&mut self, change: &mut impl FnMut(&mut Instant)) {
        self.each_timestamp_of_reads(change);
        self.each_ordered_timestamp(change);
        self.each_aged_timestamp(change);
    }

    /// The moments at which reads were begun and writes were answered. Their order decides which reads are fresh.
    pub fn each_timestamp_of_reads(&mut self, change: &mut impl FnMut(&mut Instant)) {
        for memory in self.memory.values_mut() {
            change(&mut memory.last_write_at);
            if let Some(recorded) = &mut memory.recorded {
                change(&mut recorded.begun);
            }
        }
        for seen in self.pods.values_mut() {
            change(&mut seen.version_seen);
        }
        for node in self.nodes.values_mut() {
            change(&mut node.version_seen);
        }
        let reads = &mut self.reads;
        for read in reads.pods.values_mut() {
            change(&mut read.begun);
        }
        for read in reads.ips.values_mut() {
            change(&mut read.begun);
        }
        reads.nodes.values_mut().for_each(&mut *change);
        reads.replica_sets.values_mut().for_each(&mut *change);
        for read in reads.reservations.values_mut() {
            change(&mut read.begun);
        }
        for read in reads.own_reservations.values_mut() {
            change(&mut read.begun);
        }
    }

    /// The moments whose order relative to the start of inventories matters, and the starts of the inventories.
    pub fn each_ordered_timestamp(&mut self, change: &mut impl FnMut(&mut Instant)) {
        change(&mut self.led_since);
        for (_, since) in self.ownerless.values_mut() {
            change(since);
        }
        for subnet in self.subnets.values_mut() {
            for inventory in [&mut subnet.last, &mut subnet.before].into_iter().flatten() {
                change(&mut inventory.begun);
            }
            for own in subnet.own.values_mut() {
                change(&mut own.answered);
            }
            subnet.unknown.values_mut().for_each(&mut *change);
            subnet.explained.values_mut().for_each(&mut *change);
            let wanted = core::mem::take(&mut subnet.wanted).into_iter();
            let wanted = wanted.map(|mut moment| {
                change(&mut moment);
                moment
            });
            subnet.wanted = wanted.collect();
            subnet.proof.iter_mut().for_each(&mut *change);
        }
        change(&mut self.recovered);
        for outage in self.outages.values_mut() {
            change(&mut outage.since);
        }
        for memory in self.memory.values_mut() {
            change(&mut memory.claim_seen);
            change(&mut memory.refused_seen);
            memory.edit_seen.iter_mut().for_each(&mut *change);
            let refusals = memory.refused.values_mut();
            refusals.for_each(|refusals| change(&mut refusals.last));
            memory.failures.each_timestamp(change);
        }
        let without_ip = self.without_ip.values_mut();
        without_ip.for_each(|failures| failures.each_timestamp(change));
    }

    /// The moments for which only their age matters.
    pub fn each_aged_timestamp(&mut self, change: &mut impl FnMut(&mut Instant)) {
        for seen in self.pods.values_mut() {
            change(&mut seen.seen);
            seen.bound_since.iter_mut().for_each(&mut *change);
            seen.deleting_since.iter_mut().for_each(&mut *change);
        }
        for seen in self.nodes.values_mut() {
            seen.not_ready_since.iter_mut().for_each(&mut *change);
            seen.back_since.iter_mut().for_each(&mut *change);
        }
        for impaired in self.impaired.values_mut() {
            change(&mut impaired.first);
            change(&mut impaired.last);
        }
        self.checks_denied.iter_mut().for_each(&mut *change);
        for pace in self.node_paces.values_mut() {
            pace.each_timestamp(change);
        }
        for failures in self.block_failures.values_mut() {
            failures.each_timestamp(change);
        }
        for seen in self.node_reports.values_mut() {
            change(&mut seen.heartbeat_at);
        }
        for read in self.replica_sets.values_mut() {
            change(&mut read.begun);
        }
        for read in self.instances.values_mut() {
            change(&mut read.begun);
        }
        for (_, at) in self.missing_holders.values_mut() {
            change(at);
        }
        self.missed.values_mut().for_each(&mut *change);
        for (_, at) in self.lost_nodes.values_mut() {
            change(at);
        }
        for unanswered in self.limits_unanswered.values_mut() {
            change(&mut unanswered.again);
        }
        for subnet in self.subnets.values_mut() {
            subnet.tried.iter_mut().for_each(&mut *change);
            let failures = [&mut subnet.unread, &mut subnet.failed];
            for failed in failures.into_iter().flatten() {
                failed.backoff.each_timestamp(change);
            }
        }
        for outage in self.outages.values_mut() {
            change(&mut outage.next);
        }
        for denial in self.denials.values_mut() {
            change(&mut denial.due);
        }
        for memory in self.memory.values_mut() {
            for (at, _) in memory.taken.values_mut() {
                change(at);
            }
        }
    }

    /// Removes reads that can never be fresh again, writes that are older than every read, and calls that cannot be
    /// executed any more. Also resets the start of outages, failures and pod states where no decision uses it any more.
    pub fn forget_stale_reads(&mut self, now: Instant) {
        let memory = &self.memory;
        let fresh = |begun: Instant| {
            let mut of_any = memory.values();
            of_any.any(|memory| memory.fresh(begun, now))
        };
        let reads = &mut self.reads;
        reads.pods.retain(|_, read| fresh(read.begun));
        reads.ips.retain(|_, read| fresh(read.begun));
        reads.nodes.retain(|_, begun| fresh(*begun));
        reads.reservations.retain(|_, read| fresh(read.begun));
        reads.own_reservations.retain(|_, read| fresh(read.begun));
        let pods = reads.pods.values().map(|read| &read.begun);
        let begun = pods
            .chain(reads.ips.values().map(|read| &read.begun))
            .chain(reads.nodes.values())
            .chain(reads.replica_sets.values())
            .chain(reads.reservations.values().map(|read| &read.begun))
            .chain(reads.own_reservations.values().map(|read| &read.begun));
        let oldest = begun.min().copied();
        // A checker answers each read at once.
        for node in self.nodes.values_mut() {
            node.version_seen = Instant::START;
        }
        // Its watches never go back.
        self.lost_nodes.clear();
        // It is kept for longer than a checker run.
        self.missed.values_mut().for_each(|at| *at = now);
        let denials = self.denials.values_mut();
        denials.for_each(|denial| denial.due = denial.due.max(now));
        for outage in self.outages.values_mut() {
            if now.since(outage.next) >= Duration::from_secs(1) {
                outage.next = Instant::START;
            }
            if !outage.outcome.is_denial() && now.since(outage.since) >= HEALTHY_ATTACH {
                outage.since = Instant::START;
            }
        }
        for (uid, seen) in self.pods.iter_mut() {
            let ip = seen
                .pod
                .label
                .as_ref()
                .and_then(|label| self.ips.get(label));
            let claim = ip.and_then(|ip| ip.status.claim.as_ref());
            let comes =
                claim.is_some_and(|claim| &claim.uid == uid) && !seen.pod.reports_attached();
            if !comes {
                seen.version_seen = Instant::START;
            }
            if let Some(since) = &mut seen.bound_since
                && now.since(*since) >= HEALTHY_ATTACH
            {
                *since = Instant::START;
            }
        }
        if self.ips.values().all(|ip| ip.status.refused.is_none()) {
            self.recovered = Instant::START;
        }
        for (name, memory) in self.memory.iter_mut() {
            let version = self.ips.get(name).map(|ip| ip.version);
            memory.recorded = memory.recorded.filter(|recorded| {
                Some(recorded.version) == version && now.since(recorded.begun) <= READ_FRESH
            });
            memory.failures.forget_timestamps(now);
            if oldest.is_none_or(|oldest| oldest >= memory.last_write_at) {
                memory.last_write_at = Instant::START;
            }
        }
    }
}
