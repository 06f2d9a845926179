//! The condition `Verified`, for blocks with a probe: whether the target of the probe sees the address as source. No
//! decision waits for it.
//! Rules: R4.41 to R4.44.

use alloc::format;

use super::World;
use super::programming::report_of;
use crate::address::Address;
use crate::names::NodeName;
use crate::objects::{AddressState, Claim, Condition, IpStatus, ProbeOutcome, Target};
use crate::reason::Reason;
use crate::step::Notice;

impl World<'_> {
    /// The condition `Verified` of a recorded claim. Without a new report about this claim it does not change. Each new
    /// claim removes it.
    pub(crate) fn verified_condition(
        &self,
        status: &IpStatus,
        claim: &Claim,
        target: &Target,
    ) -> Option<Condition> {
        let probes = self.spec().is_some_and(|spec| spec.probe);
        if !probes || !self.facts.asks_for_node_part(self.ip) {
            return None;
        }
        let before = status.conditions.verified.as_ref();
        let seen = self.facts.node_reports.get(&target.node);
        let report = seen.and_then(|seen| report_of(self, status, claim, seen));
        // While packets do not pass, nothing is verified.
        let rebooted = seen.is_some_and(|seen| self.facts.is_of_another_boot(seen));
        if rebooted || report.is_some_and(|report| report.state != AddressState::Programmed) {
            return None;
        }
        let found = report.and_then(|report| report.probe.as_ref());
        let condition = match (found, status.address) {
            (Some(found), Some(address)) => {
                self.condition_of_outcome(found, address, before, &target.node)
            }
            _ => before?.clone(),
        };
        let generation = self.ip.generation;
        Some(Condition {
            generation,
            ..condition
        })
    }

    fn condition_of_outcome(
        &self,
        found: &ProbeOutcome,
        address: Address,
        before: Option<&Condition>,
        node: &NodeName,
    ) -> Condition {
        let generation = self.ip.generation;
        if found.observed != Some(address) {
            return Condition {
                status: false,
                reason: Reason::NotVerified,
                message: format!("node {node}: {}", found.message),
                generation,
            };
        }
        let sees = format!("{} sees {address}", found.target);
        // After a restart the node part reports another round trip time: that alone does not change the condition.
        if let Some(same) = before.filter(|known| known.status && known.message.starts_with(&sees))
        {
            return same.clone();
        }
        Condition {
            status: true,
            reason: Reason::Verified,
            message: match found.round_trip {
                Some(time) => format!("{sees} (round trip {time} ms)"),
                None => sees,
            },
            generation,
        }
    }

    /// The Event of the IP when the outcome changes.
    pub(crate) fn verification(&self, claim: &Claim, target: &Target) -> Option<Notice> {
        let status = &self.ip.status;
        let condition = self.verified_condition(status, claim, target)?;
        let before = status.conditions.verified.as_ref();
        let same = before.is_some_and(|before| {
            (before.status, &before.message) == (condition.status, &condition.message)
        });
        (!same).then(|| self.on_ip(condition.reason, condition.message))
    }
}
