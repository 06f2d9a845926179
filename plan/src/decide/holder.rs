//! Does the holder still hold? Only a quorum read of this round says that it does not.
//! Rules: R1.19, R1.20, R3.19 to R3.21, R7.1.

use core::time::Duration;

use super::{Next, World};
use crate::facts::{Answered, PodSeen, READ_FRESH};
use crate::objects::{Claim, Pod, Target};
use crate::step::{Read, Write};

/// A release that is inferred from absence waits this long, and for a second read (R7.1).
pub(crate) const ABSENCE_WAIT: Duration = Duration::from_mins(1);

/// An answer of `DescribeInstances` is good for this long (R1.10).
pub(crate) const INSTANCE_FRESH: Duration = Duration::from_secs(10);

/// What has become of the holder.
pub(crate) enum Holder<'a> {
    /// It lives, wants the address, and keeps it.
    Keeps(&'a Pod),
    /// It is gone: this process saw it go, or only finds it absent.
    Gone,
    /// It ended.
    Ended,
    /// Its annotation was removed.
    NotRequested,
    /// This has to be done first to know.
    Ask(Next),
}

/// May the address leave a holder that is being deleted?
pub(crate) enum Failover {
    /// Its node is gone or unreachable, or has been away long enough.
    Yes,
    /// It may still be talking.
    No,
    /// This has to be done first to know, or it may be so then.
    Ask(Next),
}

impl<'a> World<'a> {
    /// What has become of the holder.
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
                // The label was removed or changed by another; without it the watch shows nothing of this pod, or
                // shows it to another IP.
                Holder::Ask(Next::write(Write::Label {
                    pod: pod.key.clone(),
                    uid: pod.uid.clone(),
                    ip: Some(self.ip.name.clone()),
                }))
            }
            Some(pod) => Holder::Keeps(pod),
        }
    }

    /// When to look again at a holder that only a read has shown: it may have been answered after the watch had shown
    /// the pod gone, and nothing would tell of that again.
    pub(crate) fn unseen_holder(&self) -> Next {
        let claim = self.ip.status.claim.as_ref();
        let Some(claim) = claim.filter(|claim| self.pod(&claim.uid).is_none()) else {
            return Next::Rest;
        };
        match self.facts.reads.pods.get(&claim.pod) {
            Some(Answered {
                begun,
                value: Some(read),
            }) if read.uid == claim.uid => {
                let stale = begun.plus(READ_FRESH).plus(Duration::from_millis(1));
                Next::At(stale.max(self.now.plus(Duration::from_millis(1))))
            }
            _ => Next::Rest,
        }
    }

    /// Has the holder lost it by failover? Only asked when another pod could have it.
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
        // The name may have gone to another machine: the instance counts. One without an instance says nothing:
        // it may be new.
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

    /// May an address be released because its holder is absent? `None`: yes. Else when to ask again,
    /// if the brake lets go by then.
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
