//! Writes to the readiness gate of a waiting pod why it waits, after it has waited for longer than a healthy attach
//! takes.
//! Rules: R3.31 to R3.33.

use alloc::format;
use alloc::string::String;

use super::conditions::Trouble;
use super::{Next, Notices, World};
use crate::facts::{HEALTHY_ATTACH, PodSeen};
use crate::objects::{Claim, ClaimPhase, Pod};
use crate::reason::Reason;
use crate::step::{GateWrite, Regarding, Step, Write};
use crate::time::Instant;

/// True if the gate of the pod already has this reason. `MovedTo` counts as `ClaimedByOther`: a pod that lost the
/// address got that reason.
pub(super) fn gives_reason(pod: &Pod, reason: Reason) -> bool {
    let moved = reason == Reason::ClaimedByOther;
    pod.gate.as_ref().is_some_and(|gate| {
        !gate.status
            && (gate.reason == reason.as_str() || moved && gate.reason == Reason::MovedTo.as_str())
    })
}

impl World<'_> {
    /// Writes `False` to the gate of a waiting pod with the reason and message of the obstacle, again when the reason
    /// changes, and adds an Event for the pod.
    ///
    /// Guarded by the version of the pod: a process with a lagging watch must not overwrite a newer gate.
    ///
    /// `refusal`: the API server refuses the next step of the IP.
    pub(crate) fn report_to_waiting_pods(
        &self,
        refusal: Option<&Trouble>,
        notices: &mut Notices,
    ) -> Next {
        let mut next = Next::Idle;
        for seen in self.pods() {
            let Some(since) = self.waits_since(seen) else {
                continue;
            };
            let due = since.plus(HEALTHY_ATTACH);
            let Some((reason, message)) = self.obstacle(&seen.pod, refusal, notices) else {
                // At that time the condition of the IP names this pod.
                if self.ip.status.claim.is_none() && self.now < due {
                    next = next.or(|| Next::At(due));
                }
                continue;
            };
            if self.now < due {
                next = next.or(|| Next::At(due));
                continue;
            }
            let notice = super::world::on_pod(&seen.pod, reason, message.clone());
            if !notices.contains(&notice) {
                notices.push(notice);
            }
            if gives_reason(&seen.pod, reason) {
                continue;
            }
            let gate = GateWrite::explaining(&seen.pod, reason, message);
            let step = Step::Write(Write::Gate(gate));
            next = match (self.memory.failures.due(&step, self.now), next) {
                (Some(due), next) => next.or(|| Next::At(due)),
                (None, Next::At(at)) => return Next::Do(step, Some(at)),
                (None, _) => return Next::Do(step, None),
            };
        }
        next
    }

    /// Since when a pod waits for the address. None: it has the address, gets `False` from the steps of a claim, or
    /// does not want an address.
    fn waits_since(&self, seen: &PodSeen) -> Option<Instant> {
        let pod = &seen.pod;
        if !pod.wants_address() || pod.reports_attached() {
            return None;
        }
        let claim = self.ip.status.claim.as_ref();
        match claim.filter(|claim| claim.uid == pod.uid) {
            Some(claim) if matches!(claim.phase, ClaimPhase::Claimed(_)) => {
                Some(self.memory.claim_seen)
            }
            // The address is attached, but the node does not pass packets yet.
            Some(claim) if self.waits_for_node(claim).is_some() => Some(self.memory.claim_seen),
            Some(_) => None,
            None => Some(seen.bound_since.unwrap_or(seen.seen)),
        }
    }

    /// Why a waiting pod does not have the address; None if the attach only needs its normal time.
    fn obstacle(
        &self,
        pod: &Pod,
        refusal: Option<&Trouble>,
        notices: &Notices,
    ) -> Option<(Reason, String)> {
        let of_pod = |on: &Regarding| matches!(on, Regarding::Pod(_, uid) if *uid == pod.uid);
        if let Some(notice) = notices.iter().find(|notice| of_pod(&notice.on)) {
            return Some((notice.reason, notice.message.clone()));
        }
        if pod.ip.as_ref() != Some(&self.ip.uid) || pod.node.is_none() {
            return None;
        }
        if self.ip.deleting {
            let message = format!("IP {} is being deleted", self.ip.name);
            return Some((Reason::IPDeleted, message));
        }
        match &self.ip.status.claim {
            Some(claim) if claim.uid != pod.uid => self.behind(pod, claim),
            _ => match refusal {
                Some(trouble) => Some((trouble.reason, trouble.message.clone())),
                None => self.obstacle_of_ip(notices),
            },
        }
    }

    /// Why the pod waits while another pod has the claim.
    fn behind(&self, pod: &Pod, claim: &Claim) -> Option<(Reason, String)> {
        let holder = self.pod(&claim.uid);
        let leaves = holder.is_some_and(|seen| seen.pod.deleting.is_some());
        let message = match &claim.phase {
            ClaimPhase::Detaching => return self.obstacle_of_ip(&Notices::new()),
            _ if leaves => format!(
                "pod {} has the address and is being deleted: this pod waits until that one has ended, or its node is \
                 seen to be gone",
                claim.pod
            ),
            // A pod that had the address before already has a gate that names the new holder.
            ClaimPhase::Claimed(_) if pod.gate.is_none() => {
                format!("the address goes to pod {}: this pod waits", claim.pod)
            }
            // A rollout needs some time, and other code reports it if it lasts.
            ClaimPhase::Claimed(_) | ClaimPhase::Recorded(_) => return None,
        };
        Some((Reason::ClaimedByOther, message))
    }

    /// The obstacle that the notices or the condition `Ready` of the IP name.
    fn obstacle_of_ip(&self, notices: &Notices) -> Option<(Reason, String)> {
        let of_ip = |on: &Regarding| matches!(on, Regarding::Ip(..));
        if let Some(notice) = notices.iter().rev().find(|notice| of_ip(&notice.on)) {
            return Some((notice.reason, notice.message.clone()));
        }
        let ready = self.ip.status.conditions.ready.as_ref();
        let ready = ready.filter(|ready| !ready.status && ready.reason != Reason::Claimed)?;
        Some((ready.reason, ready.message.clone()))
    }
}
