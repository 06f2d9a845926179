//! What answers to quorum reads change.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

use super::super::{Affected, Fact, Facts, READ_FRESH, Reads};
use crate::facts::{Answered, IpRead};
use crate::names::{IpName, PodUid, ReplicaSetUid};
use crate::objects::{Ip, Pod, ReplicaSet};
use crate::step::Read;
use crate::time::Instant;

/// Reads are kept for a little longer than they are good for.
const KEEP_READS: Duration = READ_FRESH.saturating_mul(2);

/// Answers of `DescribeInstances` are good for 10 s.
const KEEP_INSTANCES: Duration = Duration::from_secs(20);

/// How long it is remembered what was read of `ReplicaSet`s, and which IPs were not found: longer than a watch lags.
const KEEP_LONG: Duration = Duration::from_mins(10);

impl Facts {
    pub(super) fn read(&mut self, fact: Fact, begun: Instant, now: Instant) -> Affected {
        self.forget_what_is_old(now);
        let waited = self.read_succeeded(&fact);
        let mut touched = Affected::Nothing;
        match fact {
            Fact::PodRead(key, pod) => {
                match &pod {
                    Some(pod) if self.pods.contains_key(&pod.uid) => {
                        touched = self.see_pod(pod.clone(), now);
                    }
                    _ => {}
                }
                // The name now belongs to no pod, or to another one.
                let another = |uid: &&PodUid| pod.as_ref().is_none_or(|pod| &pod.uid != *uid);
                let called = self.index.pods_called(&key).filter(another);
                let gone: Vec<PodUid> = called.cloned().collect();
                for uid in gone {
                    touched = touched.and(self.lose_pod(&uid));
                }
                self.note_absence(&key, pod.as_ref(), begun);
                // It may have been read for another IP.
                let naming = self.index.ips_naming(&key).cloned().collect();
                touched = touched.and(Affected::of(naming));
                // The watch may have been faster than the answer: what is seen of the pod is never older.
                let newest = pod.map(|pod| {
                    let seen = self.pods.get(&pod.uid);
                    seen.map_or(pod, |seen| seen.pod.clone())
                });
                self.reads.pods.insert(key, Answered::new(begun, newest));
            }
            Fact::IpRead(_, Some(ip)) => touched = self.see_read(ip, begun, now),
            Fact::IpRead(name, None) if self.is_of_known(&name, begun) => {
                touched = self.lose_ip(&name, now);
                // A watch that lags may show it once more, in any state that it was in.
                self.missed.insert(name.clone(), now);
                self.reads.ips.insert(name, Answered::new(begun, None));
            }
            Fact::IpRead(name, None) => {
                let missed = Fact::ReadFailed {
                    ip: name.clone(),
                    read: Read::Ip(name),
                    outcome: None,
                };
                return self.read(missed, begun, now).and(waited);
            }
            Fact::IpsRead(ips) => {
                for ip in ips {
                    touched = touched.and(self.see_read(ip, begun, now));
                }
            }
            Fact::NodeRead(name, node) => {
                touched = match node {
                    Some(node) => self.see_node(node, now),
                    None => self.lose_node(&name),
                };
                self.reads.nodes.insert(name, begun);
            }
            Fact::ReservationRead(address, reservation) => {
                match &reservation {
                    None => {
                        touched = self.lose_reservation(address);
                    }
                    // The watch will show it too: until then this is what is known.
                    Some(found) if found.managed => {
                        touched = self.see_reservation(found.clone(), now);
                    }
                    Some(_) => {}
                }
                if let Some(found) = &reservation {
                    let taken = self.memory.values_mut();
                    for taken in taken.filter_map(|memory| memory.taken.get_mut(&address)) {
                        *taken = (now, found.parent_text.clone());
                    }
                }
                self.reads
                    .reservations
                    .insert(address, Answered::new(begun, reservation));
            }
            Fact::ReservationsRead(uid, list) => touched = self.see_own(uid, list, begun),
            Fact::ReplicaSetsRead(of, sets) => touched = self.see_replica_sets(of, sets, begun),
            Fact::InstanceRead(id, state) => {
                self.instances.insert(id, Answered::new(begun, state));
            }
            Fact::ChecksRead(id, since) => touched = self.see_checks(id, since, begun),
            Fact::ChecksFailed(outcome) => touched = self.miss_checks(outcome, now),
            Fact::ReadFailed {
                ip: name,
                read,
                outcome,
            } => {
                self.ownerless_unread(&read, now);
                if let Some(memory) = self.memory.get_mut(&name) {
                    memory
                        .failures
                        .read_failed(name.as_str(), read, outcome, now);
                    self.reads.failed.insert(name.clone());
                }
                return Affected::One(name);
            }
            _ => {}
        }
        touched.and(waited)
    }

    /// Takes an IP that a quorum read shows.
    fn see_read(&mut self, ip: Ip, begun: Instant, now: Instant) -> Affected {
        let name = ip.name.clone();
        // One that was begun before the last write is no word on what that has led to.
        let of_this_round = self.is_of_known(&name, begun);
        let read = IpRead::from(&ip);
        let touched = self.see_ip(ip, now);
        if let Some(memory) = self.memory.get_mut(&name).filter(|_| of_this_round) {
            memory.stale = false;
        }
        self.reads
            .ips
            .insert(name, Answered::new(begun, Some(read)));
        touched
    }

    /// Was this read of an IP begun since the one that is known was first seen, or last written? Else what it
    /// did not find may have been an earlier one of that name.
    #[must_use]
    pub fn is_of_known(&self, name: &IpName, begun: Instant) -> bool {
        let memory = self.memory.get(name);
        memory.is_none_or(|memory| begun >= memory.last_write_at)
    }

    /// What was read is good for a while. It goes then, although nothing is read in its place.
    pub(super) fn forget_what_is_old(&mut self, now: Instant) {
        let within = |at: &Instant, length| now.since(*at) < length;
        self.forget_outages(now);
        self.reads.forget_before(now);
        self.instances
            .retain(|_, read| within(&read.begun, KEEP_INSTANCES));
        self.missed.retain(|_, at| within(at, KEEP_LONG));
    }

    /// What waited for such an answer need not wait any longer.
    fn read_succeeded(&mut self, fact: &Fact) -> Affected {
        let answered = |read: &Read| match (read, fact) {
            // The ReplicaSets of a pod that is gone, or has none, are answered by the pod.
            (Read::Pod(of) | Read::ReplicaSets(of, _), Fact::PodRead(key, _)) => of == key,
            (Read::Ip(of), Fact::IpRead(name, _)) => of == name,
            (Read::Node(of), Fact::NodeRead(name, _)) => of == name,
            (Read::Reservation(of), Fact::ReservationRead(address, _)) => of == address,
            (Read::Reservations(of), Fact::ReservationsRead(uid, _)) => of == uid,
            (Read::ReplicaSets(..), Fact::ReplicaSetsRead(..)) => true,
            (Read::Instance(of), Fact::InstanceRead(id, _)) => of == id,
            _ => false,
        };
        let memory = &mut self.memory;
        let mut touched = BTreeSet::new();
        self.reads.failed.retain(|name| {
            let Some(memory) = memory.get_mut(name) else {
                return false;
            };
            memory.failures.read_succeeded(answered);
            let waits = memory.failures.waits_to_read();
            if !waits {
                touched.insert(name.clone());
            }
            waits
        });
        Affected::of(touched)
    }

    /// Holders that a quorum read does not find, and whose end was not seen here, count for the brake.
    fn note_absence(&mut self, key: &crate::names::PodKey, pod: Option<&Pod>, begun: Instant) {
        let ips: Vec<IpName> = self.index.ips_naming(key).cloned().collect();
        let mut missed = Vec::new();
        for ip in ips.iter().filter_map(|name| self.ips.get(name)) {
            if let Some(memory) = self.memory.get_mut(&ip.name) {
                let holders = ip
                    .status
                    .previous
                    .iter()
                    .filter_map(|entry| entry.holder.as_ref());
                let claim = ip
                    .status
                    .claim
                    .as_ref()
                    .map(|claim| (&claim.pod, &claim.uid));
                let named = holders.map(|(key, uid)| (key, uid)).chain(claim);
                let gone =
                    named.filter(|(of, uid)| *of == key && pod.is_none_or(|pod| &&pod.uid != uid));
                memory.gone.extend(gone.map(|(_, uid)| uid.clone()));
            }
            let Some(claim) = ip.status.claim.as_ref().filter(|claim| &claim.pod == key) else {
                continue;
            };
            if pod.is_some_and(|pod| pod.uid == claim.uid)
                || self.seen_terminating.contains(&claim.uid)
            {
                missed.push((ip.name.clone(), None));
            } else if self
                .missing_holders
                .get(&ip.name)
                .is_none_or(|(uid, _)| uid != &claim.uid)
            {
                missed.push((ip.name.clone(), Some(claim.uid.clone())));
            }
        }
        for (name, uid) in missed {
            match uid {
                None => self.clear_missing_holder(&name),
                Some(uid) => self.set_missing_holder(&name, uid, begun),
            }
        }
    }

    /// It may have been read for a pod of another IP.
    fn see_replica_sets(
        &mut self,
        of: ReplicaSetUid,
        sets: Vec<ReplicaSet>,
        begun: Instant,
    ) -> Affected {
        let deployment = sets
            .iter()
            .find(|set| set.uid == of)
            .and_then(|set| set.deployment.clone());
        let siblings = deployment.iter().flat_map(|of| self.replica_sets_of.of(of));
        let before: Vec<ReplicaSetUid> = siblings.chain([&of]).cloned().collect();
        let of_sets = before
            .iter()
            .chain(sets.iter().map(|set| &set.uid))
            .flat_map(|set| self.index.pods_of_set(set));
        let labels = of_sets.filter_map(|uid| self.pods.get(uid)?.pod.label.clone());
        let touched = Affected::of(labels.collect());
        for uid in before {
            self.forget_replica_set(&uid);
        }
        self.reads.replica_sets.insert(of, begun);
        for set in sets {
            self.forget_replica_set(&set.uid);
            if let Some(deployment) = &set.deployment {
                self.replica_sets_of
                    .insert(deployment.clone(), set.uid.clone());
            }
            self.replica_sets
                .insert(set.uid.clone(), Answered::new(begun, set));
        }
        touched
    }

    fn forget_replica_set(&mut self, uid: &ReplicaSetUid) {
        let gone = self.replica_sets.remove(uid);
        if let Some(deployment) = gone.and_then(|read| read.value.deployment) {
            self.replica_sets_of.remove(&deployment, uid);
        }
    }

    /// Those that were read long ago.
    pub(super) fn forget_replica_sets(&mut self, now: Instant) {
        let old = |at: &Instant| now.since(*at) >= KEEP_LONG;
        let sets = self.replica_sets.iter();
        let old = sets
            .filter(|(_, read)| old(&read.begun))
            .map(|(uid, _)| uid);
        for uid in old.cloned().collect::<Vec<_>>() {
            self.forget_replica_set(&uid);
        }
    }
}

impl Reads {
    fn forget_before(&mut self, now: Instant) {
        let keep = |begun: &Instant| now.since(*begun) <= KEEP_READS;
        self.pods.retain(|_, read| keep(&read.begun));
        self.ips.retain(|_, read| keep(&read.begun));
        self.nodes.retain(|_, begun| keep(begun));
        self.replica_sets.retain(|_, begun| keep(begun));
        self.reservations.retain(|_, read| keep(&read.begun));
        self.own_reservations.retain(|_, read| keep(&read.begun));
    }
}
