//! Does the other side see the address? The condition `Verified`, where the block has a probe. Nothing waits for it.
//! Rules: R4.41 to R4.44.

use alloc::format;

use super::World;
use super::programming::said_of;
use crate::address::Address;
use crate::names::NodeName;
use crate::objects::{AddressState, Claim, Condition, IpStatus, ProbeOutcome, Target};
use crate::reason::Reason;
use crate::step::Notice;

impl World<'_> {
    /// The condition `Verified` of a recorded claim. Without news of this claim, what was said of it stays: the
    /// condition goes with each claim.
    pub(crate) fn verified_condition(
        &self,
        status: &IpStatus,
        claim: &Claim,
        target: &Target,
    ) -> Option<Condition> {
        if !self.spec().is_some_and(|spec| spec.probe) || !self.asks_for_node_part() {
            return None;
        }
        let before = status.conditions.verified.as_ref();
        let seen = self.facts.node_reports.get(&target.node);
        let said = seen.and_then(|seen| said_of(self, status, claim, seen));
        // Nothing is known while packets do not pass.
        if said.is_some_and(|said| said.state != AddressState::Programmed) {
            return None;
        }
        let found = said.and_then(|said| said.probe.as_ref());
        let condition = match (found, status.address) {
            (Some(found), Some(address)) => {
                self.said_of_outcome(found, address, before, &target.node)
            }
            _ => before?.clone(),
        };
        let generation = self.ip.generation;
        Some(Condition {
            generation,
            ..condition
        })
    }

    fn said_of_outcome(
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
        // A node part that started again has another round trip: that alone is no news.
        if let Some(same) = before.filter(|said| said.status && said.message.starts_with(&sees)) {
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

    /// What is said at the IP when the outcome changes.
    pub(crate) fn verification(&self, claim: &Claim, target: &Target) -> Option<Notice> {
        let status = &self.ip.status;
        let said = self.verified_condition(status, claim, target)?;
        let before = status.conditions.verified.as_ref();
        let same = before
            .is_some_and(|before| (before.status, &before.message) == (said.status, &said.message));
        (!same).then(|| self.on_ip(said.reason, said.message))
    }
}
