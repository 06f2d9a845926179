//! Measures each part of a failover that begins with the taint of Mooring: for metrics.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use crate::facts::Facts;
use crate::names::{IpName, PodUid};
use crate::objects::{Claim, Ip};
use crate::time::Instant;

/// A failover that takes longer has no next pod, and is not measured.
const LONGEST: Duration = Duration::from_mins(30);

/// The parts of a failover, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailoverPart {
    /// From the time when the node was first seen as away to the taint.
    Detection,
    /// Until the pod that has the address is being deleted.
    Eviction,
    /// Until the next pod is bound to a node.
    Scheduling,
    /// Until the claim for the next pod.
    Claim,
    /// Until EC2 answers that the address is on the new ENI.
    Ec2,
    /// Until the Record.
    Record,
    /// Until the gate of the next pod is `True`, if the block uses the node part.
    Programming,
    /// The whole failover.
    Total,
}

impl FailoverPart {
    /// All parts, in order.
    pub const ALL: [Self; 8] = [
        Self::Detection,
        Self::Eviction,
        Self::Scheduling,
        Self::Claim,
        Self::Ec2,
        Self::Record,
        Self::Programming,
        Self::Total,
    ];

    /// The part as one word, for metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Detection => "detection",
            Self::Eviction => "eviction",
            Self::Scheduling => "scheduling",
            Self::Claim => "claim",
            Self::Ec2 => "ec2",
            Self::Record => "record",
            Self::Programming => "programming",
            Self::Total => "total",
        }
    }
}

/// The failover of one IP.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct FailoverTimer {
    /// The pod that loses the address.
    loser: PodUid,
    /// Since when the node of that pod is away.
    away: Instant,
    /// When the present part began.
    last: Instant,
    /// The present part.
    part: FailoverPart,
}

/// The failovers in progress.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FailoverTimers(BTreeMap<IpName, FailoverTimer>);

impl FailoverTimers {
    /// The taint was set on a node that is away since `away`; these claims are on it.
    pub(super) fn begin(&mut self, claims: Vec<(IpName, Claim)>, away: Instant, now: Instant) {
        let timers = claims.into_iter().map(|(ip, claim)| {
            let timer = FailoverTimer {
                loser: claim.uid,
                away,
                last: now,
                part: FailoverPart::Eviction,
            };
            (ip, timer)
        });
        self.0.extend(timers);
    }

    /// EC2 has answered an Assign of this IP with success.
    pub(super) fn assigned(
        &mut self,
        ip: &IpName,
        now: Instant,
    ) -> Option<(FailoverPart, Duration)> {
        let timer = self.0.get_mut(ip)?;
        (timer.part == FailoverPart::Ec2).then(|| timer.ends(FailoverPart::Record, now))
    }

    /// The parts that have ended by now, and how long each took.
    pub(super) fn follow(
        &mut self,
        name: &IpName,
        facts: &Facts,
        now: Instant,
    ) -> Vec<(FailoverPart, Duration)> {
        let mut ended = Vec::new();
        let (Some(timer), Some(ip)) = (self.0.get_mut(name), facts.ip(name)) else {
            return ended;
        };
        let over = loop {
            if now.since(timer.last) >= LONGEST {
                break true;
            }
            let Some(next) = timer.next_part(ip, facts) else {
                break false;
            };
            // There was no call of this process: EC2 had the address there already.
            if timer.part == FailoverPart::Ec2 {
                timer.part = FailoverPart::Record;
            }
            ended.push(timer.ends(next, now));
            if next == FailoverPart::Total {
                ended.push((FailoverPart::Total, now.since(timer.away)));
                break true;
            }
        };
        if over {
            self.0.remove(name);
        }
        ended
    }

    /// Removes the failover of an IP that is gone.
    pub(super) fn forget(&mut self, ip: &IpName) {
        self.0.remove(ip);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl FailoverTimer {
    /// Ends the present part and begins the next.
    fn ends(&mut self, next: FailoverPart, now: Instant) -> (FailoverPart, Duration) {
        let took = (self.part, now.since(self.last));
        (self.part, self.last) = (next, now);
        took
    }

    /// The next part, if the present part has ended.
    fn next_part(&self, ip: &Ip, facts: &Facts) -> Option<FailoverPart> {
        use FailoverPart as Part;
        let claim = ip.status.claim.as_ref();
        let next = claim.filter(|claim| claim.uid != self.loser && claim.target().is_some());
        let recorded = next.filter(|claim| claim.recorded());
        let after_record = if facts.asks_for_node_part(ip) {
            Part::Programming
        } else {
            Part::Total
        };
        match self.part {
            Part::Eviction => facts.is_leaving(&self.loser).then_some(Part::Scheduling),
            Part::Scheduling => facts.has_bound_pod(ip, &self.loser).then_some(Part::Claim),
            Part::Claim => next.map(|_| Part::Ec2),
            Part::Ec2 | Part::Record => recorded.map(|_| after_record),
            Part::Programming => {
                let ready = |claim: &&Claim| facts.reports_attached(&claim.uid);
                recorded.filter(ready).map(|_| Part::Total)
            }
            Part::Detection | Part::Total => None,
        }
    }
}

impl Facts {
    /// True if the pod is being deleted or gone.
    fn is_leaving(&self, uid: &PodUid) -> bool {
        let seen = self.pods.get(uid);
        seen.is_none_or(|seen| seen.pod.deleting.is_some())
    }

    /// True if another pod of the IP is bound to a node and not being deleted.
    fn has_bound_pod(&self, ip: &Ip, loser: &PodUid) -> bool {
        let pods = self.pods_of.of(&ip.name);
        let mut others = pods.filter(|uid| *uid != loser);
        others.any(|uid| {
            let seen = self.pods.get(uid);
            seen.is_some_and(|seen| seen.pod.deleting.is_none() && seen.pod.node.is_some())
        })
    }

    fn reports_attached(&self, uid: &PodUid) -> bool {
        let seen = self.pods.get(uid);
        seen.is_some_and(|seen| seen.pod.reports_attached())
    }
}
