//! What this process remembers of an IP besides the objects: all of it may be lost at any time, and
//! what follows from its loss is more reads, never a different end.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use core::time::Duration;

use super::failures::Failures;
use crate::address::Address;
use crate::ec2::LATE_CALL;
use crate::names::{InterfaceId, PodUid, ResourceVersion};
use crate::objects::{Claim, ClaimPhase, Ip, Pod};
use crate::time::Instant;

/// A quorum read is good for a destructive step for this long, and until the next write.
pub(crate) const READ_FRESH: Duration = Duration::from_secs(5);

/// A pod, and what this process saw of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodSeen {
    /// The pod.
    pub pod: Pod,
    /// When it was first seen here.
    pub seen: Instant,
    /// When its present version was first seen.
    pub version_seen: Instant,
    /// When it was first seen bound to a node.
    pub bound_since: Option<Instant>,
    /// When it was first seen being deleted.
    pub deleting_since: Option<Instant>,
}

/// A Record that was answered: the IP was so at a moment after `begun`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Recorded {
    /// When the write was begun.
    pub(crate) begun: Instant,
    /// The version that it made.
    pub(crate) version: ResourceVersion,
}

/// Memory of one IP.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Memory {
    /// When the last write was answered: a read begun before it is of another round.
    pub(crate) last_write_at: Instant,
    /// The object in hand lost a race: it is read before anything is decided from it.
    pub(crate) stale: bool,
    /// Losers whose `False` was written under the present claim.
    pub(crate) closed_gates: BTreeSet<PodUid>,
    /// Holders, earlier ones too, that a quorum read or a write did not find. A UID never comes back.
    pub(crate) gone: BTreeSet<PodUid>,
    /// Addresses taken off interfaces since the claim, as EC2 confirmed; true: it was known to be there, so that it is
    /// nowhere now.
    pub(crate) unassigned: BTreeMap<(InterfaceId, Address), bool>,
    /// Interfaces that EC2 did not know when the address was to be taken off them.
    pub(crate) missing: BTreeSet<InterfaceId>,
    /// When the present claim, recorded or not, was first seen.
    pub(crate) claim_seen: Instant,
    /// Did the last claim end without a Record, soon after it, or before this process saw it? Then an Assign that was
    /// sent for it may still land (R5.19).
    pub(crate) ended_early: bool,
    /// When an edit of the address while a pod holds it was first seen: only an inventory begun after it tells
    /// whether the new one is on an interface.
    pub(crate) edit_seen: Option<Instant>,
    /// Interfaces that EC2 refused for good, and when: `status.refused` names one, two that are
    /// refused in turn would otherwise throw the claim to and fro.
    pub(crate) refused: BTreeMap<InterfaceId, Instant>,
    /// When the present `status.refused` was first seen.
    pub(crate) refused_seen: Instant,
    /// Addresses that `Reserve` found taken, when that was last seen, and the reservation that has each.
    pub(crate) taken: BTreeMap<Address, (Instant, String)>,
    /// The address whose `IPAddress` this process wrote for the IP as it is now, at this very version.
    pub(crate) adopted: Option<Address>,
    /// The last Record of this process, for as long as nothing newer of the IP is known.
    pub(crate) recorded: Option<Recorded>,
    /// What failed, and waits.
    pub(crate) failures: Failures,
}

impl Memory {
    /// Is a read that was begun then good for a destructive step (R1.7, R1.8)?
    pub(crate) fn fresh(&self, begun: Instant, now: Instant) -> bool {
        begun >= self.last_write_at && now.since(begun) <= READ_FRESH
    }

    /// Does it hold nothing that an inventory could change what follows from?
    pub(crate) fn rests(&self) -> bool {
        !self.stale && self.refused.is_empty() && self.taken.is_empty() && self.failures.none()
    }

    /// The claim or the reserved address changed: what was remembered of the one before is void.
    pub(crate) fn claim_changed(&mut self, before: Option<&Ip>, ip: &Ip, now: Instant) {
        let claim = ip.status.claim.as_ref();
        let old = before.and_then(|ip| ip.status.claim.as_ref());
        let same_holder = old.map(|claim| &claim.uid) == claim.map(|claim| &claim.uid);
        if !same_holder {
            // What was read of a name before is no word on the pod that holds it now.
            self.last_write_at = self.last_write_at.max(now);
        }
        let same_target = old.and_then(|claim| claim.target())
            == claim.and_then(|claim| claim.target())
            && same_holder;
        let same_address = before.and_then(|ip| ip.status.address) == ip.status.address;
        let recorded = |claim: Option<&Claim>| claim.is_some_and(Claim::recorded);
        let over = |claim: &Claim| claim.phase == ClaimPhase::Detaching;
        let ends = old.is_some_and(|old| !over(old)) && claim.is_none_or(over);
        if before.is_none() {
            self.ended_early = !ip.status.previous.is_empty();
        } else if ends {
            self.ended_early = !recorded(old) || now.since(self.claim_seen) <= LATE_CALL;
        }
        let taken_back = recorded(old) && !recorded(claim);
        if !(same_target && same_address) || taken_back {
            self.closed_gates.clear();
            self.failures.call_is_over();
        }
        if let Some(claim) = claim.filter(|claim| claim.recorded()) {
            // An edit has closed_gates it; from now on it may be told `True` again.
            self.closed_gates.remove(&claim.uid);
        }
        if !(same_target && same_address) || recorded(old) != recorded(claim) {
            self.claim_seen = now;
        }
        // An edit that is taken back may put it where it was taken off. A move needs none of this
        // forgotten: of the present address, only a detach asks for it, and begins with nothing.
        if !same_address {
            self.unassigned.clear();
            self.missing.clear();
        }
        if ends {
            self.unassigned.clear();
            self.missing.clear();
        }
        // An address that moves for ever is taken off ever more places: only those that may have it are asked.
        let place = |on: &InterfaceId| ip.interfaces().any(|of| of == on);
        self.unassigned.retain(|(on, _), _| place(on));
        self.missing.retain(place);
        let named = |uid: &PodUid| {
            claim.is_some_and(|claim| &claim.uid == uid)
                || ip
                    .status
                    .previous
                    .iter()
                    .any(|entry| entry.holder.as_ref().is_some_and(|(_, of)| of == uid))
        };
        self.gone.retain(named);
        if before.is_none_or(|before| before.status.refused != ip.status.refused) {
            self.refused_seen = now;
        }
        self.refused
            .retain(|_, at| now.since(*at) <= Duration::from_mins(10));
    }
}
