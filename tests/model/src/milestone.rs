//! The effects of transitions that a configuration must reach at least once.

use mooring_plan::step::{StatusWrite, Write};
use mooring_world::kube::Kube;

/// An effect of a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Milestone {
    /// A Record for another pod than before.
    MoveEnded,
    /// An Assign took effect although its sender had ended or had stopped waiting for it.
    LateAssign,
    /// A process ended with a durable claim and no Assign sent.
    CrashAfterClaim,
    /// The address of a running holder was claimed for a pod of the next revision.
    Handover,
    /// A recorded address was claimed again for the same pod, because it is not where it was recorded.
    Drifted,
    /// After that it was recorded again for the same pod.
    Repaired,
    /// A claim went back to the former holder.
    ClaimWentBack,
    /// The address has no holder any more.
    Cleared,
    /// The object of an IP is gone.
    IpGone,
    /// An edited address is recorded.
    Edited,
    /// EC2 refused an Assign because the address is on another interface.
    Refused,
    /// EC2 denied a call because a permission is missing.
    Denied,
    /// Two processes wrote at once, and one write had a conflict.
    Conflict,
    /// Another process became the leader.
    LeadChanged,
    /// A call of a former leader took effect after the leader changed.
    FormerLeadersCall,
    /// EC2 carried out one request for several addresses.
    Together,
    /// EC2 refused one request for several addresses.
    RefusedTogether,
}

impl Milestone {
    /// The name in a report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MoveEnded => "a move ended",
            Self::LateAssign => "a late Assign executed",
            Self::CrashAfterClaim => "a crash between claim and Assign",
            Self::Handover => "a handover",
            Self::Drifted => "a drift",
            Self::Repaired => "a drift repaired",
            Self::ClaimWentBack => "a claim returned to the former holder",
            Self::Cleared => "an address without a holder",
            Self::IpGone => "an IP gone",
            Self::Edited => "an edited address recorded",
            Self::Refused => "an Assign refused because the address is on another interface",
            Self::Denied => "a call denied because a permission is missing",
            Self::Conflict => "a compare-and-swap lost",
            Self::LeadChanged => "another leader",
            Self::FormerLeadersCall => "a call of a former leader executed",
            Self::Together => "a request for several addresses executed",
            Self::RefusedTogether => "a request for several addresses refused",
        }
    }

    /// The effect of a write.
    pub fn of(before: &Kube, write: &Write, after: &Kube) -> Option<Self> {
        if after.ips.len() < before.ips.len() {
            return Some(Self::IpGone);
        }
        let Write::Status {
            ip: name,
            change,
            status,
            ..
        } = write
        else {
            return None;
        };
        let was = &before.ips.get(name)?.status;
        match change {
            StatusWrite::Revert => Some(Self::ClaimWentBack),
            StatusWrite::Clear => Some(Self::Cleared),
            StatusWrite::Record => {
                let holder = &status.claim.as_ref()?.uid;
                let of = |entry: &mooring_plan::objects::Previous| {
                    let before = entry.holder.as_ref().map(|(_, uid)| uid);
                    before.is_some_and(|uid| uid != holder)
                };
                if was.previous.iter().any(of) {
                    return Some(Self::MoveEnded);
                }
                let own = |entry: &mooring_plan::objects::Previous| {
                    Some(entry.address) == was.address && entry.holder.is_some() && !of(entry)
                };
                if was.previous.iter().any(own) {
                    return Some(Self::Repaired);
                }
                let other = was
                    .previous
                    .iter()
                    .any(|entry| Some(entry.address) != was.address);
                other.then_some(Milestone::Edited)
            }
            StatusWrite::Claim => {
                let (old, new) = (was.claim.as_ref()?, status.claim.as_ref()?);
                if old.uid == new.uid {
                    let drifted = old.recorded() && was.address == status.address;
                    return drifted.then_some(Self::Drifted);
                }
                let living = before.pod(&old.pod, &old.uid);
                let living = living.is_some_and(|pod| pod.deleting.is_none() && pod.annotated);
                living.then_some(Milestone::Handover)
            }
            _ => None,
        }
    }
}
