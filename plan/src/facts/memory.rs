//! What this process remembers of an IP, apart from the objects. All of it can be lost at any time: this causes more
//! reads, but never a different result.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use core::time::Duration;

use super::WriteOutcome;
use super::failures::Failures;
use crate::address::Address;
use crate::ec2::LATE_CALL;
use crate::names::{InterfaceId, PodUid, ResourceVersion};
use crate::objects::{Claim, ClaimPhase, Ip, Pod};
use crate::reason::Reason;
use crate::step::{GateWrite, Write};
use crate::time::Instant;

/// How long a quorum read is fresh enough for a destructive step; the next write ends it earlier.
pub(crate) const READ_FRESH: Duration = Duration::from_secs(5);

/// A pod, and when this process saw its changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodSeen {
    /// The pod.
    pub pod: Pod,
    /// When this process first saw it.
    pub seen: Instant,
    /// When its present version was first seen.
    pub version_seen: Instant,
    /// When it was first seen bound to a node.
    pub bound_since: Option<Instant>,
    /// When it was first seen being deleted.
    pub deleting_since: Option<Instant>,
}

/// A successful Record: the IP had this version at some time after `begun`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Recorded {
    /// When the write was begun.
    pub(crate) begun: Instant,
    /// The `resourceVersion` after the write.
    pub(crate) version: ResourceVersion,
}

/// How long refusals of an ENI are remembered: longer than the longest wait after one.
const KEEP_REFUSALS: Duration = Duration::from_mins(20);

/// The refusals of one ENI in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Refusals {
    /// The time of the last one.
    pub(crate) last: Instant,
    /// Their number, up to [`Self::MOST`].
    pub(crate) times: u32,
}

impl Refusals {
    /// More of them make no difference.
    const MOST: u32 = 5;
}

/// The memory of one IP.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Memory {
    /// When the last write was answered. A read that was begun before is not of this round.
    pub(crate) last_write_at: Instant,
    /// True if the known object may be outdated, for example after a conflict: it is read before the next decision.
    pub(crate) stale: bool,
    /// Losers that the status names, and whose `False` was written under the present claim. A `False` that only
    /// explains a wait does not count.
    pub(crate) closed_gates: BTreeSet<PodUid>,
    /// Holders, earlier ones too, that a quorum read or a write did not find. A UID never comes back.
    pub(crate) gone: BTreeSet<PodUid>,
    /// Detaches that EC2 confirmed since the claim. True: the address was known to be on that ENI, so it is nowhere
    /// now.
    pub(crate) unassigned: BTreeMap<(InterfaceId, Address), bool>,
    /// ENIs that did not exist according to the answer of EC2 to an Unassign.
    pub(crate) missing: BTreeSet<InterfaceId>,
    /// When the present claim, recorded or not, was first seen; without a claim, when it was seen that the last one has
    /// ended.
    pub(crate) claim_seen: Instant,
    /// True if the last claim ended without a Record, soon after its Record, or before this process saw it. Then an
    /// Assign that was sent for it can still be executed (R5.19).
    pub(crate) ended_early: bool,
    /// When an edit of the address was first seen while a pod holds the IP. Only an inventory that began later shows
    /// whether the new address is on an ENI.
    pub(crate) edit_seen: Option<Instant>,
    /// ENIs that EC2 refused for good. `status.refused` names only one: without this map, the claim could move between
    /// two refused ENIs without limit.
    pub(crate) refused: BTreeMap<InterfaceId, Refusals>,
    /// When the present `status.refused` was first seen.
    pub(crate) refused_seen: Instant,
    /// Pods of this IP whose claim EC2 denied since it last permitted a call, and the ENI of each. `status.refused` names
    /// only one: without this set, another of them would be tried about every second.
    pub(crate) denied: BTreeSet<(PodUid, InterfaceId)>,
    /// Addresses that `Reserve` found taken: when that was last seen, and the owner as text (empty if not known yet).
    pub(crate) taken: BTreeMap<Address, (Instant, String)>,
    /// The address whose `IPAddress` this process wrote for the present version of the IP.
    pub(crate) adopted: Option<Address>,
    /// The Record, if it was the last write for this IP and nothing newer of the IP is known.
    pub(crate) recorded: Option<Recorded>,
    /// Failed steps that wait for their backoff.
    pub(crate) failures: Failures,
}

impl Memory {
    /// True if a read that was begun at `begun` is fresh enough for a destructive step (R1.7, R1.8).
    pub(crate) fn fresh(&self, begun: Instant, now: Instant) -> bool {
        begun >= self.last_write_at && now.since(begun) <= READ_FRESH
    }

    /// True if no part of the memory can lead to another decision after an inventory.
    pub(crate) fn is_idle(&self) -> bool {
        !self.stale && self.refused.is_empty() && self.taken.is_empty() && self.failures.none()
    }

    /// EC2 refused this ENI for good.
    pub(crate) fn refused_by(&mut self, interface: &InterfaceId, now: Instant) {
        let before = self.refused.get(interface).map_or(0, |known| known.times);
        let refusals = Refusals {
            last: now,
            times: Refusals::MOST.min(before.saturating_add(1)),
        };
        self.refused.insert(interface.clone(), refusals);
    }

    /// The status can name a pod whose claim EC2 denied. It is kept while the pod exists.
    pub(crate) fn denied_pod(&mut self, ip: &Ip, exists: impl Fn(&PodUid) -> bool) {
        let refused = ip.status.refused.as_ref();
        let denied = refused.filter(|refused| refused.reason == Reason::AccessDenied);
        if let Some(denied) = denied.filter(|denied| exists(&denied.pod)) {
            let place = denied.interface.clone();
            self.denied.insert((denied.pod.clone(), place));
        }
    }

    /// A write had this outcome, and changed nothing as far as is known.
    pub(crate) fn not_written(
        &mut self,
        name: &str,
        write: Write,
        outcome: &WriteOutcome,
        now: Instant,
    ) {
        let failures = &mut self.failures;
        match outcome {
            WriteOutcome::Done(_) | WriteOutcome::NotFound | WriteOutcome::AlreadyExists => {
                failures.write_succeeded(&write, now);
            }
            WriteOutcome::Conflict => {
                self.stale = true;
                // The IP is read again, but the write was for another object: backoff gives its watch time.
                let of_another = match &write {
                    Write::Release(_) | Write::RepairReservation { .. } => true,
                    Write::Gate(gate) => gate.only_explains(),
                    _ => false,
                };
                if of_another {
                    failures.write_failed(name, write, None, now);
                }
            }
            WriteOutcome::Unknown => {
                self.stale = true;
                failures.write_failed(name, write, None, now);
            }
            WriteOutcome::Refused(text) => {
                self.stale = true;
                failures.write_failed(name, write, Some(text), now);
            }
        }
    }

    /// The gate of a pod was written. `named`: the status of the IP names this pod.
    pub(crate) fn gate_written(&mut self, gate: &GateWrite, named: bool) {
        if gate.status && gate.reason == Reason::Attached {
            self.closed_gates.remove(&gate.uid);
        } else if named && !gate.only_explains() {
            // Of a pod that is not named nothing is asked: what is kept of those would grow without bound.
            self.closed_gates.insert(gate.uid.clone());
        }
    }

    /// The claim or the reserved address may have changed: removes the memory of the former one.
    pub(crate) fn claim_changed(&mut self, before: Option<&Ip>, ip: &Ip, now: Instant) {
        let claim = ip.status.claim.as_ref();
        let old = before.and_then(|ip| ip.status.claim.as_ref());
        let same_holder = old.map(|claim| &claim.uid) == claim.map(|claim| &claim.uid);
        if !same_holder {
            // Earlier reads are not about the new holder.
            self.last_write_at = self.last_write_at.max(now);
        }
        // Between two claims of one pod for one place another leader can have moved the address to another pod.
        let same_id = old.map(|claim| claim.id) == claim.map(|claim| claim.id);
        let same_target = old.and_then(|claim| claim.target())
            == claim.and_then(|claim| claim.target())
            && same_holder
            && same_id;
        let same_address = before.and_then(|ip| ip.status.address) == ip.status.address;
        let recorded = |claim: Option<&Claim>| claim.is_some_and(Claim::recorded);
        let over = |claim: &Claim| claim.phase == ClaimPhase::Detaching;
        let ends = old.is_some_and(|old| !over(old)) && claim.is_none_or(over);
        // A watch can show the end of a claim that it has never shown: of another leader, in a few milliseconds.
        let of_other =
            claim.is_some_and(|claim| over(claim) && old.map(|old| old.id) != Some(claim.id));
        let unseen = of_other || claim.is_none_or(over) && is_somewhere_new(before, ip);
        if before.is_none() {
            self.ended_early = !ip.status.previous.is_empty();
        } else if unseen {
            self.ended_early = true;
        } else if ends {
            // Between a Record and none there is Detaching. If it was not shown, a later claim may not have been shown
            // either.
            let shown = recorded(old) && claim.is_some();
            self.ended_early = !shown || now.since(self.claim_seen) <= LATE_CALL;
        }
        let taken_back = recorded(old) && !recorded(claim);
        if !(same_target && same_address) || taken_back {
            self.closed_gates.clear();
            self.failures.call_is_over();
        }
        if let Some(claim) = claim.filter(|claim| claim.recorded()) {
            // An edit has closed its gate; from now on its gate may be set to `True`.
            self.closed_gates.remove(&claim.uid);
        }
        // An Assign of a claim that was never shown can have been sent a moment ago.
        if old != claim || !same_address || unseen {
            self.claim_seen = now;
        }
        // After an edit and its revert, the address can be on an ENI again from which it was detached. A move need not
        // clear this: for the present address only a detach uses it, and a detach begins with empty sets.
        if !same_address || ends || unseen {
            self.unassigned.clear();
            self.missing.clear();
        }
        // An address that moves often would collect more and more places: only places that can have it are kept.
        let place = |on: &InterfaceId| ip.interfaces().any(|of| of == on);
        self.unassigned.retain(|(on, _), _| place(on));
        self.missing.retain(place);
        self.gone.retain(|uid| ip.names_pod(uid));
        if before.is_none_or(|before| before.status.refused != ip.status.refused) {
            self.refused_seen = now;
        }
        self.refused
            .retain(|_, refusals| now.since(refusals.last) <= KEEP_REFUSALS);
    }
}

/// True if `previous` has a place that the claim before did not have.
fn is_somewhere_new(before: Option<&Ip>, ip: &Ip) -> bool {
    before.is_some_and(|before| {
        let target = before.status.claim.as_ref().and_then(Claim::target);
        ip.status.previous.iter().any(|entry| {
            let was_target = target.is_some_and(|target| target.place.interface == entry.interface);
            !was_target && !before.status.previous.contains(entry)
        })
    })
}
