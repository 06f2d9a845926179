//! What a transition brings about, so that a configuration can say what it has to reach.

use mooring_plan::step::{StatusWrite, Write};

use crate::world::kube::Kube;

/// What a transition brought about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// A Record for another pod than before.
    MoveEnded,
    /// An Assign of a process that is gone, or gave up waiting, took effect.
    LateAssign,
    /// A process ended with a durable claim and no Assign sent.
    CrashAfterClaim,
    /// A living holder's address was claimed by the next revision's pod.
    Handover,
    /// A claim went back to the holder before.
    ClaimWentBack,
    /// Nobody holds the address any more.
    Cleared,
    /// An IP's object is gone.
    IpGone,
    /// An edited address is recorded.
    Edited,
    /// An address that somebody else has was not taken.
    Refused,
    /// Two processes wrote at once, and one was told to start over.
    Conflict,
    /// Another process began to lead.
    LeadChanged,
    /// A call that was sent before another began to lead took effect afterwards.
    FormerLeadersCall,
}

impl Mark {
    /// What was reached, in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MoveEnded => "a move ended",
            Self::LateAssign => "a late Assign landed",
            Self::CrashAfterClaim => "a crash between claim and Assign",
            Self::Handover => "a handover",
            Self::ClaimWentBack => "a claim gone back",
            Self::Cleared => "an address that nobody holds any more",
            Self::IpGone => "an IP gone",
            Self::Edited => "an edited address recorded",
            Self::Refused => "an Assign refused because somebody else has the address",
            Self::Conflict => "a compare-and-swap lost",
            Self::LeadChanged => "another leader",
            Self::FormerLeadersCall => "a call of a former leader carried out",
        }
    }

    /// What a write brought about.
    pub fn of(before: &Kube, write: &Write, after: &Kube) -> Option<Self> {
        if after.ips.len() < before.ips.len() {
            return Some(Self::IpGone);
        }
        let Write::Status(name, _, what, status) = write else {
            return None;
        };
        let was = &before.ips.get(name)?.status;
        match what {
            StatusWrite::Return => Some(Self::ClaimWentBack),
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
                let other = was
                    .previous
                    .iter()
                    .any(|entry| Some(entry.address) != was.address);
                other.then_some(Mark::Edited)
            }
            StatusWrite::Claim => {
                let (old, new) = (was.claim.as_ref()?, status.claim.as_ref()?);
                let living = before.pod(&old.pod, &old.uid);
                let living = living.is_some_and(|pod| pod.deleting.is_none() && pod.annotated);
                (living && old.uid != new.uid).then_some(Mark::Handover)
            }
            _ => None,
        }
    }
}
