//! What a pod that waits for its address finds at its readiness gate: what stands in the way, once it has
//! waited for longer than a healthy attach takes.
//! Rules: R3.31 to R3.33.

use alloc::format;
use alloc::string::String;

use super::{Next, Notices, World};
use crate::facts::{HEALTHY_ATTACH, PodSeen};
use crate::objects::{Claim, ClaimPhase, Pod};
use crate::reason::Reason;
use crate::step::{GateWrite, Regarding, Step, Write};
use crate::time::Instant;

/// Does the pod's gate say so already? One that lost the address to another was told that in other words.
fn says(pod: &Pod, reason: Reason) -> bool {
    let moved = reason == Reason::ClaimedByOther;
    pod.gate.as_ref().is_some_and(|gate| {
        !gate.status
            && (gate.reason == reason.as_str() || moved && gate.reason == Reason::MovedTo.as_str())
    })
}

impl World<'_> {
    /// Writes `False` at the gate of a pod that waits, with the reason and the message of what stands in the
    /// way, and again when the reason changes; and says it to the pod as an Event.
    ///
    /// Guarded by the pod's version: a process whose watch lags must not deny what another has told since.
    pub(crate) fn report_to_waiting_pods(&self, notices: &mut Notices) -> Next {
        let mut next = Next::Rest;
        for seen in self.pods() {
            let Some(since) = self.waits_since(seen) else {
                continue;
            };
            let due = since.plus(HEALTHY_ATTACH);
            let Some((reason, message)) = self.obstacle(&seen.pod, notices) else {
                // The IP's condition names it then.
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
            if says(&seen.pod, reason) {
                continue;
            }
            let step = Step::Write(Write::Gate(GateWrite {
                pod: seen.pod.key.clone(),
                uid: seen.pod.uid.clone(),
                version: Some(seen.pod.version),
                status: false,
                shown: seen.pod.gate_status(),
                reason,
                message,
                denied_at: None,
            }));
            next = match (self.memory.failures.due(&step, self.now), next) {
                (Some(due), next) => next.or(|| Next::At(due)),
                (None, Next::At(at)) => return Next::Do(step, Some(at)),
                (None, _) => return Next::Do(step, None),
            };
        }
        next
    }

    /// Since when a pod waits for the address; None: it has it, is denied it by a claim's steps, or wants none.
    fn waits_since(&self, seen: &PodSeen) -> Option<Instant> {
        let pod = &seen.pod;
        let wants = pod.annotated && pod.gated && !pod.ended && pod.deleting.is_none();
        if !wants || pod.says_attached() {
            return None;
        }
        let claim = self.ip.status.claim.as_ref();
        match claim.filter(|claim| claim.uid == pod.uid) {
            Some(claim) if matches!(claim.phase, ClaimPhase::Claimed(_)) => {
                Some(self.memory.claim_seen)
            }
            // Attached, and its node does not pass packets yet.
            Some(claim) if self.waits_for_node(claim).is_some() => Some(self.memory.claim_seen),
            Some(_) => None,
            None => Some(seen.bound_since.unwrap_or(seen.seen)),
        }
    }

    /// What stands between a waiting pod and the address, if that is more than the time that it takes.
    fn obstacle(&self, pod: &Pod, notices: &Notices) -> Option<(Reason, String)> {
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
            _ => self.obstacle_of_ip(notices),
        }
    }

    /// Another pod has a claim.
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
            // One that had it before was told where it goes.
            ClaimPhase::Claimed(_) if pod.gate.is_none() => {
                format!("the address goes to pod {}: this pod waits", claim.pod)
            }
            // A rollout takes its time, and says so after a while.
            ClaimPhase::Claimed(_) | ClaimPhase::Recorded(_) => return None,
        };
        Some((Reason::ClaimedByOther, message))
    }

    /// What is said of the IP itself.
    fn obstacle_of_ip(&self, notices: &Notices) -> Option<(Reason, String)> {
        let of_ip = |on: &Regarding| matches!(on, Regarding::Ip(..));
        if let Some(notice) = notices.iter().rev().find(|notice| of_ip(&notice.on)) {
            return Some((notice.reason, notice.message.clone()));
        }
        let said = self.ip.status.conditions.ready.as_ref();
        let said = said.filter(|said| !said.status && said.reason != Reason::Claimed)?;
        Some((said.reason, said.message.clone()))
    }
}
