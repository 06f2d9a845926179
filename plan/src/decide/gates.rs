//! The readiness gate: losers get `False` before EC2 is called, the winner gets `True` last.
//! Rules: R4.5, R4.9 to R4.15.

use alloc::format;
use alloc::string::{String, ToString};

use super::conditions::Trouble;
use super::trouble::foreign;
use super::{Next, World};
use crate::facts::{Answered, READ_FRESH};
use crate::names::{PodKey, PodUid, ResourceVersion};
use crate::objects::{Claim, ClaimPhase, Pod};
use crate::reason::Reason;
use crate::step::{GateWrite, Read, Write};

/// A readiness gate cannot be removed from the spec of a pod: `True` with this message lets the pod become ready.
const NO_ADDRESS: &str = "the annotation was removed: the pod asks for no address";

impl<'a> World<'a> {
    /// The next write of `False` to a loser, which must be done before EC2 is called for this claim.
    ///
    /// It is written even if the condition is `False` already: the write changes the version of the pod, so that a late
    /// `True` of another controller gets a conflict.
    pub(crate) fn close_stale_gates(&self, claim: &Claim) -> Option<Next> {
        let closed_gates =
            |uid: &PodUid| self.memory.closed_gates.contains(uid) || self.memory.gone.contains(uid);
        let losers = self
            .ip
            .status
            .previous
            .iter()
            .filter_map(|entry| entry.holder.as_ref())
            .filter(|(_, uid)| (uid != &claim.uid || !claim.recorded()) && !closed_gates(uid))
            .map(|(key, uid)| (key, uid));
        let leaving = matches!(claim.phase, ClaimPhase::Detaching) && !closed_gates(&claim.uid);
        let leaving = leaving.then_some((&claim.pod, &claim.uid));
        if let Some((key, uid)) = leaving.into_iter().chain(losers).next() {
            return Some(self.deny(key, uid, Some(claim)));
        }
        self.close_other_gates(Some(claim))
    }

    /// The next write of `False` to a pod whose gate is `True` although the status does not name it as holder. The gate
    /// follows the status, also if a user cleared the status (R4.10, R4.11).
    pub(crate) fn close_other_gates(&self, claim: Option<&Claim>) -> Option<Next> {
        let has = |pod: &Pod| claim.is_some_and(|claim| claim.recorded() && claim.uid == pod.uid);
        let stale_gate = self
            .pods()
            .map(|seen| &seen.pod)
            .find(|pod| pod.reports_attached() && !has(pod))?;
        // Another leader can have recorded it since: without this read, the two would overwrite each other repeatedly.
        if self.read_ip(&self.ip.name).is_none() {
            return Some(Next::read(Read::Ip(self.ip.name.clone())));
        }
        Some(self.deny(&stale_gate.key, &stale_gate.uid, claim))
    }

    fn deny(&self, key: &PodKey, uid: &PodUid, claim: Option<&Claim>) -> Next {
        let annotated = self.pod(uid).is_none_or(|seen| seen.pod.annotated);
        let (reason, message) = if self.ip.deleting {
            (
                Reason::IPDeleted,
                format!("IP {} is being deleted", self.ip.name),
            )
        } else if !annotated {
            return self.not_requested(key, uid);
        } else if let Some(claim) = claim {
            self.why_not(uid, claim)
        } else {
            (
                Reason::Released,
                format!("no pod holds IP {}, according to its status", self.ip.name),
            )
        };
        Next::write(Write::Gate(GateWrite {
            pod: key.clone(),
            uid: uid.clone(),
            version: None,
            status: false,
            shown: self.shown_gate(uid),
            reason,
            message,
            denied_at: Some(self.ip.version),
        }))
    }

    /// The reason and message for a pod that asks for the address and does not have it under this claim.
    fn why_not(&self, uid: &PodUid, claim: &Claim) -> (Reason, String) {
        if matches!(claim.phase, ClaimPhase::Detaching) {
            (
                Reason::Detaching,
                format!("IP {} is detached from this pod", self.ip.name),
            )
        } else if uid != &claim.uid {
            (
                Reason::MovedTo,
                format!("IP {} goes to pod {}", self.ip.name, claim.pod),
            )
        } else if self
            .ip
            .status
            .previous
            .iter()
            .any(|entry| Some(entry.address) != self.ip.status.address)
        {
            (
                Reason::AddressChanging,
                format!("the address of IP {} is being changed", self.ip.name),
            )
        } else if let Some(trouble) = self.elsewhere() {
            (trouble.reason, trouble.message)
        } else {
            (
                Reason::Drifted,
                format!(
                    "IP {} was not found where it should be and is being restored",
                    self.ip.name
                ),
            )
        }
    }

    /// The trouble if the address is on an ENI that does not explain it.
    fn elsewhere(&self) -> Option<Trouble> {
        let address = self.ip.status.address?;
        let on = self.locate(address).on?;
        (!self.explained(address, &on)).then(|| foreign(self, address, &on))
    }

    fn shown_gate(&self, uid: &PodUid) -> Option<bool> {
        self.pod(uid).and_then(|seen| seen.pod.gate_status())
    }

    fn not_requested(&self, key: &PodKey, uid: &PodUid) -> Next {
        Next::write(Write::Gate(GateWrite {
            pod: key.clone(),
            uid: uid.clone(),
            version: None,
            status: true,
            shown: self.shown_gate(uid),
            reason: Reason::NotRequested,
            message: NO_ADDRESS.to_string(),
            denied_at: Some(self.ip.version),
        }))
    }

    /// Sets the gate of the winner to `True`: reads the pod, then the IP (quorum), which must have this claim recorded,
    /// then writes with the version that the pod had in the first read (R4.15).
    pub(crate) fn open_gate(&self, pod: &'a Pod, claim: &Claim) -> Next {
        if !pod.gated || pod.reports_attached() {
            return Next::Idle;
        }
        if self.waits_for_node(claim).is_some() {
            return Next::Idle;
        }
        // While the write waits, nothing is read for it.
        if let wait @ Next::At(_) =
            self.unless_it_waits(self.write_gate_true(pod, pod.version, claim))
        {
            return wait;
        }
        if let Some(version) = self.unchanged_since_record(pod) {
            return self.write_gate_true(pod, version, claim);
        }
        let fresh = |begun| self.memory.fresh(begun, self.now);
        let Some(of_pod) = self
            .facts
            .reads
            .pods
            .get(&pod.key)
            .filter(|read| fresh(read.begun))
        else {
            return Next::read(Read::Pod(pod.key.clone()));
        };
        let Some(read) = of_pod.value.as_ref().filter(|read| read.uid == pod.uid) else {
            return Next::Idle;
        };
        let ip = self
            .facts
            .reads
            .ips
            .get(&self.ip.name)
            .filter(|read| read.begun >= of_pod.begun && fresh(read.begun));
        let Some(Answered { value: ip, .. }) = ip else {
            return Next::read(Read::Ip(self.ip.name.clone()));
        };
        let holds = ip.as_ref().is_some_and(|ip| {
            ip.uid == self.ip.uid
                && ip.claim.as_ref() == Some(claim)
                && ip.address == self.ip.status.address
        });
        if !holds {
            return Next::Idle;
        }
        self.write_gate_true(pod, read.version, claim)
    }

    /// The version of the pod, if this process saw that version before it began the Record that made the present
    /// version of the IP. Then the Record proves what a read of the IP after a read of the pod would prove.
    fn unchanged_since_record(&self, pod: &Pod) -> Option<ResourceVersion> {
        let recorded = self.memory.recorded?;
        let seen = self.pod(&pod.uid)?;
        let lately = self.now.since(recorded.begun) <= READ_FRESH;
        let unchanged = recorded.version == self.ip.version && seen.version_seen < recorded.begun;
        (lately && unchanged).then_some(seen.pod.version)
    }

    fn write_gate_true(&self, pod: &Pod, version: ResourceVersion, claim: &Claim) -> Next {
        let Some(address) = self.ip.status.address else {
            return Next::Idle;
        };
        let node = claim.target().map_or("", |target| target.node.as_str());
        Next::write(Write::Gate(GateWrite {
            pod: pod.key.clone(),
            uid: pod.uid.clone(),
            version: Some(version),
            status: true,
            shown: pod.gate_status(),
            reason: Reason::Attached,
            message: format!("{address} is on node {node}"),
            denied_at: None,
        }))
    }

    /// Releases admitted pods whose annotation was removed: sets their gate to `True`, so that they can be ready, then
    /// removes the label. The label is last, so that the watch still shows the pod after a crash (R4.5, R8.12).
    pub(crate) fn release_unannotated(&self, holder: Option<&Claim>) -> Next {
        let others = self.pods().map(|seen| &seen.pod);
        let others = others.filter(|pod| holder.is_none_or(|claim| claim.uid != pod.uid));
        let mut next = Next::Idle;
        for write in others.filter_map(|pod| release(pod, None, Some(self.ip.version))) {
            next = next.or(|| self.unless_it_waits(Next::write(write)));
        }
        next
    }
}

/// The next write that releases a pod; None: it has the annotation, was not admitted, or is being deleted.
pub(super) fn release(
    pod: &Pod,
    version: Option<ResourceVersion>,
    denied_at: Option<ResourceVersion>,
) -> Option<Write> {
    if pod.annotated || pod.ip.is_none() || pod.deleting.is_some() {
        return None;
    }
    let reported = pod
        .gate
        .as_ref()
        .is_some_and(|gate| gate.reason == Reason::NotRequested.as_str());
    if !pod.gated || reported {
        return Some(Write::Label {
            pod: pod.key.clone(),
            uid: pod.uid.clone(),
            ip: None,
        });
    }
    Some(Write::Gate(GateWrite {
        pod: pod.key.clone(),
        uid: pod.uid.clone(),
        version,
        status: true,
        shown: pod.gate_status(),
        reason: Reason::NotRequested,
        message: NO_ADDRESS.to_string(),
        denied_at,
    }))
}
