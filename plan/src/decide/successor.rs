//! Chooses the pod that may take the address over from a live holder in a rollout.
//! Rules: R1.21, R3.23 to R3.25, R3.29.

use alloc::vec::Vec;
use core::time::Duration;

use super::choose::{CHOICE_TIMEOUT, Candidate, Choice, REPLICA_SETS_AGE};
use super::waits::{handover_waits, no_deployment, other_holds};
use super::world::on_pod;
use super::{Next, Notices, World};
use crate::names::NodeName;
use crate::objects::{Pod, ReplicaSet};
use crate::reason::Reason;
use crate::step::Read;
use crate::time::Instant;

/// A handover waits this long at most for the limits, after this process began to lead. A block that is deleted or
/// refused does not ask for them.
const LIMIT_WAIT: Duration = Duration::from_secs(10);

impl<'a> World<'a> {
    /// The candidate of a newer revision that may take the address over from a live holder. Otherwise the read that is
    /// needed first, or when to choose again.
    pub(crate) fn successor(
        &self,
        holder: &Pod,
        candidates: Vec<Candidate<'a>>,
        notices: &mut Notices,
    ) -> Choice<'a> {
        if candidates.is_empty() {
            return Choice::None(Next::Idle);
        }
        let soon = || Next::At(self.now.plus(REPLICA_SETS_AGE));
        let mut waits = Next::Idle;
        let mut best: Option<(u64, Candidate<'a>)> = None;
        for candidate in candidates {
            let Some(((_, theirs), (name, ours))) =
                holder.replica_set().zip(candidate.pod.replica_set())
            else {
                notices.push(other_holds(holder, candidate.pod));
                continue;
            };
            if theirs == ours {
                notices.push(other_holds(holder, candidate.pod));
                continue;
            }
            let Some(set) = self.replica_set(ours, REPLICA_SETS_AGE) else {
                if !self.asked(ours, REPLICA_SETS_AGE) {
                    return Choice::None(Next::read(Read::ReplicaSets(
                        candidate.pod.key.clone(),
                        name.clone(),
                    )));
                }
                let later = self.report_older(holder, &candidate, notices);
                waits = waits.or(soon).no_later_than(&later);
                continue;
            };
            waits = waits.or(soon);
            let before = self.facts.replica_sets.get(theirs);
            let before = before.map(|read| &read.value);
            // The creator of a pod can set any owner, also one in another namespace.
            let same = |before: &&ReplicaSet| {
                set.deployment.is_some()
                    && before.deployment == set.deployment
                    && holder.key.namespace == candidate.pod.key.namespace
            };
            let Some(before) = before.filter(same) else {
                notices.push(match self.cycle(candidate.pod, holder) {
                    Some(words) => on_pod(candidate.pod, Reason::Deadlock, words),
                    None if set.deployment.is_none() => no_deployment(holder, candidate.pod),
                    None => other_holds(holder, candidate.pod),
                });
                continue;
            };
            if set.revision <= before.revision {
                let later = self.report_older(holder, &candidate, notices);
                waits = waits.no_later_than(&later);
                continue;
            }
            if candidate.pod.ready_to_take_over() {
                if best
                    .as_ref()
                    .is_none_or(|(revision, _)| set.revision > *revision)
                {
                    best = Some((set.revision, candidate));
                }
            } else {
                let due = candidate.seen.plus(CHOICE_TIMEOUT);
                if self.now >= due {
                    notices.extend(handover_waits(holder, candidate.pod));
                } else {
                    waits = waits.or(|| Next::At(due));
                }
            }
        }
        match best {
            Some((_, candidate)) => self.fresh_enough(candidate),
            None => Choice::None(waits),
        }
    }

    /// A rollout itself removes the pods of older revisions and those whose `ReplicaSet` is gone. If it does not (it is
    /// paused, or its new pods do not become ready), such a pod gets the reason, unless its gate has one.
    fn report_older(&self, holder: &Pod, older: &Candidate<'_>, notices: &mut Notices) -> Next {
        let due = older.seen.plus(CHOICE_TIMEOUT);
        if self.now < due {
            return Next::At(due);
        }
        if older.pod.gate.is_none() {
            notices.push(other_holds(holder, older.pod));
        }
        Next::Idle
    }

    /// A handover takes the address from a live pod, so the candidate, its Node and the `ReplicaSet`s must be read in
    /// this round first (R3.23).
    fn fresh_enough(&self, candidate: Candidate<'a>) -> Choice<'a> {
        let pod = candidate.pod;
        if self.limit_is_awaited(&candidate.placement.node) {
            return Choice::None(self.soon());
        }
        match self.read_pod(&pod.key) {
            None => return Choice::None(Next::read(Read::Pod(pod.key.clone()))),
            Some(read) if read.is_none_or(|read| read.uid != pod.uid) => {
                return Choice::None(Next::Idle);
            }
            Some(_) => {}
        }
        let fresh = |begun: &Instant| self.memory.fresh(*begun, self.now);
        let node = &candidate.placement.node;
        if !self.facts.reads.nodes.get(node).is_some_and(fresh) {
            return Choice::None(Next::read(Read::Node(node.clone())));
        }
        if let Some((name, uid)) = pod.replica_set()
            && !self.facts.reads.replica_sets.get(uid).is_some_and(fresh)
        {
            return Choice::None(Next::read(Read::ReplicaSets(pod.key.clone(), name.clone())));
        }
        Choice::Take(candidate)
    }

    /// True if this process has begun to lead and does not know yet how many addresses an ENI of this Node can have. Then
    /// EC2 could refuse a handover that the former leader knew to be impossible. The block asks for the limit.
    fn limit_is_awaited(&self, node: &NodeName) -> bool {
        let facts = self.facts;
        let seen = facts.nodes.get(node);
        let kind = seen.and_then(|seen| seen.node.instance_type.as_ref());
        let answered =
            |kind| facts.limits.contains_key(kind) || facts.limits_unanswered.contains_key(kind);
        kind.is_some_and(|kind| !answered(kind)) && self.now < facts.led_since.plus(LIMIT_WAIT)
    }
}
