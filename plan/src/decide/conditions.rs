//! The conditions of an IP. They are functions of the state, so that nothing is written while nothing changes.
//! Rules: R3.32, R4.37.

use alloc::format;
use alloc::string::{String, ToString};

use super::{Next, World};
use crate::facts::{HEALTHY_ATTACH, PodSeen};
use crate::objects::{Condition, Conditions, IpStatus, Target};
use crate::reason::Reason;
use crate::step::StatusWrite;

/// A problem that prevents the next step: its reason, and a message that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) reason: Reason,
    pub(crate) message: String,
}

impl Trouble {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}

/// The state of the attachment, for the condition `Attached`.
pub(crate) enum Attachment<'a> {
    /// No pod asks for it.
    Unclaimed,
    /// A pod asks for it or holds it, but it cannot be attached.
    Kept(Trouble),
    /// Claimed, and not attached to the target yet.
    Coming(&'a Target),
    /// Attached to the target.
    There(&'a Target),
    /// Being detached.
    Leaving,
}

/// The conditions of a claim that is not attached yet.
pub(crate) fn claimed(world: &World<'_>, status: &IpStatus, target: &Target) -> Conditions {
    build(world, status, Ok(()), &Attachment::Coming(target))
}

/// All conditions for this status.
pub(crate) fn build(
    world: &World<'_>,
    status: &IpStatus,
    reserved: Result<(), Trouble>,
    attachment: &Attachment<'_>,
) -> Conditions {
    let generation = world.ip.generation;
    let condition = |status, reason, message: String| {
        Some(Condition {
            status,
            reason,
            message,
            generation,
        })
    };
    let name = &world.ip.name;
    let address = status
        .address
        .map_or_else(|| "no address".to_string(), |address| address.to_string());
    let holder = status
        .claim
        .as_ref()
        .map_or_else(String::new, |claim| claim.pod.to_string());
    let block = status.block.as_ref().map_or("", |block| block.as_str());
    let attached = match attachment {
        Attachment::Unclaimed => (
            false,
            Reason::Unclaimed,
            world.asking().unwrap_or_else(|| {
                format!("no pod asks for it: annotate one with ip.wgtwo.com/ip: {name}")
            }),
        ),
        Attachment::Kept(trouble) => (false, trouble.reason, trouble.message.clone()),
        Attachment::Coming(target) => (
            false,
            Reason::Claimed,
            format!(
                "{address} goes to {} of node {} for pod {holder}",
                target.place.interface, target.node
            ),
        ),
        Attachment::There(target) => (
            true,
            Reason::Attached,
            format!(
                "{address} is on {} of node {} for pod {holder}",
                target.place.interface, target.node
            ),
        ),
        Attachment::Leaving => (
            false,
            Reason::Detaching,
            format!("{address} is being unassigned; pod {holder} had it"),
        ),
    };
    let reserved = match reserved {
        Ok(()) => (
            true,
            Reason::Reserved,
            format!("{address} of block {block} is reserved for this IP"),
        ),
        Err(trouble) => (false, trouble.reason, trouble.message),
    };
    let programmed = match (attachment, &status.claim) {
        (Attachment::There(target), Some(claim)) => {
            world.programmed_condition(status, claim, target)
        }
        _ => None,
    };
    let verified = match (attachment, &status.claim) {
        (Attachment::There(target), Some(claim)) => world.verified_condition(status, claim, target),
        _ => None,
    };
    let passes = programmed.as_ref().is_none_or(|(_, ready)| *ready);
    let well = reserved.0 && (attached.0 && passes || matches!(attachment, Attachment::Unclaimed));
    let ready = if well {
        (
            true,
            Reason::Ready,
            if attached.0 {
                attached.2.clone()
            } else {
                reserved.2.clone()
            },
        )
    } else {
        let (reason, message) = match (&programmed, reserved.0) {
            (_, false) => (reserved.1, &reserved.2),
            (Some((condition, false)), true) => (condition.reason, &condition.message),
            _ => (attached.1, &attached.2),
        };
        (false, reason, message.clone())
    };
    Conditions {
        reserved: condition(reserved.0, reserved.1, reserved.2),
        attached: condition(attached.0, attached.1, attached.2),
        programmed: programmed.map(|(condition, _)| condition),
        verified,
        ready: condition(ready.0, ready.1, ready.2),
    }
}

impl World<'_> {
    /// A message about a pod that asks for an IP without a holder; None until it has waited for longer than a healthy
    /// attach takes.
    fn asking(&self) -> Option<String> {
        let waits = |seen: &&PodSeen| {
            let pod = &seen.pod;
            let asks = pod.annotated && pod.ip.as_ref() == Some(&self.ip.uid);
            let wants = asks && !pod.ended && pod.deleting.is_none();
            wants && self.now >= seen.seen.plus(HEALTHY_ATTACH)
        };
        let pod = &self.pods().find(waits)?.pod;
        Some(if pod.node.is_none() {
            format!("pod {} asks for it and is not scheduled yet", pod.key)
        } else {
            format!(
                "pod {} asks for it and waits: its condition ip.wgtwo.com/attached says why",
                pod.key
            )
        })
    }

    /// Writes the conditions if they changed, and removes places that are proven empty from `previous`.
    pub(crate) fn write_conditions(
        &self,
        reserved: Result<(), Trouble>,
        attachment: &Attachment<'_>,
    ) -> Next {
        let conditions = build(self, &self.ip.status, reserved, attachment);
        let previous = self.previous_needed();
        let status = &self.ip.status;
        let mac = self.mac_needed(status);
        let same_mac = mac == status.mac || !self.facts.asks_for_node_part(self.ip);
        if conditions == status.conditions && previous == status.previous && same_mac {
            return Next::Idle;
        }
        let status = IpStatus {
            previous,
            conditions,
            ..status.clone()
        };
        // Nothing depends on this write: what is decided after it does not wait with it (R5.34).
        self.unless_it_waits(self.write_status(StatusWrite::Conditions, status))
    }
}
