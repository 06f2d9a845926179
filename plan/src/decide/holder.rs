//! Decides whether the holder still holds the address. Only a quorum read of this round can show that it does not.
//! Rules: R1.19, R1.20, R3.19 to R3.21, R7.1.

use core::time::Duration;

use super::{Next, World};
use crate::facts::{Answered, PodSeen, READ_FRESH};
use crate::objects::{Claim, Pod, Target};
use crate::step::{Read, Write};

/// Wait before a release that is inferred from absence; a second read is needed too (R7.1).
pub(crate) const ABSENCE_WAIT: Duration = Duration::from_mins(1);

/// How long an answer of `DescribeInstances` is fresh (R1.10).
pub(crate) const INSTANCE_FRESH: Duration = Duration::from_secs(10);

/// The state of the holder.
pub(crate) enum Holder<'a> {
    /// It exists, wants the address, and keeps it.
    Keeps(&'a Pod),
    /// It is gone: this process saw its end, or only its absence.
    Gone,
    /// It is `Succeeded` or `Failed`.
    Ended,
    /// Its annotation was removed.
    NotRequested,
    /// It keeps the address, and its label is to be put back with this write.
    Unlabelled(&'a Pod, Next),
    /// Not known: this must be done first.
    Ask(Next),
}

/// Whether the address may be taken from a holder that is being deleted.
pub(crate) enum Failover {
    /// Its node is gone or unreachable, or has been away long enough.
    Yes,
    /// It may still use the address.
    No,
    /// Not known: this must be done first, or the decision is possible at that time.
    Ask(Next),
}

impl<'a> World<'a> {
    /// The state of the holder.
    pub(crate) fn holder(&self, claim: &Claim) -> Holder<'a> {
        let ask = || Holder::Ask(Next::read(Read::Pod(claim.pod.clone())));
        let seen = self.pod(&claim.uid).map(|seen| &seen.pod);
        let labelled = |pod: &Pod| pod.label.as_ref() == Some(&self.ip.name);
        if let Some(pod) = seen.filter(|pod| !pod.ended && pod.annotated && labelled(pod)) {
            return Holder::Keeps(pod);
        }
        let Some(read) = self.read_pod(&claim.pod) else {
            return ask();
        };
        match read.filter(|pod| pod.uid == claim.uid) {
            None => Holder::Gone,
            Some(pod) if pod.ended => Holder::Ended,
            Some(pod) if !pod.annotated => Holder::NotRequested,
            Some(pod) if !labelled(pod) => {
                // Another client removed or changed the label. Without it the watch does not show this pod, or shows it
                // for another IP.
                let put_back = Next::write(Write::Label {
                    pod: pod.key.clone(),
                    uid: pod.uid.clone(),
                    ip: Some(self.ip.name.clone()),
                });
                Holder::Unlabelled(pod, put_back)
            }
            Some(pod) => Holder::Keeps(pod),
        }
    }

    /// When to read a holder again that only a read has shown. The watch can have shown its deletion before the read
    /// was answered, and will not show it again.
    pub(crate) fn unseen_holder(&self) -> Next {
        let claim = self.ip.status.claim.as_ref();
        let Some(claim) = claim.filter(|claim| self.pod(&claim.uid).is_none()) else {
            return Next::Idle;
        };
        match self.facts.reads.pods.get(&claim.pod) {
            Some(Answered {
                begun,
                value: Some(read),
            }) if read.uid == claim.uid => {
                let stale = begun.plus(READ_FRESH).plus(Duration::from_millis(1));
                // Then the decision asks for the next read, or waits for its backoff.
                if stale <= self.now {
                    return Next::Idle;
                }
                Next::At(stale)
            }
            _ => Next::Idle,
        }
    }

    /// Whether the holder has lost the address by failover. It is evaluated only if another pod could get the address.
    pub(crate) fn lost(&self, holder: &Pod, target: &Target) -> Failover {
        if holder.deleting.is_none() {
            return Failover::No;
        }
        let fresh_pod = self.read_pod(&holder.key).is_some();
        let fresh_node = self
            .facts
            .reads
            .nodes
            .get(&target.node)
            .is_some_and(|begun| self.memory.fresh(*begun, self.now));
        let yes = || {
            if !fresh_pod {
                Failover::Ask(Next::read(Read::Pod(holder.key.clone())))
            } else if !fresh_node {
                Failover::Ask(Next::read(Read::Node(target.node.clone())))
            } else {
                Failover::Yes
            }
        };
        let Some(seen) = self.facts.nodes.get(&target.node) else {
            return yes();
        };
        // Another machine can have the name now, so the instance decides. A Node without an instance proves nothing: it
        // can be new.
        let instance = seen.node.instance.as_ref();
        if instance.is_some_and(|instance| instance != &target.place.instance) {
            return yes();
        }
        if seen.node.unreachable || seen.node.out_of_service {
            return yes();
        }
        let Some(away_since) = seen.not_ready_since else {
            return Failover::No;
        };
        let after = self
            .spec()
            .map_or(Duration::from_secs(30), |spec| spec.failover_after);
        let grace = Duration::from_secs(holder.deleting.unwrap_or_default());
        let deleting_since = self
            .pod(&holder.uid)
            .and_then(|seen: &PodSeen| seen.deleting_since)
            .unwrap_or(self.now);
        let due = away_since.plus(after).max(deleting_since.plus(grace));
        if self.now >= due {
            return yes();
        }
        match self.facts.instances.get(&target.place.instance) {
            Some(read) if self.now.since(read.begun) <= INSTANCE_FRESH => {
                if read
                    .value
                    .is_some_and(crate::cloud::InstanceState::is_ending)
                {
                    return yes();
                }
                Failover::Ask(Next::At(
                    due.min(
                        read.begun
                            .plus(INSTANCE_FRESH)
                            .plus(Duration::from_millis(1)),
                    ),
                ))
            }
            _ => Failover::Ask(Next::read(Read::Instance(target.place.instance.clone()))),
        }
    }

    /// None if an address may be released because its holder is absent. Otherwise when to check again; the brake may
    /// have ended by then.
    pub(crate) fn held_by_brake(&self) -> Option<Next> {
        let (_, since) = self.facts.missing_holders.get(&self.ip.name)?;
        if self
            .ip
            .status
            .block
            .as_ref()
            .is_some_and(|block| self.facts.brake_engaged(block))
        {
            return Some(Next::At(self.now.plus(ABSENCE_WAIT)));
        }
        let due = since.plus(ABSENCE_WAIT);
        (self.now < due).then_some(Next::At(due))
    }
}
