//! What stands in the way, in words: as a condition, an Event, or both.

use alloc::format;
use alloc::string::ToString;
use core::net::Ipv4Addr;

use super::conditions::{Attachment, Trouble};
use super::{Next, Notices, World};
use crate::classify::{Action, Outcome};
use crate::facts::Immovable;
use crate::names::InterfaceId;
use crate::reason::Reason;
use crate::step::Call;

/// The call. While it keeps being refused, the user sees why, and it is repeated.
pub(crate) fn call_or_say(
    world: &World<'_>,
    call: Call,
    reserved: Result<(), Trouble>,
    notices: &mut Notices,
) -> Next {
    if let Some(trouble) = failing(world) {
        notices.push(world.on_ip(trouble.reason, trouble.message.clone()));
        let said = world.say(reserved, &Attachment::Kept(trouble));
        if matches!(said, Next::Do(..)) {
            return said;
        }
    }
    Next::call(call)
}

/// It is not known where the address is: an inventory is on its way, or EC2 does not permit one, and
/// then the user hears of it. (An EC2 that is merely away is no state of an IP.)
pub(crate) fn unseen(
    world: &World<'_>,
    reserved: Result<(), Trouble>,
    notices: &mut Notices,
) -> Next {
    let soon = world.soon();
    if !world.subnet().is_some_and(|subnet| subnet.denied) {
        return soon;
    }
    let message = format!(
        "EC2 does not permit ec2:{}, so that nobody knows where the address is: allow it in the controller's IAM policy",
        Action::DescribeInterfaces
    );
    notices.push(world.on_ip(Reason::AccessDenied, message.clone()));
    let trouble = Trouble::new(Reason::AccessDenied, message);
    world.say(reserved, &Attachment::Kept(trouble)).or(|| soon)
}

/// Throttling passes by itself: an Event, and no condition.
pub(crate) fn throttled(world: &World<'_>, action: Action) -> Option<crate::step::Notice> {
    let outage = world.facts.outages.get(&action)?;
    (outage.outcome == Outcome::Throttled).then(|| {
        let message = format!(
            "EC2 throttles ec2:{action} for this account: one IP at a time tries it again, about every second"
        );
        world.on_ip(Reason::Throttled, message)
    })
}

/// Somebody else has the address on an interface that our status does not explain.
pub(crate) fn foreign(world: &World<'_>, address: Ipv4Addr, on: &InterfaceId) -> Trouble {
    if let Some(kept) = world.immovable(address).filter(|kept| kept.on == on) {
        return kept_for_good(address, kept);
    }
    Trouble::new(
        Reason::AddressInUse,
        format!(
            "{address} is on {on}, where Mooring did not put it: take it off there, or let Mooring do so with the \
             annotation ip.wgtwo.com/take-from: {on} on this IP"
        ),
    )
}

/// No call of anybody's gets the address off that interface.
pub(crate) fn kept_for_good(address: Ipv4Addr, kept: Immovable<'_>) -> Trouble {
    let on = kept.on;
    let message = match kept.prefix {
        None => format!(
            "{address} is the primary address of {on}, which EC2 neither moves nor takes off: choose another address, \
             or delete {on}. An EC2 subnet CIDR reservation keeps AWS from giving the block's addresses to new interfaces"
        ),
        Some(prefix) => format!(
            "{address} lies in prefix {prefix}, which is delegated to {on} as a whole: choose another address, or take \
             the prefix off {on}. An EC2 subnet CIDR reservation keeps prefixes out of the block's addresses"
        ),
    };
    Trouble::new(Reason::AddressInUse, message)
}

/// What the last refusal was, as a condition. Throttling is an Event only: it is no state.
pub(crate) fn failing(world: &World<'_>) -> Option<Trouble> {
    let failed = world.memory.failures.call.as_ref()?;
    let action = failed.call.action();
    let interface = failed.call.interface();
    let said = &failed.said;
    match failed.outcome {
        Outcome::Denied => Some(denied(action, interface, said)),
        Outcome::Invalid | Outcome::ReservedByAws | Outcome::Primary => Some(Trouble::new(
            Reason::AttachFailed,
            format!("EC2 refused {action} on {interface}: {said}"),
        )),
        _ => None,
    }
}

/// EC2 does not permit it.
pub(crate) fn denied(action: Action, interface: &InterfaceId, said: &str) -> Trouble {
    Trouble::new(
        Reason::AccessDenied,
        format!(
            "EC2 does not permit ec2:{action} on {interface}: allow it in the controller's IAM policy ({said})"
        ),
    )
}

pub(crate) fn previous_full(world: &World<'_>, notices: &mut Notices) -> Next {
    notices.push(world.on_ip(
        Reason::PreviousFull,
        "status.previous names eight places that may still have the address: it moves again once an inventory shows \
         one of them without it"
            .to_string(),
    ));
    Next::Rest
}
