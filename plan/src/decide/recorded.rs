//! State Recorded: checks whether the holder still wants the address, and whether it is still attached.
//! Rules: R3.19, R3.22, R4.8, R4.26, R4.47, R5.9.

use super::choose::Choice;
use super::conditions::Attachment;
use super::holder::{Failover, Holder};
use super::refused::wait_for_permission;
use super::reserve::Unreserved;
use super::trouble::{foreign, no_block, previous_full, unseen, unserved};
use super::unclaimed::announce;
use super::world::on_pod;
use super::{Next, Notices, World};
use crate::names::InstanceId;
use crate::objects::{Claim, Pod, Target};
use crate::reason::Reason;

/// The next step of an IP whose claim is recorded.
pub(crate) fn recorded(
    world: &World<'_>,
    claim: &Claim,
    target: &Target,
    notices: &mut Notices,
) -> Next {
    if world.ip.deleting {
        return super::detaching::begin(world, claim, notices);
    }
    unless_lost(world, claim, target, notices, |holder, notices| {
        kept(world, claim, target, holder, notices)
    })
}

/// The next step for a holder that has not lost the address by failover.
fn kept(
    world: &World<'_>,
    claim: &Claim,
    target: &Target,
    holder: &Pod,
    notices: &mut Notices,
) -> Next {
    if let Some(next) = drifted(world, holder, target, notices) {
        return next;
    }
    let edited = kept_or_edited(world, holder, claim, target);
    let (reserved, later) = match world.trouble_of(edited) {
        Ok(waits) => waits,
        Err(next) => return next,
    };
    if let Err(trouble) = &reserved {
        notices.extend(announce(world, trouble));
    }
    if let Some(next) = world.close_other_gates(Some(claim)) {
        return next;
    }
    notices.extend(world.not_programmed(holder, claim, target));
    notices.extend(world.verification(claim, target));
    world
        .unless_it_waits(world.open_gate(holder, claim))
        .or(|| world.unless_it_waits(hand_over(world, claim, holder, notices)))
        // The annotation was used or was not needed. `previous`, which is not trimmed yet, shows which of the two.
        .or(|| world.unless_it_waits(world.remove_unneeded_take_from()))
        .or(|| world.drop_stale(notices))
        .or(|| world.release_unannotated(Some(claim)))
        .or(|| world.write_conditions(reserved, &Attachment::There(target)))
        .or(|| world.waits_for_node(claim).unwrap_or(Next::Idle))
        .no_later_than(&later)
}

/// Repairs the reservation, and carries out an edit of the address.
fn kept_or_edited(
    world: &World<'_>,
    holder: &Pod,
    claim: &Claim,
    target: &Target,
) -> Result<(), Unreserved> {
    if let Some(address) = world.ip.status.address {
        world.ensure_reserved(address)?;
    }
    world.edited_while_held(holder, claim, target)
}

/// The handover to a pod of a newer revision from a live holder.
pub(crate) fn hand_over(
    world: &World<'_>,
    claim: &Claim,
    holder: &Pod,
    notices: &mut Notices,
) -> Next {
    // If the holder is being deleted, failover has already added these notices.
    let mut ignored = Notices::new();
    let notices = match holder.deleting {
        None => notices,
        Some(_) => &mut ignored,
    };
    let candidates = world.candidates(Some(claim), notices);
    let choice = world.successor(holder, candidates, notices);
    if let Choice::Take(candidate) = &choice
        && let Some(wait) = wait_for_permission(world, claim, candidate, notices)
    {
        return wait;
    }
    take_over(world, choice, notices)
}

/// Runs `otherwise` unless the holder has lost the address, or the finalizer is missing. A failover from a holder that is
/// being deleted is checked first: a step that is refused again and again must not block it (R3.22).
pub(crate) fn unless_lost<'a>(
    world: &World<'a>,
    claim: &Claim,
    target: &Target,
    notices: &mut Notices,
    otherwise: impl FnOnce(&'a Pod, &mut Notices) -> Next,
) -> Next {
    let (holder, put_back) = match world.holder(claim) {
        Holder::Ask(next) => return next,
        Holder::Keeps(pod) => (pod, Next::Idle),
        Holder::Unlabelled(pod, put_back) => match world.unless_it_waits(put_back) {
            step @ Next::Do(..) => return step,
            later => (pod, later),
        },
        Holder::Gone | Holder::Ended | Holder::NotRequested => {
            return succeed_or_detach(world, claim, notices);
        }
    };
    let lost = match holder.deleting {
        None => Next::Idle,
        Some(_) => world.unless_it_waits(fail_over(world, claim, target, holder, notices)),
    };
    lost.or(|| world.unless_it_waits(world.add_finalizer()))
        .or(|| otherwise(holder, notices))
        .no_later_than(&put_back)
}

/// The move to a candidate, if the holder has lost the address by failover.
fn fail_over(
    world: &World<'_>,
    claim: &Claim,
    target: &Target,
    holder: &Pod,
    notices: &mut Notices,
) -> Next {
    let candidates = world.candidates(Some(claim), notices);
    if candidates.is_empty() {
        if world
            .facts
            .nodes
            .get(&target.node)
            .is_none_or(|seen| !seen.node.ready)
        {
            notices.push(on_pod(
                holder,
                Reason::NoEligibleNode,
                alloc::format!(
                    "node {} is away and the pod is being deleted: the address waits for the next pod. A StatefulSet's \
                     pod is replaced once the Node is deleted, or tainted node.kubernetes.io/out-of-service. Make sure \
                     first that the machine is off: otherwise the old pod can still run there",
                    target.node
                ),
            ));
        }
        return Next::Idle;
    }
    match world.lost(holder, target) {
        Failover::No => Next::Idle,
        Failover::Ask(next) => next,
        Failover::Yes => {
            let choice = world.choose(candidates, notices);
            take_over(world, choice, notices)
        }
    }
}

/// The holder does not hold the address any more (quorum read of this round): claims it for the next pod, or detaches
/// it.
fn succeed_or_detach(world: &World<'_>, claim: &Claim, notices: &mut Notices) -> Next {
    let candidates = world.candidates(Some(claim), notices);
    if !candidates.is_empty() {
        match world.choose(candidates, notices) {
            Choice::None(next @ Next::Do(..)) => return next,
            Choice::None(_) => {}
            take @ Choice::Take(_) => {
                let next = take_over(world, take, notices);
                // No pod has the address, so the IP says too what the next pod waits for.
                return match next {
                    Next::At(_) => unseen(world, Ok(()), notices),
                    step => step,
                };
            }
        }
    }
    if let Some(wait) = world.held_by_brake() {
        return wait;
    }
    super::detaching::begin(world, claim, notices)
}

/// The machine that the Node of the holder is now, if it is not the one in the claim. A holder that is being deleted is
/// handled by failover.
pub(crate) fn other_machine<'a>(
    world: &World<'a>,
    holder: &Pod,
    target: &Target,
) -> Option<&'a InstanceId> {
    if holder.deleting.is_some() {
        return None;
    }
    let seen = world.facts.nodes.get(holder.node.as_ref()?)?;
    let machine = seen.node.instance.as_ref()?;
    (machine != &target.place.instance).then_some(machine)
}

/// Repairs drift: two agreeing inventories show the address elsewhere, nowhere, or its ENI on another instance; or the
/// Node of the holder is another machine now.
fn drifted(
    world: &World<'_>,
    holder: &Pod,
    target: &Target,
    notices: &mut Notices,
) -> Option<Next> {
    let address = world.ip.status.address?;
    let location = world.locate(address);
    let node = holder
        .node
        .as_ref()
        .and_then(|name| world.facts.nodes.get(name));
    let other_machine = other_machine(world, holder, target).is_some();
    let displaced = location.agreed()
        && (location.on.as_ref() != Some(&target.place.interface)
            || world.kept_by(address, &target.place.interface)
            || location.instance.as_ref() != Some(&target.place.instance));
    // Only inventories that both began after the Record contradict it. A process that has just begun to lead does not
    // know when the Record was.
    let provable = world.facts.provable_after();
    let after_record = location
        .agreed_since
        .is_some_and(|since| since >= world.memory.claim_seen && since > provable);
    if !(other_machine || displaced && after_record) {
        return None;
    }
    if !location.fresh {
        return Some(world.soon());
    }
    let placement = node.and_then(|seen| world.placement_on(&seen.node).ok());
    if let Some(on) = location
        .on
        .as_ref()
        .filter(|on| !world.explained(address, on))
    {
        let trouble = foreign(world, address, on);
        notices.push(world.on_ip(trouble.reason, trouble.message));
    } else {
        notices.push(world.on_ip(
            Reason::DriftRepaired,
            alloc::format!(
                "{address} was not on {} where it should be: it is being restored",
                target.place.interface
            ),
        ));
    }
    // Without a usable interface the claim names the same target and is not recorded, so that the gate becomes `False`
    // (R4.8; promise `drift::without_another_interface_a_deleted_one_is_reported`).
    let to = placement.as_ref().unwrap_or(target);
    let next = world.claim(holder, to, None);
    Some(next.unwrap_or_else(|_| previous_full(world, notices)))
}

/// Claims the address for the chosen pod. Without a fresh location there is no claim: the pod gets the reason.
fn take_over(world: &World<'_>, choice: Choice<'_>, notices: &mut Notices) -> Next {
    let candidate = match choice {
        Choice::Take(candidate) => candidate,
        Choice::None(next) => return next,
    };
    let Some(address) = world.ip.status.address else {
        return Next::Idle;
    };
    if !world.locate(address).fresh {
        if let Some(trouble) = no_block(world).or_else(|| unserved(world)) {
            notices.push(on_pod(candidate.pod, trouble.reason, trouble.message));
        }
        return world.soon();
    }
    world
        .claim(candidate.pod, &candidate.placement, None)
        .unwrap_or_else(|_| previous_full(world, notices))
}
