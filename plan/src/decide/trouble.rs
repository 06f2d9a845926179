//! Builds the messages about problems: as a condition, an Event, or both.
//! Rules: R1.27, R2.16, R4.23, R4.25, R5.9.

use alloc::format;
use alloc::string::{String, ToString};

use super::conditions::{Attachment, Trouble};
use super::{Next, Notices, World};
use crate::address::Address;
use crate::block::CHECK_ACCOUNT;
use crate::cloud::Reassign;
use crate::facts::{HEALTHY_ATTACH, Immovable, SubnetFacts};
use crate::names::{InterfaceId, SubnetId};
use crate::outcome::{Action, Outcome};
use crate::reason::Reason;
use crate::step::{Call, Notice, Step};

/// The call. While it fails again and again, a condition says why, and it is repeated.
pub(crate) fn call_or_report(
    world: &World<'_>,
    call: Call,
    reserved: Result<(), Trouble>,
    notices: &mut Notices,
) -> Next {
    let Some(trouble) = failing(world, &call) else {
        return Next::call(call);
    };
    notices.push(world.on_ip(trouble.reason, trouble.message.clone()));
    let condition = world.write_conditions(reserved, &Attachment::Kept(trouble));
    match condition {
        Next::Do(..) => condition,
        later => Next::call(call).no_later_than(&later),
    }
}

/// The Event about `next`, if it is a call that fails again and again.
pub(crate) fn failing_call(world: &World<'_>, next: &Next) -> Option<Notice> {
    let Next::Do(Step::Call(call), _) = next else {
        return None;
    };
    let trouble = failing(world, call)?;
    Some(world.on_ip(trouble.reason, trouble.message))
}

/// A step that is needed before the claim can go on. A call that fails again and again, and a wait for an inventory, are
/// reported.
pub(crate) fn first_do(
    world: &World<'_>,
    next: Next,
    reserved: Result<(), Trouble>,
    notices: &mut Notices,
) -> Next {
    match next {
        Next::Do(Step::Call(call), _) => call_or_report(world, call, reserved, notices),
        Next::At(_) => unseen(world, reserved, notices),
        next => next,
    }
}

/// The location of the address is not known: waits for an inventory. If none can come, this is reported.
pub(crate) fn unseen(
    world: &World<'_>,
    reserved: Result<(), Trouble>,
    notices: &mut Notices,
) -> Next {
    let soon = world.soon();
    let Some(trouble) = no_block(world).or_else(|| unserved(world)) else {
        return soon;
    };
    notices.push(world.on_ip(trouble.reason, trouble.message.clone()));
    world
        .write_conditions(reserved, &Attachment::Kept(trouble))
        .or(|| soon)
}

/// The trouble if EC2 serves no inventory.
pub(crate) fn unserved(world: &World<'_>) -> Option<Trouble> {
    let outcome = world.subnet().and_then(SubnetFacts::unserved)?;
    match (outcome, world.spec()) {
        (Outcome::SubnetNotFound, Some(spec)) => Some(unknown_subnet(&spec.subnet)),
        _ => Some(not_served(Action::DescribeInterfaces, outcome)),
    }
}

/// EC2 shows no interface of the subnet, and does not confirm that it exists (R1.27).
fn unknown_subnet(id: &SubnetId) -> Trouble {
    Trouble::new(
        Reason::SubnetNotFound,
        format!(
            "EC2 shows no interface of subnet {id}, and has not confirmed that it exists in this account and region: \
             {CHECK_ACCOUNT}; the block's conditions say more"
        ),
    )
}

/// The trouble if the block is gone or cannot be read: then no inventory of its subnet is taken.
pub(crate) fn no_block(world: &World<'_>) -> Option<Trouble> {
    let message = match world.block.map(|block| (&block.name, &block.spec)) {
        Some((_, Ok(_))) => return None,
        Some((name, Err(why))) => format!(
            "block {name} cannot be read ({why}), so that nothing can be asked of EC2: correct it"
        ),
        None => {
            let name = world.ip.status.block.as_ref();
            format!(
                "block {} is gone, so that nothing can be asked of EC2: create it again",
                name.map_or("", |name| name.as_str())
            )
        }
    };
    Some(Trouble::new(Reason::BlockMissing, message))
}

/// The trouble of an outage of this action.
fn not_served(action: Action, outcome: Outcome) -> Trouble {
    match outcome {
        Outcome::Throttled => throttling(action),
        Outcome::Denied | Outcome::Unauthenticated => {
            Trouble::new(Reason::AccessDenied, not_permitted(action, "", outcome))
        }
        _ => Trouble::new(
            Reason::AttachFailed,
            format!("EC2 does not answer ec2:{action}: it is tried again about every second"),
        ),
    }
}

fn throttling(action: Action) -> Trouble {
    Trouble::new(
        Reason::Throttled,
        format!(
            "EC2 throttles ec2:{action} for this account: one request at a time tries it again, about every second"
        ),
    )
}

/// The Event about throttling, which is posted at once. The condition follows only if throttling lasts.
pub(crate) fn throttled(world: &World<'_>, action: Action) -> Option<Notice> {
    let outage = world.facts.outages.get(&action)?;
    (outage.outcome == Outcome::Throttled).then(|| {
        let trouble = throttling(action);
        world.on_ip(trouble.reason, trouble.message)
    })
}

/// The address is on an ENI that the status does not explain: another owner has it.
pub(crate) fn foreign(world: &World<'_>, address: Address, on: &InterfaceId) -> Trouble {
    if let Some(kept) = world.immovable(address).filter(|kept| kept.on == on) {
        return kept_for_good(address, kept);
    }
    Trouble::new(
        Reason::AddressInUse,
        format!(
            "{address} is on {on}, where Mooring did not assign it: unassign it there, or let Mooring do so with the \
             annotation ip.wgtwo.com/take-from: {on} on this IP"
        ),
    )
}

/// No call can unassign the address from that ENI: it is the primary address, or part of a delegated prefix.
pub(crate) fn kept_for_good(address: Address, kept: Immovable<'_>) -> Trouble {
    let on = kept.on;
    let message = match kept.prefix {
        None => format!(
            "{address} is the primary address of {on}, which EC2 neither moves nor unassigns: choose another address, \
             or delete {on}. An EC2 subnet CIDR reservation prevents AWS from assigning the block's addresses to new \
             interfaces"
        ),
        Some(prefix) => format!(
            "{address} is in prefix {prefix}, which is delegated to {on} as a whole: choose another address, or \
             unassign the prefix from {on}. An EC2 subnet CIDR reservation keeps prefixes out of the block's addresses"
        ),
    };
    Trouble::new(Reason::AddressInUse, message)
}

/// EC2 refuses the address as in use, and no inventory shows it: an account that uses a shared subnet does not see the
/// interfaces of other accounts.
fn in_use_unseen(address: Address) -> Trouble {
    Trouble::new(
        Reason::AddressInUse,
        format!(
            "EC2 says that {address} is in use, and no interface of the subnet that this account sees has it: choose \
             another address, or unassign it where it is. In a shared subnet another account can have it"
        ),
    )
}

/// Why the call is not made or fails, as a condition. Throttling, calls without an answer and what a late Describe
/// explains can end by themselves, and a call that EC2 denied only to other addresses can succeed: these become a
/// condition only after they have lasted for longer than a healthy attach takes.
fn failing(world: &World<'_>, call: &Call) -> Option<Trouble> {
    let action = call.action();
    let failures = &world.memory.failures;
    let outage = world.facts.outages.get(&action);
    let (outcome, message, since) = match (failures.own_call(action), outage) {
        (Some(failed), _) => (failed.outcome, &failed.message, failed.since),
        (None, Some(outage)) => {
            let since = outage.since.max(world.memory.claim_seen);
            (outage.outcome, &outage.message, since)
        }
        (None, None) => return None,
    };
    let alone = failures.own_call(action).is_some();
    let lasts = world.now >= since.plus(HEALTHY_ATTACH);
    let last = failures.call.as_ref();
    let tried = last.is_some_and(|failed| failed.call.action() == action);
    let refused = || {
        let on = call.interface();
        let message = format!("EC2 refused {action} on {on}: {message}");
        Some(Trouble::new(Reason::AttachFailed, message))
    };
    match outcome {
        _ if outcome.is_denial() && !tried && !lasts => None,
        _ if outcome.is_denial() => Some(denied(action, call.interface(), outcome, message)),
        Outcome::Invalid | Outcome::ReservedByAws | Outcome::Primary => refused(),
        _ if !lasts => None,
        Outcome::Unknown if alone => {
            let on = call.interface();
            let message = format!(
                "EC2 does not answer ec2:{action} on {on}, and answers other calls: it is tried again"
            );
            Some(Trouble::new(Reason::AttachFailed, message))
        }
        Outcome::Throttled | Outcome::Unknown => Some(not_served(action, outcome)),
        Outcome::AssignedElsewhere if assigns_unseen(call) => Some(in_use_unseen(call.address())),
        _ => refused(),
    }
}

/// True if the call is made because the address is on no ENI, as far as is known.
const fn assigns_unseen(call: &Call) -> bool {
    matches!(
        call,
        Call::Assign {
            reassign: Reassign::Refuse,
            ..
        }
    )
}

/// EC2 denied the call.
pub(crate) fn denied(
    action: Action,
    interface: &InterfaceId,
    outcome: Outcome,
    message: &str,
) -> Trouble {
    let sentence = not_permitted(action, &format!(" on {interface}"), outcome);
    Trouble::new(Reason::AccessDenied, format!("{sentence} ({message})"))
}

/// EC2 has denied this process nothing, but objects showed a denial when it began to lead.
pub(crate) fn denied_before(action: Action, subnet: &SubnetId) -> Trouble {
    Trouble::new(
        Reason::AccessDenied,
        format!(
            "EC2 denied calls in subnet {subnet} before this replica began to lead: one address tries ec2:{action} \
             first, and its Event names the permission if one is still missing"
        ),
    )
}

/// What EC2 does not permit, and the remedy.
pub(crate) fn not_permitted(action: Action, on: &str, outcome: Outcome) -> String {
    if outcome == Outcome::Unauthenticated {
        return format!(
            "EC2 accepts no credentials of the controller for ec2:{action}{on}: check its role (IRSA or EKS Pod \
             Identity), whether STS can be reached, and the clock of its node"
        );
    }
    // Only these actions can be limited to the interfaces of a subnet.
    let of_subnet = if action.mutates() {
        ", for the subnet of the block,"
    } else {
        ""
    };
    format!(
        "EC2 does not permit ec2:{action}{on}: allow it{of_subnet} in the controller's IAM policy"
    )
}

pub(crate) fn previous_full(world: &World<'_>, notices: &mut Notices) -> Next {
    notices.push(world.on_ip(
        Reason::PreviousFull,
        "status.previous names eight places that may still have the address: it moves again once an inventory shows \
         one of them without it"
            .to_string(),
    ));
    Next::Idle
}
