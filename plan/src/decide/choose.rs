//! Chooses the pod that gets a free address.
//! Rules: R1.21, R3.13, R3.16 to R3.18.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::waits::older_revision_first;
use super::world::on_pod;
use super::{Ineligible, Next, Notices, World};
use crate::names::ReplicaSetUid;
use crate::objects::{Claim, Pod, ReplicaSet, Target};
use crate::reason::Reason;
use crate::step::Read;
use crate::time::Instant;

/// After this time, a free address goes to a pod that is not ready too, and a rollout that waits for the address
/// gets an Event that says what to do.
pub(crate) const CHOICE_TIMEOUT: Duration = Duration::from_mins(1);

/// Maximum age of the known `ReplicaSet`s of a Deployment while two pods want one IP (R1.21).
pub(crate) const REPLICA_SETS_AGE: Duration = Duration::from_secs(5);

/// Maximum age for a free address. It can be longer: a wrong choice costs only a handover.
const REPLICA_SETS_AGE_FREE: Duration = Duration::from_mins(1);

/// A pod that could hold the address, and its placement.
pub(crate) struct Candidate<'a> {
    pub(crate) pod: &'a Pod,
    pub(crate) seen: Instant,
    pub(crate) placement: Target,
}

/// The result of a choice.
pub(crate) enum Choice<'a> {
    /// This pod gets the address.
    Take(Candidate<'a>),
    /// No pod yet: the step that must be done first, or the time to choose again.
    None(Next),
}

impl<'a> World<'a> {
    /// The pods that could hold the address, oldest first. The other pods get a notice with the reason.
    pub(crate) fn candidates(
        &self,
        holder: Option<&Claim>,
        notices: &mut Notices,
    ) -> Vec<Candidate<'a>> {
        if self.ip.deleting {
            return Vec::new();
        }
        let block = self.block.map_or("", |block| block.name.as_str());
        let labels = self.node_labels();
        let mut candidates = Vec::new();
        for seen in self
            .pods()
            .filter(|seen| holder.is_none_or(|claim| claim.uid != seen.pod.uid))
        {
            match self.placement(&seen.pod) {
                Ok(placement) => candidates.push(Candidate { pod: &seen.pod, seen: seen.seen, placement }),
                Err(Ineligible::Unscheduled) if holder.is_none() && self.no_node() => notices.push(on_pod(
                    &seen.pod,
                    Reason::NoEligibleNode,
                    alloc::format!(
                        "no node has a network interface in the subnet of block {block}: the pod waits until one \
                         comes. An autoscaler needs the label {labels} on its node template"
                    ),
                )),
                Err(why) => {
                    if let Some((reason, message)) = why.notice(self.block) {
                        notices.push(on_pod(&seen.pod, reason, message));
                    }
                }
            }
        }
        candidates.sort_by(|a, b| (a.pod.created, &a.pod.uid).cmp(&(b.pod.created, &b.pod.uid)));
        candidates
    }

    /// Since when no pod holds the address that could keep it. [`CHOICE_TIMEOUT`] counts from then, not from the time
    /// at which a pod began to wait behind a healthy holder.
    pub(crate) fn unheld_since(&self) -> Instant {
        match &self.ip.status.claim {
            None => self.memory.claim_seen,
            Some(claim) => self
                .pod(&claim.uid)
                .and_then(|seen| seen.deleting_since)
                .unwrap_or(self.now),
        }
    }

    /// The labels that the nodes of the block have, as text for a message.
    fn node_labels(&self) -> String {
        let Some(block) = self.block else {
            return String::new();
        };
        match self.spec().and_then(|spec| spec.node_selector.as_ref()) {
            Some(given) => {
                let labels = given
                    .iter()
                    .map(|(key, value)| alloc::format!("{key}={value}"));
                labels.collect::<Vec<String>>().join(",")
            }
            None => block.name.node_label(),
        }
    }

    /// True if a pod on a node waits until an inventory shows the interfaces.
    pub(crate) fn waits_for_inventory(&self) -> bool {
        let waits = |pod| self.placement(pod) == Err(Ineligible::NoInventory);
        !self.subnet_is_shown() && self.pods().any(|seen| waits(&seen.pod))
    }

    fn no_node(&self) -> bool {
        let mut nodes = self.facts.nodes.values();
        self.subnet_is_shown() && !nodes.any(|seen| self.placement_on(&seen.node).is_ok())
    }

    /// Chooses the candidate that gets a free address.
    pub(crate) fn choose(
        &self,
        candidates: Vec<Candidate<'a>>,
        notices: &mut Notices,
    ) -> Choice<'a> {
        let mut candidates = match self.own_workload_first(candidates, notices) {
            Ok(candidates) => candidates,
            Err(next) => return Choice::None(next),
        };
        let Some(oldest) = candidates.first() else {
            return Choice::None(self.read_replica_set_early());
        };
        let Some((name, uid)) = oldest.pod.replica_set() else {
            return Choice::Take(candidates.swap_remove(0));
        };
        let ask = Read::ReplicaSets(oldest.pod.key.clone(), name.clone());
        let Some(set) = self.replica_set(uid, REPLICA_SETS_AGE_FREE) else {
            // The read did not find it: the ReplicaSet is gone, and the pod counts on its own.
            if self.asked(uid, REPLICA_SETS_AGE) {
                return Choice::Take(candidates.swap_remove(0));
            }
            // If the read fails again and again, the oldest pod gets the address as after any other wait.
            let due = oldest.seen.max(self.unheld_since()).plus(CHOICE_TIMEOUT);
            return match self.unless_it_waits(Next::read(ask)) {
                Next::At(_) if self.now >= due => Choice::Take(candidates.swap_remove(0)),
                next => Choice::None(match next {
                    Next::At(at) => Next::At(at.min(due)),
                    step => step,
                }),
            };
        };
        let Some(deployment) = set.deployment.clone() else {
            return Choice::Take(candidates.swap_remove(0));
        };
        let waiting_since = oldest.seen.max(self.unheld_since());
        let namespace = oldest.pod.key.namespace.clone();
        let mut group: Vec<(Candidate<'a>, ReplicaSet)> = Vec::new();
        for candidate in candidates {
            let set = candidate
                .pod
                .replica_set()
                .and_then(|(_, uid)| self.facts.replica_sets.get(uid))
                .map(|read| &read.value);
            let same = |set: &ReplicaSet| {
                set.deployment.as_ref() == Some(&deployment)
                    && candidate.pod.key.namespace == namespace
            };
            if let Some(set) = set.filter(|set| same(set)) {
                group.push((candidate, set.clone()));
            }
        }
        let ready = group
            .iter()
            .enumerate()
            .filter(|(_, (candidate, _))| candidate.pod.ready_to_take_over())
            .max_by_key(|(index, (_, set))| (set.revision, core::cmp::Reverse(*index)))
            .map(|(index, _)| index);
        let lowest = self
            .facts
            .replica_sets_of
            .of(&deployment)
            .filter_map(|uid| self.facts.replica_sets.get(uid))
            .map(|read| &read.value)
            .filter(|set| set.replicas > 0)
            .min_by_key(|set| set.revision)
            .map(|set| set.uid.clone());
        let of_lowest = || {
            group
                .iter()
                .position(|(_, set)| Some(&set.uid) == lowest.as_ref())
        };
        let due = waiting_since.plus(CHOICE_TIMEOUT);
        let after_timeout = (self.now >= due).then_some(0);
        let Some(index) = ready.or_else(of_lowest).or(after_timeout) else {
            let waiting = group.iter().map(|(candidate, _)| candidate.pod);
            notices.extend(waiting.map(older_revision_first));
            return Choice::None(Next::At(due));
        };
        let chosen = group.into_iter().nth(index);
        chosen.map_or(Choice::None(Next::Idle), |(candidate, _)| {
            Choice::Take(candidate)
        })
    }

    /// Reads the `ReplicaSet` of a pod that is not scheduled yet, so that the claim can follow its binding at once
    /// (R3.18).
    fn read_replica_set_early(&self) -> Next {
        let mut unread = self.pods().filter_map(|seen| {
            let read = self.unread_set(&seen.pod, REPLICA_SETS_AGE_FREE)?;
            matches!(self.placement(&seen.pod), Err(Ineligible::Unscheduled)).then_some(read)
        });
        let read = unread.next().map(Next::read);
        read.map_or(Next::Idle, |read| self.unless_it_waits(read))
    }

    /// The read of the `ReplicaSet` of the pod. None if the known answer is new enough for a free address, or if a read
    /// was made within `age`.
    pub(crate) fn unread_set(&self, pod: &Pod, age: Duration) -> Option<Read> {
        let (name, uid) = pod.replica_set()?;
        let known = self.replica_set(uid, REPLICA_SETS_AGE_FREE).is_some() || self.asked(uid, age);
        (!known).then(|| Read::ReplicaSets(pod.key.clone(), name.clone()))
    }

    pub(super) fn replica_set(&self, uid: &ReplicaSetUid, age: Duration) -> Option<&'a ReplicaSet> {
        let read = self.facts.replica_sets.get(uid)?;
        (self.now.since(read.begun) <= age).then_some(&read.value)
    }

    pub(super) fn asked(&self, uid: &ReplicaSetUid, age: Duration) -> bool {
        self.facts
            .reads
            .replica_sets
            .get(uid)
            .is_some_and(|begun| self.now.since(*begun) <= age)
    }
}
