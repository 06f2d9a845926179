//! The cases in which a holder may lose the address, each with its required read.

use std::time::Duration;

use mooring_plan::objects::{Claim, ClaimPhase, Ip, IpStatus, Pod};
use mooring_plan::step::StatusWrite;
use mooring_plan::time::Instant;
use mooring_world::queries::is_well;

use super::Sim;

/// Maximum age of a quorum read for a destructive step.
const READ_FRESH: Duration = Duration::from_secs(5);

fn recently(since: Option<&Instant>, now: Instant) -> bool {
    since.is_some_and(|since| now.since(*since) <= READ_FRESH)
}

impl Sim {
    /// Checks a status write that takes the address from a pod: by a rollout, by failover, or because the pod is gone,
    /// ended or not annotated.
    pub fn check_loss(&self, controller: usize, before: &Ip, what: StatusWrite, after: &IpStatus) {
        let Some(claim) = &before.status.claim else {
            return;
        };
        let same = |next: &Claim| next.uid == claim.uid && next.phase != ClaimPhase::Detaching;
        let keeps = after.claim.as_ref().is_some_and(same);
        if keeps || claim.phase == ClaimPhase::Detaching || before.deleting {
            return;
        }
        // EC2 refused the target, so the pod never had the address there.
        if what == StatusWrite::Revert || after.refused != before.status.refused {
            return;
        }
        let pod = self.kube.pod(&claim.pod, &claim.uid);
        let living = pod.filter(|pod| pod.annotated && !pod.ended);
        let winner = after.claim.as_ref();
        let winner = winner.and_then(|next| self.kube.pod(&next.pod, &next.uid));
        let Some(living) = living else {
            // A rollout that was decided before the watch showed the removal of the annotation: it needs no read of the
            // holder.
            let runs = pod.filter(|pod| !pod.ended);
            if !runs
                .zip(winner)
                .is_some_and(|(pod, winner)| self.rolled_out(pod, winner))
            {
                self.expect_read(controller, before, claim);
            }
            return;
        };
        let Some(next) = after.claim.as_ref().filter(|next| next.uid != claim.uid) else {
            panic!(
                "{} runs and loses it without a successor\n{}",
                claim.pod,
                self.story()
            );
        };
        if winner.is_some_and(|winner| self.rolled_out(living, winner)) {
            return;
        }
        // The winner was deleted, or a revision changed, after the read.
        let outrun = winner.is_none() || recently(self.rules.sets.as_ref(), self.now);
        if living.deleting.is_some() && self.away(claim) && !outrun {
            self.expect_read(controller, before, claim);
            return;
        }
        let (loser, winner) = (&claim.pod, &next.pod);
        assert!(
            outrun,
            "{loser} lives and loses it to {winner}\n{}",
            self.story()
        );
    }

    /// The holder was read since the last write, and recently.
    fn expect_read(&self, controller: usize, ip: &Ip, claim: &Claim) {
        let read = self.rules.reads.get(&(controller, claim.pod.clone()));
        let written = self.rules.written.get(&(controller, ip.name.clone()));
        let fresh = recently(read, self.now) && written.is_none_or(|written| read >= Some(written));
        assert!(fresh, "{} loses it unread\n{}", claim.pod, self.story());
    }

    fn rolled_out(&self, loser: &Pod, winner: &Pod) -> bool {
        winner.ready_to_take_over() && self.kube.is_newer(winner, loser)
    }

    /// True if the machine of this claim is, or was shortly before, gone or unreachable.
    fn away(&self, claim: &Claim) -> bool {
        let Some(target) = claim.target() else {
            return false;
        };
        let node = self.kube.nodes.get(&target.node);
        let here = node.is_some_and(|node| {
            let same = node.instance.as_ref() == Some(&target.place.instance);
            same && is_well(node)
        });
        !here || recently(self.rules.nodes.get(&target.node), self.now)
    }
}
