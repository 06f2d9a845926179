//! A free address goes to the workload that had it last. Otherwise another workload that waits for longer would get it
//! each time a pod is replaced.
//! Rules: R3.12 to R3.15.

use alloc::vec::Vec;
use core::time::Duration;

use super::choose::{CHOICE_TIMEOUT, Candidate, REPLICA_SETS_AGE};
use super::waits::own_workload_first;
use super::{Ineligible, Next, Notices, World};
use crate::names::WorkloadUid;
use crate::objects::{Controller, Pod, Workload};

/// Time in which a controller creates the replacement of a pod that is gone (`StatefulSet`, strategy `Recreate`).
const REPLACEMENT: Duration = Duration::from_secs(5);

impl<'a> World<'a> {
    /// The workload of a pod. If its controller is a `ReplicaSet`, that must have been read.
    fn workload(&self, pod: &Pod) -> Option<Workload> {
        let uid = match pod.controller.as_ref()? {
            Controller::Other(uid) => uid.clone(),
            Controller::ReplicaSet(_, uid) => {
                let read = self.facts.replica_sets.get(uid);
                let deployment = read.and_then(|read| read.value.deployment.as_ref());
                deployment.map_or_else(
                    || WorkloadUid::from(uid.as_str()),
                    |deployment| WorkloadUid::from(deployment.as_str()),
                )
            }
        };
        Some(Workload {
            namespace: pod.key.namespace.clone(),
            uid,
        })
    }

    /// The workload in a claim for this pod. Its `ReplicaSet` was read when the pod was chosen, which can be long ago
    /// if the pod already holds the address.
    pub(crate) fn workload_of_claim(&self, pod: &Pod) -> Option<Workload> {
        let status = &self.ip.status;
        let claim = status.claim.as_ref();
        match claim.filter(|claim| claim.uid == pod.uid) {
            Some(_) => status.workload.clone(),
            None => self.workload(pod),
        }
    }

    /// The candidates of the workload that had the address last, or all candidates if that workload has none and will
    /// not have one soon. Otherwise the read that is needed, or when to decide again.
    pub(crate) fn own_workload_first(
        &self,
        candidates: Vec<Candidate<'a>>,
        notices: &mut Notices,
    ) -> Result<Vec<Candidate<'a>>, Next> {
        let Some(last) = self.ip.status.workload.as_ref() else {
            return Ok(candidates);
        };
        let is_own = |pod: &Pod| self.workload(pod).as_ref() == Some(last);
        let own = |candidate: &Candidate<'_>| is_own(candidate.pod);
        let (own, others): (Vec<_>, Vec<_>) = candidates.into_iter().partition(own);
        if !own.is_empty() || others.is_empty() {
            return Ok(own);
        }
        let waiting = || {
            let pods = self.pods().map(|seen| &seen.pod);
            pods.filter(|pod| self.waits_for_its_turn(pod, last))
        };
        let mut unread = waiting().filter_map(|pod| self.unread_set(pod, REPLICA_SETS_AGE));
        if let Some(read) = unread.next() {
            // If the read fails again and again, the others wait for as long as for a pod of the workload.
            let due = self.unheld_since().plus(CHOICE_TIMEOUT);
            match self.unless_it_waits(Next::read(read)) {
                Next::At(at) if self.now < due => return Err(Next::At(at.min(due))),
                Next::At(_) => return Ok(others),
                step => return Err(step),
            }
        }
        let wait = if waiting().any(is_own) {
            CHOICE_TIMEOUT
        } else {
            REPLACEMENT
        };
        let due = self.unheld_since().plus(wait);
        if self.now < due {
            let waiting = others.iter().map(|candidate| candidate.pod);
            notices.extend(waiting.map(own_workload_first));
            return Err(Next::At(due));
        }
        Ok(others)
    }

    /// True if this pod may belong to the workload and could hold the address as soon as it has a place.
    fn waits_for_its_turn(&self, pod: &Pod, last: &Workload) -> bool {
        pod.key.namespace == last.namespace
            && !matches!(
                self.placement(pod),
                Err(Ineligible::Leaving
                    | Ineligible::NotAdmitted
                    | Ineligible::Stale(_)
                    | Ineligible::Namespace)
            )
    }
}
