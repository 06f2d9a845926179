//! Applies facts about IPs, from a watch or an answer.
//! Rules: R1.23, R1.24.

use alloc::collections::BTreeSet;
use core::time::Duration;

use crate::facts::{Affected, Facts, Memory};
use crate::names::{IpName, PodUid};
use crate::objects::{Ip, UnreadableIp};
use crate::time::Instant;

impl Facts {
    pub(super) fn see_ip(&mut self, ip: Ip, now: Instant) -> Affected {
        let before = self.ips.get(&ip.name);
        // The watch lags behind an own write: this version is older than the known one.
        if before.is_some_and(|before| before.uid == ip.uid && before.version >= ip.version) {
            return Affected::Nothing;
        }
        if let Some(unreadable) = self.unreadable.get(&ip.name) {
            if unreadable.version < ip.version {
                // It was repaired, or this is its successor.
                self.unreadable.remove(&ip.name);
            } else if unreadable.uid == ip.uid {
                return Affected::Nothing;
            }
        }
        let known = before.filter(|before| before.uid == ip.uid);
        let missed = self.missed.remove(&ip.name).is_some();
        self.without_ip.remove(&ip.name);
        let memory = self.memory.get_or_default(ip.name.clone());
        if known.is_none() {
            // Earlier reads of this name are about another IP. A lagging watch can also show an earlier IP after a
            // read has shown its successor, or that it is gone: then it must be read first.
            *memory = Memory {
                last_write_at: now,
                stale: missed || before.is_some(),
                ..Memory::default()
            };
        }
        if known
            .is_some_and(|before| before.desired != ip.desired || before.take_from != ip.take_from)
        {
            memory.failures.call_is_over();
            memory.taken.clear();
            memory.failures.writes.forget_creates();
        }
        let desired_changed = known.is_none_or(|before| before.desired != ip.desired);
        let seen = memory.edit_seen.filter(|_| !desired_changed);
        let edited = ip.is_edited_while_held() && seen.is_none();
        memory.edit_seen = ip.is_edited_while_held().then_some(seen.unwrap_or(now));
        let pending_before = before.and_then(Ip::unfinished_for).cloned();
        memory.adopted = None;
        memory.claim_changed(known, &ip, now);
        memory.denied_pod(&ip, |pod| self.pods.contains_key(pod));
        memory.failures.end_backoff(now);
        let name = ip.name.clone();
        let holder = ip.status.claim.as_ref().map(|claim| &claim.uid);
        let absent = self.missing_holders.get(&name);
        let missed = absent.filter(|(uid, _)| Some(uid) == holder).cloned();
        self.clear_missing_holder(&name);
        let pending_now = ip.unfinished_for().cloned();
        if let Some(before) = self.ips.get(&name) {
            self.index.remove_ip(before);
        }
        self.index.add_ip(&ip);
        if let Some(before) = self.ips.insert(name.clone(), ip) {
            self.note_unexplained(&before, now);
        }
        let freed = if desired_changed {
            self.reserve_ended(&name)
        } else {
            Affected::Nothing
        };
        if edited && let Some(id) = self.subnet_of(&name) {
            let subnet = self.subnets.entry(id).or_default();
            subnet.want(now.plus(Duration::from_millis(1)));
        }
        self.request_proof(&name);
        if let Some((uid, since)) = missed {
            self.set_missing_holder(&name, uid, since);
        }
        let mut affected = BTreeSet::from([name]);
        if pending_before != pending_now {
            for interface in pending_before.iter().chain(&pending_now) {
                affected.extend(self.affected_by_room(interface));
            }
        }
        Affected::of(affected).and(freed)
    }

    pub(super) fn see_unreadable(&mut self, ip: UnreadableIp, now: Instant) -> Affected {
        // With another UID and a lower version it is an earlier IP of this name.
        let known = self.ips.get(&ip.name);
        let before = self.unreadable.get(&ip.name);
        if known.is_some_and(|known| known.version > ip.version)
            || before.is_some_and(|before| before.version >= ip.version)
        {
            return Affected::Nothing;
        }
        let name = ip.name.clone();
        // Also an IP that was never readable waits before a failed write is repeated.
        let memory = self.memory.get_or_default(name.clone());
        memory.failures.end_backoff(now);
        self.without_ip.remove(&name);
        self.unreadable.insert(name.clone(), ip);
        Affected::One(name)
    }

    pub(super) fn lose_ip(&mut self, name: &IpName, now: Instant) -> Affected {
        self.memory.remove(name);
        // The IPs without an address are affected below anyway.
        self.reservations.end(name);
        self.missed.remove(name);
        self.reads.failed.remove(name);
        self.clear_missing_holder(name);
        let removed = self.ips.remove(name);
        let slot = self.claim_write_ended(name, now);
        let Some(gone) = removed else {
            return slot;
        };
        self.index.remove_ip(&gone);
        self.note_unexplained(&gone, now);
        // Others can wait for its address, or for an earlier address that is still reserved for it after an edit.
        let reserved = self.reservations.of_parent(&gone.name);
        let mut affected = self.affected_by_freed(gone.addresses().chain(reserved));
        // Others can wait for the slot of its unfinished claim.
        if let Some(interface) = gone.unfinished_for() {
            affected.extend(self.affected_by_room(interface));
        }
        affected.insert(gone.name);
        Affected::Several(affected).and(slot)
    }

    pub(super) fn set_missing_holder(&mut self, name: &IpName, uid: PodUid, since: Instant) {
        if let Some(block) = self.block_of(name) {
            self.missing_holders_in.insert(block, name.clone());
        }
        self.missing_holders.insert(name.clone(), (uid, since));
    }

    /// Must be called while the known IP still has the block that it had when its holder was missed.
    pub(super) fn clear_missing_holder(&mut self, name: &IpName) {
        if self.missing_holders.remove(name).is_some()
            && let Some(block) = self.block_of(name)
        {
            self.missing_holders_in.remove(&block, name);
        }
    }
}
