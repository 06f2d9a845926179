//! A free address goes to the workload that had it last: another one, which only waits for longer, would get it
//! whenever a pod is replaced.
//! Rules: R3.12 to R3.15.

use alloc::vec::Vec;
use core::time::Duration;

use super::choose::{Candidate, PATIENCE, REPLICA_SETS_AGE};
use super::waits::own_workload_first;
use super::{Ineligible, Next, Notices, World};
use crate::names::WorkloadUid;
use crate::objects::{Controller, Pod, Workload};

/// A controller that replaces its pod only once that is gone (a `StatefulSet`, strategy `Recreate`) does so within
/// this time.
const REPLACEMENT: Duration = Duration::from_secs(5);

impl<'a> World<'a> {
    /// The workload of a pod, as far as its `ReplicaSet` was read.
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

    /// What a claim for this pod says of its workload. The Deployment was read when the pod was chosen, which may be
    /// long ago where the pod holds it already.
    pub(crate) fn workload_of_claim(&self, pod: &Pod) -> Option<Workload> {
        let status = &self.ip.status;
        let claim = status.claim.as_ref();
        match claim.filter(|claim| claim.uid == pod.uid) {
            Some(_) => status.workload.clone(),
            None => self.workload(pod),
        }
    }

    /// The candidates of the workload that had the address last; all of them, if it has none and will not have one
    /// soon. Else what has to be read, or when to look again.
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
            return Err(Next::read(read));
        }
        let patience = if waiting().any(is_own) {
            PATIENCE
        } else {
            REPLACEMENT
        };
        let due = self.lost_since().plus(patience);
        if self.now < due {
            let waiting = others.iter().map(|candidate| candidate.pod);
            notices.extend(waiting.map(own_workload_first));
            return Err(Next::At(due));
        }
        Ok(others)
    }

    /// May this pod be one of the workload's, and hold the address as soon as there is a place for it?
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
