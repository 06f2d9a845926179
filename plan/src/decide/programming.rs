//! Whether the node passes packets between the ENI and the pod. If the block uses the node part, the gate and `Ready`
//! wait until the node part reports this claim as programmed.
//! Rules: R4.36 to R4.40, R4.45.

use alloc::format;
use alloc::string::String;
use alloc::vec;

use super::world::on_pod;
use super::{Next, Notices, World};
use crate::facts::{HEALTHY_ATTACH, NodeReportSeen};
use crate::objects::{AddressReport, AddressState, Claim, Condition, IpStatus, Pod, Target};
use crate::reason::Reason;
use crate::time::Instant;

/// The state of the node part for a recorded claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Programming {
    /// The block does not use the node part.
    NotAsked,
    /// The node part has programmed the address for this claim.
    Programmed,
    /// The node part has not reported this claim. The message says what can be wrong; it changes at that time, if
    /// nothing is reported before.
    Unreported(String, Option<Instant>),
    /// The node part reports a problem, or the node was rebooted since its report.
    Failing(Reason, String),
}

impl World<'_> {
    /// What the node part of the target reports about this claim.
    pub(crate) fn programming(&self, claim: &Claim, target: &Target) -> Programming {
        self.programming_of(&self.ip.status, claim, target)
    }

    fn programming_of(&self, status: &IpStatus, claim: &Claim, target: &Target) -> Programming {
        if !self.facts.asks_for_node_part(self.ip) {
            return Programming::NotAsked;
        }
        let node = &target.node;
        let Some(seen) = self.facts.node_reports.get(node) else {
            let why = format!(
                "the node part of node {node} has never reported: check that the DaemonSet mooring-node runs there"
            );
            return Programming::Unreported(why, None);
        };
        if self.facts.is_of_another_boot(seen) {
            let why = format!(
                "node {node} was rebooted, and its node part has not reported since: check the pod of the DaemonSet \
                 mooring-node there"
            );
            return Programming::Failing(Reason::NotProgrammed, why);
        }
        let failing =
            |reason, why: &String| Programming::Failing(reason, format!("node {node}: {why}"));
        match report_of(self, status, claim, seen).map(|entry| &entry.state) {
            Some(AddressState::Programmed) => Programming::Programmed,
            Some(AddressState::NotProgrammed(why)) => failing(Reason::NotProgrammed, why),
            Some(AddressState::Unsupported(why)) => failing(Reason::UnsupportedDataPath, why),
            None => self.unreported(target, seen),
        }
    }

    fn unreported(&self, target: &Target, seen: &NodeReportSeen) -> Programming {
        let (node, version) = (&target.node, &seen.report.version);
        if self.now >= seen.away_at() {
            let why = format!(
                "the node part of node {node} does not report any more: check the pod of the DaemonSet mooring-node \
                 there"
            );
            return Programming::Unreported(why, None);
        }
        let ours = env!("CARGO_PKG_VERSION");
        let why = if version == ours {
            format!("the node part of node {node} has not programmed it yet")
        } else {
            format!(
                "the node part of node {node} (version {version}, the controller has {ours}) has not programmed it \
                 yet: if it stays so, update the DaemonSet mooring-node"
            )
        };
        Programming::Unreported(why, Some(seen.away_at()))
    }

    /// None if the pod need not wait for the node part. Otherwise when to decide again for a pod whose address is
    /// attached and not programmed.
    pub(crate) fn waits_for_node(&self, claim: &Claim) -> Option<Next> {
        let target = claim.target().filter(|_| claim.recorded())?;
        match self.programming(claim, target) {
            Programming::NotAsked | Programming::Programmed => None,
            Programming::Failing(..) | Programming::Unreported(_, None) => Some(Next::Idle),
            Programming::Unreported(_, Some(at)) => Some(Next::At(at)),
        }
    }

    /// The notices for a node that does not pass packets: at once if the gate of the pod was `True` and the node part
    /// reports a problem, otherwise after the pod has waited for longer than a healthy attach takes.
    pub(crate) fn not_programmed(&self, holder: &Pod, claim: &Claim, target: &Target) -> Notices {
        let (reason, why, failing) = match self.programming(claim, target) {
            Programming::NotAsked | Programming::Programmed => return Notices::new(),
            Programming::Unreported(why, _) => (Reason::NotProgrammed, why, false),
            Programming::Failing(reason, why) => (reason, why, true),
        };
        let lasts = self.now >= self.memory.claim_seen.plus(HEALTHY_ATTACH);
        let due = if holder.reports_attached() {
            failing
        } else {
            lasts
        };
        if !due {
            return Notices::new();
        }
        vec![self.on_ip(reason, why.clone()), on_pod(holder, reason, why)]
    }

    /// The condition `Programmed` of a recorded claim, and whether `Ready` can be `True`. A claim that was programmed
    /// stays programmed until the node part reports a problem. A pod that was ready before its block used the node
    /// part, or whose node part is away, stays ready.
    pub(crate) fn programmed_condition(
        &self,
        status: &IpStatus,
        claim: &Claim,
        target: &Target,
    ) -> Option<(Condition, bool)> {
        let generation = self.ip.generation;
        let condition = |status, reason, message| Condition {
            status,
            reason,
            message,
            generation,
        };
        let done = || {
            let message = format!(
                "node {} passes packets between the interface and pod {}",
                target.node, claim.pod
            );
            Some((condition(true, Reason::Programmed, message), true))
        };
        match self.programming_of(status, claim, target) {
            Programming::NotAsked => None,
            Programming::Programmed => done(),
            Programming::Failing(reason, why) => Some((condition(false, reason, why), false)),
            Programming::Unreported(why, _) => {
                // Each new claim removes the condition, so an existing one belongs to this claim.
                let before = status.conditions.programmed.as_ref();
                if before.is_some_and(|before| before.status) {
                    return done();
                }
                let holder = self.pod(&claim.uid);
                let ready = holder.is_some_and(|seen| seen.pod.reports_attached());
                Some((condition(false, Reason::NotProgrammed, why), ready))
            }
        }
    }
}

/// The report of a node part about this claim. A report about an earlier claim, another pod or another address does
/// not count.
pub(super) fn report_of<'a>(
    world: &World<'_>,
    status: &IpStatus,
    claim: &Claim,
    seen: &'a NodeReportSeen,
) -> Option<&'a AddressReport> {
    let entry = seen.report.addresses.get(&world.ip.name)?;
    let same =
        entry.claim == claim.id && entry.pod == claim.uid && Some(entry.address) == status.address;
    same.then_some(entry)
}
