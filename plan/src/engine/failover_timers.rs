//! How long each part of a failover takes that a taint of ours begins: for the metrics.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use crate::facts::Facts;
use crate::names::{IpName, PodUid};
use crate::objects::{Claim, DataPath, Ip};
use crate::time::Instant;

/// One that takes longer has no next pod, and is not measured.
const LONGEST: Duration = Duration::from_mins(30);

/// The parts of a failover, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailoverPart {
    /// From when the node was seen away to the taint.
    Detection,
    /// To the deletion of the pod that has the address.
    Eviction,
    /// To the binding of the next pod.
    Scheduling,
    /// To the claim of the next pod.
    Claim,
    /// To the answer of EC2 that the address is on the new interface.
    Ec2,
    /// To the record of that.
    Record,
    /// To the `True` of the next pod, where the block asks for the node part.
    Programming,
    /// All of it.
    Total,
}

impl FailoverPart {
    /// The parts.
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

    /// The part in one word, for metrics.
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
    /// Since when its node is away.
    away: Instant,
    /// When the part before ended.
    last: Instant,
    /// The part that lasts.
    part: FailoverPart,
}

/// The failovers that last.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FailoverTimers(BTreeMap<IpName, FailoverTimer>);

impl FailoverTimers {
    /// The taint is set on a node that is away since then; these claims are there.
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

    /// EC2 has answered an Assign of this IP.
    pub(super) fn assigned(
        &mut self,
        ip: &IpName,
        now: Instant,
    ) -> Option<(FailoverPart, Duration)> {
        let timer = self.0.get_mut(ip)?;
        (timer.part == FailoverPart::Ec2).then(|| timer.ends(FailoverPart::Record, now))
    }

    /// The parts that have ended by now.
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
            // A record without a call of this process: EC2 had done it before.
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

    /// The IP is gone.
    pub(super) fn forget(&mut self, ip: &IpName) {
        self.0.remove(ip);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl FailoverTimer {
    /// The part that lasts has ended; the next begins.
    fn ends(&mut self, next: FailoverPart, now: Instant) -> (FailoverPart, Duration) {
        let took = (self.part, now.since(self.last));
        (self.part, self.last) = (next, now);
        took
    }

    /// The part that follows, if the one that lasts has ended.
    fn next_part(&self, ip: &Ip, facts: &Facts) -> Option<FailoverPart> {
        use FailoverPart as Part;
        let claim = ip.status.claim.as_ref();
        let next = claim.filter(|claim| claim.uid != self.loser && claim.target().is_some());
        let recorded = next.filter(|claim| claim.recorded());
        let after_record = if facts.programs(ip) {
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
                let ready = |claim: &&Claim| facts.says_attached(&claim.uid);
                recorded.filter(ready).map(|_| Part::Total)
            }
            Part::Detection | Part::Total => None,
        }
    }
}

impl Facts {
    fn programs(&self, ip: &Ip) -> bool {
        let block = ip.status.block.as_ref();
        let spec = block.and_then(|block| self.blocks.get(block)?.spec.as_ref().ok());
        spec.is_some_and(|spec| spec.data_path == DataPath::NodePart)
    }

    /// Is the pod being deleted, or gone?
    fn is_leaving(&self, uid: &PodUid) -> bool {
        let seen = self.pods.get(uid);
        seen.is_none_or(|seen| seen.pod.deleting.is_some())
    }

    /// Is another pod of the IP bound to a node?
    fn has_bound_pod(&self, ip: &Ip, loser: &PodUid) -> bool {
        let pods = self.pods_of.of(&ip.name);
        let mut others = pods.filter(|uid| *uid != loser);
        others.any(|uid| {
            let seen = self.pods.get(uid);
            seen.is_some_and(|seen| seen.pod.deleting.is_none() && seen.pod.node.is_some())
        })
    }

    fn says_attached(&self, uid: &PodUid) -> bool {
        let seen = self.pods.get(uid);
        seen.is_some_and(|seen| seen.pod.says_attached())
    }
}
