//! State Claimed: set the gates of the losers to `False`, call EC2, record the result.
//! Rules: R4.1 to R4.3, R4.28 to R4.30.

use alloc::format;

use super::conditions::{Attachment, Trouble, build};
use super::recorded::other_machine;
use super::refused::{give_up, refused_for_good};
use super::reserve::Unreserved;
use super::trouble::{call_or_report, first_do, foreign, previous_full, unseen};
use super::{Next, Notices, World};
use crate::cloud::Reassign;
use crate::objects::{Claim, ClaimPhase, Pod, Target};
use crate::reason::Reason;
use crate::step::{Call, StatusWrite};

/// The next step of a claim that is not recorded.
pub(crate) fn claimed(
    world: &World<'_>,
    claim: &Claim,
    target: &Target,
    notices: &mut Notices,
) -> Next {
    if let Some(next) = world.close_stale_gates(claim) {
        return next;
    }
    if world.ip.deleting {
        return super::detaching::begin(world, claim, notices);
    }
    // A failover is possible before the address was ever attached.
    super::recorded::unless_lost(world, claim, target, notices, |holder, notices| {
        on_its_way(world, claim, target, holder, notices)
    })
}

/// The next step of a claim whose holder has not lost the address.
fn on_its_way(
    world: &World<'_>,
    claim: &Claim,
    target: &Target,
    holder: &Pod,
    notices: &mut Notices,
) -> Next {
    let edited = match world.edited_while_held(holder, claim, target) {
        // The edit follows at once: the old address is not attached before it.
        Err(Unreserved::Do(wait @ Next::At(_))) => return wait,
        edited => edited,
    };
    match world.trouble_of(edited) {
        Ok((reserved, later)) => {
            to_place(world, claim, target, holder, reserved, notices).no_later_than(&later)
        }
        Err(next) => next,
    }
}

/// Brings the address to its place.
fn to_place(
    world: &World<'_>,
    claim: &Claim,
    target: &Target,
    holder: &Pod,
    reserved: Result<(), Trouble>,
    notices: &mut Notices,
) -> Next {
    if let Some(next) = refused_for_good(world, claim, target, notices) {
        return next;
    }
    let Some(address) = world.ip.status.address else {
        return Next::Idle;
    };
    let location = world.locate(address);
    // An edit that was taken back finds its address in place, and waits for no detach.
    let in_place = location.fresh && location.on.as_ref() == Some(&target.place.interface);
    if !in_place && let Some(next) = world.stale_call() {
        return first_do(world, next, reserved, notices);
    }
    if !location.fresh {
        return unseen(world, reserved, notices);
    }
    // The place does not exist any more: no Record and no call of EC2 for it.
    if other_machine(world, holder, target).is_some() || !there(world, target) {
        return elsewhere(world, claim, holder, target, notices);
    }
    match &location.on {
        Some(on) if on == &target.place.interface && world.explained(address, on) => {
            record(world, claim, target, holder)
        }
        Some(on) if world.explained(address, on) => match world.reassign() {
            // One inventory that shows it on an ENI of another owner is enough to refuse the move.
            Reassign::Allow if world.shown_on_foreign(address) => unseen(world, reserved, notices),
            Reassign::Allow => {
                let call = Call::Assign {
                    interface: target.place.interface.clone(),
                    address,
                    reassign: Reassign::Allow,
                };
                call_or_report(world, call, reserved, notices)
            }
            Reassign::Refuse => {
                let call = Call::Unassign {
                    interface: on.clone(),
                    address,
                };
                call_or_report(world, call, reserved, notices)
            }
        },
        Some(on) if world.may_take_from(address, on) => world
            .claim(holder, target, Some(on))
            .unwrap_or_else(|_| previous_full(world, notices)),
        Some(on) => {
            let trouble = foreign(world, address, on);
            notices.push(world.on_ip(trouble.reason, trouble.message.clone()));
            world.write_conditions(reserved, &Attachment::Kept(trouble))
        }
        None => {
            let call = Call::Assign {
                interface: target.place.interface.clone(),
                address,
                reassign: Reassign::Refuse,
            };
            call_or_report(world, call, reserved, notices)
        }
    }
}

/// True if the ENI of the target is attached to the instance of the target, as far as is known. An ENI that no
/// inventory shows yet can be new.
fn there(world: &World<'_>, target: &Target) -> bool {
    world
        .subnet()
        .and_then(|subnet| subnet.interface(&target.place.interface))
        .is_none_or(|interface| interface.instance.as_ref() == Some(&target.place.instance))
        && world.interface_lives(&target.place.interface)
}

/// The target does not exist any more: claims another ENI of the Node of the holder, if there is one.
pub(crate) fn elsewhere(
    world: &World<'_>,
    claim: &Claim,
    holder: &Pod,
    target: &Target,
    notices: &mut Notices,
) -> Next {
    let node = holder
        .node
        .as_ref()
        .and_then(|name| world.facts.nodes.get(name));
    match node.map(|seen| world.placement_on(&seen.node)) {
        Some(Ok(placement)) if placement.place != target.place => world
            .claim(holder, &placement, None)
            .unwrap_or_else(|_| previous_full(world, notices)),
        _ => {
            // At its old place the address serves no pod, unless the claim goes back to the former holder.
            if left_behind(world, target)
                && let Some(next) = give_up(world, claim, target, Reason::AttachFailed, notices)
            {
                return next;
            }
            // The holder has no place for the address. A rollout can still continue.
            let handover = super::recorded::hand_over(world, claim, holder, notices);
            let handover = world.unless_it_waits(handover);
            if matches!(handover, Next::Do(..)) {
                return handover;
            }
            let trouble = no_place(world, holder, target);
            notices.push(world.on_ip(trouble.reason, trouble.message.clone()));
            let written = world.write_conditions(Ok(()), &Attachment::Kept(trouble));
            written.no_later_than(&handover)
        }
    }
}

/// The Node of the holder has no place for the address.
fn no_place(world: &World<'_>, holder: &Pod, target: &Target) -> Trouble {
    let what = match other_machine(world, holder, target) {
        Some(now) => format!(
            "node {} is instance {now} now, which has no usable interface",
            target.node
        ),
        None => format!(
            "{} is not on instance {} any more, and node {} has no other usable interface",
            target.place.interface, target.place.instance, target.node
        ),
    };
    Trouble::new(
        Reason::NoEligibleNode,
        format!("{what}: attach one in the block's subnet, or let the pod run elsewhere"),
    )
}

/// True if the address is still at a place from before this claim.
fn left_behind(world: &World<'_>, target: &Target) -> bool {
    let Some(address) = world.ip.status.address else {
        return false;
    };
    let on = world.locate(address).on;
    on.is_some_and(|on| on != target.place.interface && world.explained(address, &on))
}

/// The Record: EC2 has confirmed the claim.
fn record(world: &World<'_>, claim: &Claim, target: &Target, holder: &Pod) -> Next {
    let mut status = world.ip.status.clone();
    status.claim = Some(Claim {
        pod: holder.key.clone(),
        uid: claim.uid.clone(),
        id: claim.id,
        phase: ClaimPhase::Recorded(target.clone()),
    });
    // The losers of this claim have `False`, and the claim itself explains its target.
    status.previous.retain(|entry| {
        Some(entry.address) != status.address || entry.interface != target.place.interface
    });
    status.conditions = build(world, &status, Ok(()), &Attachment::There(target));
    world.write_status(StatusWrite::Record, status)
}
