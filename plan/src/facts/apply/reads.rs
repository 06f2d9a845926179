//! Applies the answers to quorum reads.
//! Rule: R1.26.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

use super::super::{Affected, Fact, Facts, READ_FRESH, Reads};
use crate::facts::{Answered, IpRead};
use crate::names::{IpName, NodeName, PodKey, PodUid};
use crate::objects::{Ip, Pod};
use crate::outcome::Outcome;
use crate::step::Read;
use crate::time::Instant;

/// Reads are kept for a little longer than they are fresh.
const KEEP_READS: Duration = READ_FRESH.saturating_mul(2);

/// How long answers of `DescribeInstances` are kept: longer than they are fresh (10 s).
const KEEP_INSTANCES: Duration = Duration::from_secs(20);

/// How long reads of `ReplicaSet`s, and the names of IPs that were not found, are kept: longer than a watch lags.
pub(super) const KEEP_LONG: Duration = Duration::from_mins(10);

impl Facts {
    pub(super) fn read(&mut self, fact: Fact, begun: Instant, now: Instant) -> Affected {
        self.forget_what_is_old(now);
        let waited = self.read_succeeded(&fact);
        let mut affected = Affected::Nothing;
        match fact {
            // The IP that asked is reconciled again, and asks again.
            Fact::PodRead(key, pod) if self.shown_since(&key, pod.as_ref(), begun) => {}
            Fact::NodeRead(name, None) if self.node_shown_since(&name, begun) => {}
            // It is read only while none is known, so the watch has shown this one since.
            Fact::ReservationRead(address, None) if self.reservations.get(address).is_some() => {}
            Fact::PodRead(key, pod) => {
                match &pod {
                    Some(pod) if self.pods.contains_key(&pod.uid) => {
                        affected = self.see_pod(pod.clone(), now);
                    }
                    _ => {}
                }
                // No pod has this name now, or another one.
                let another = |uid: &&PodUid| pod.as_ref().is_none_or(|pod| &pod.uid != *uid);
                let called = self.index.pods_called(&key).filter(another);
                let gone: Vec<PodUid> = called.cloned().collect();
                for uid in gone {
                    affected = affected.and(self.lose_pod(&uid));
                }
                self.note_absence(&key, pod.as_ref(), begun);
                // The pod can have been read for another IP.
                let naming = self.index.ips_naming(&key).cloned().collect();
                affected = affected.and(Affected::of(naming));
                // The watch can have shown a newer version before the answer: the known pod is never older.
                let newest = pod.map(|pod| {
                    let seen = self.pods.get(&pod.uid);
                    seen.map_or(pod, |seen| seen.pod.clone())
                });
                self.reads.pods.insert(key, Answered::new(begun, newest));
            }
            Fact::IpRead(_, Some(ip)) => affected = self.see_read(ip, begun, now),
            Fact::IpRead(name, None) if self.is_of_known(&name, begun) => {
                affected = self.lose_ip(&name, now);
                // A watch that lags can show it again, in any earlier state.
                self.missed.insert(name.clone(), now);
                self.read_without_ip(&name);
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
                    affected = affected.and(self.see_read(ip, begun, now));
                }
            }
            Fact::NodeRead(name, node) => {
                affected = match node {
                    Some(node) => self.node_read(node, begun, now),
                    None => self.lose_node(&name, now),
                };
                self.reads.nodes.insert(name, begun);
            }
            Fact::ReservationRead(address, reservation) => {
                match &reservation {
                    None => affected = self.lose_reservation(address),
                    // The watch will show it too; until then this answer is used.
                    Some(found) if found.managed => {
                        affected = self.see_reservation(found.clone(), now);
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
            Fact::ReservationsRead(uid, list) => affected = self.see_own(uid, list, begun),
            Fact::ReplicaSetsRead(of, sets) => affected = self.see_replica_sets(of, sets, begun),
            Fact::InstanceRead(id, state) => {
                self.instances.insert(id, Answered::new(begun, state));
            }
            Fact::ChecksRead(id, since) => affected = self.see_checks(id, since, begun),
            Fact::ChecksFailed(outcome) => affected = self.checks_failed(outcome, now),
            Fact::ReadFailed {
                ip: name,
                read,
                outcome,
            } => {
                self.read_failed(&name, read, outcome, now);
                return Affected::One(name);
            }
            _ => {}
        }
        affected.and(waited)
    }

    fn read_failed(&mut self, name: &IpName, read: Read, outcome: Option<Outcome>, now: Instant) {
        self.ownerless_unread(&read, now);
        if let Some(memory) = self.memory.get_mut(name) {
            memory
                .failures
                .read_failed(name.as_str(), read, outcome, now);
            self.reads.failed.insert(name.clone());
        } else {
            self.unread_without_ip(name, read, outcome, now);
        }
    }

    /// True if this answer can be outdated: another pod of this name was shown since the read was begun. If that is the
    /// newer one, the watch will not show it again.
    fn shown_since(&self, key: &PodKey, answer: Option<&Pod>, begun: Instant) -> bool {
        let called = self.index.pods_called(key);
        let mut called = called.filter_map(|uid| self.pods.get(uid));
        called.any(|seen| {
            seen.version_seen >= begun && answer.is_none_or(|pod| pod.uid != seen.pod.uid)
        })
    }

    /// As [`Self::shown_since`]: the Node was shown since the read was begun that did not find it.
    fn node_shown_since(&self, name: &NodeName, begun: Instant) -> bool {
        let known = self.nodes.get(name);
        known.is_some_and(|seen| seen.version_seen >= begun)
    }

    /// Applies an IP from a quorum read.
    fn see_read(&mut self, ip: Ip, begun: Instant, now: Instant) -> Affected {
        let name = ip.name.clone();
        // A read that was begun before the last write does not show the result of that write.
        let of_this_round = self.is_of_known(&name, begun);
        let read = IpRead::from(&ip);
        let mut affected = self.see_ip(ip, now);
        if of_this_round {
            if let Some(memory) = self.memory.get_mut(&name) {
                memory.stale = false;
            }
            affected = affected.and(self.claim_write_ended(&name, now));
        }
        self.reads
            .ips
            .insert(name, Answered::new(begun, Some(read)));
        affected
    }

    /// True if this read of an IP was begun after the known IP was first seen and last written. Otherwise the result
    /// can be about an earlier IP of the same name.
    #[must_use]
    pub fn is_of_known(&self, name: &IpName, begun: Instant) -> bool {
        let memory = self.memory.get(name);
        memory.is_none_or(|memory| begun >= memory.last_write_at)
    }

    /// Forgets Nodes that are gone for long. A process that does not lead takes no inventory, and does this too.
    pub(super) fn forget_lost_nodes(&mut self, now: Instant) {
        self.lost_nodes
            .retain(|_, (_, at)| now.since(*at) < KEEP_LONG);
    }

    /// Removes old answers, even if no new answer replaces them.
    pub(super) fn forget_what_is_old(&mut self, now: Instant) {
        let within = |at: &Instant, length| now.since(*at) < length;
        self.forget_outages(now);
        self.reads.forget_before(now);
        self.instances
            .retain(|_, read| within(&read.begun, KEEP_INSTANCES));
        self.missed.retain(|_, at| within(at, KEEP_LONG));
        self.forget_lost_nodes(now);
    }

    /// Ends the backoff of failed reads that this answer completes.
    fn read_succeeded(&mut self, fact: &Fact) -> Affected {
        let answered = |read: &Read| match (read, fact) {
            // If the pod is gone or has no ReplicaSet, the answer to a ReplicaSets read is a PodRead.
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
        let mut affected = BTreeSet::new();
        self.reads.failed.retain(|name| {
            let Some(memory) = memory.get_mut(name) else {
                return false;
            };
            let ended = memory.failures.read_succeeded(answered);
            let waits = memory.failures.waits_to_read();
            if ended || !waits {
                affected.insert(name.clone());
            }
            waits
        });
        Affected::of(affected)
    }

    /// Notes holders that a quorum read did not find. Those whose end was not seen count for the brake.
    fn note_absence(&mut self, key: &PodKey, pod: Option<&Pod>, begun: Instant) {
        let ips: Vec<IpName> = self.index.ips_naming(key).cloned().collect();
        let mut missed = Vec::new();
        for ip in ips.iter().filter_map(|name| self.ips.get(name)) {
            if let Some(memory) = self.memory.get_mut(&ip.name) {
                let gone = ip
                    .named_pods()
                    .filter(|(of, uid)| *of == key && pod.is_none_or(|pod| &&pod.uid != uid));
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
