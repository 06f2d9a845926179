//! A target that EC2 refused for good.
//! Rules: R5.3 to R5.5, R5.7, R5.8, R5.32.

use alloc::format;
use alloc::string::String;

use super::choose::Candidate;
use super::conditions::{Attachment, Trouble, build};
use super::holder::Failover;
use super::trouble::{denied, denied_before, previous_full};
use super::world::on_pod;
use super::{Next, Notices, World, conditions};
use crate::address::Address;
use crate::cloud::Reassign;
use crate::facts::SubnetFacts;
use crate::names::{InterfaceId, InterfaceRef};
use crate::objects::{Claim, ClaimPhase, IpStatus, Pod, Previous, Refused, Target};
use crate::outcome::{Action, Outcome};
use crate::reason::Reason;
use crate::step::{Call, Read, StatusWrite};
use crate::time::Instant;

/// EC2 refused this target for good: the claim goes back to the former holder if it still wants the address; otherwise
/// the address becomes free.
pub(crate) fn refused_for_good(
    world: &World<'_>,
    claim: &Claim,
    target: &Target,
    notices: &mut Notices,
) -> Option<Next> {
    let address = world.ip.status.address?;
    let failed = world.memory.failures.call.as_ref();
    let (reason, at, message) = match failed.map(|failed| (failed, &failed.call, failed.outcome)) {
        Some((failed, Call::Assign { interface: on, .. }, outcome))
            if outcome.is_for_good() && on == &target.place.interface =>
        {
            let reason = if outcome == Outcome::NoRoom {
                Reason::NodeFull
            } else {
                Reason::AttachFailed
            };
            let message = &failed.message;
            (
                reason,
                failed.at,
                format!("EC2 refused {on} for {address}: {message}"),
            )
        }
        Some((failed, call, outcome)) if outcome.is_denial() => {
            let trouble = denied(call.action(), call.interface(), outcome, &failed.message);
            (trouble.reason, failed.at, trouble.message)
        }
        _ => denied_to_all(world, address, target)?,
    };
    notices.push(world.on_ip(reason, message));
    let before = before(world, claim);
    let seen = world
        .subnet()
        .and_then(SubnetFacts::inventory)
        .map(|inventory| inventory.begun);
    let location = world.locate(address);
    if reason == Reason::AccessDenied {
        // Only an inventory that began after the denial proves that the address never left the old ENI.
        let still = before.is_some_and(|entry| location.on.as_ref() == Some(&entry.interface));
        if !(still && location.fresh && seen.is_some_and(|begun| begun > at)) {
            return None;
        }
    }
    give_up(world, claim, target, reason, notices)
}

/// EC2 denies the first call of this move, and another address has the turn to try. The former holder must not stay
/// without its address until then.
fn denied_to_all(
    world: &World<'_>,
    address: Address,
    target: &Target,
) -> Option<(Reason, Instant, String)> {
    let on = world.locate(address).on?;
    if on == target.place.interface || !world.explained(address, &on) {
        return None;
    }
    let (trouble, since, _) = turn_of_another(world, &on)?;
    Some((trouble.reason, since, trouble.message))
}

/// The outage by denial of the first call of a move from this ENI: the trouble, since when it lasts, and when this IP
/// may try.
fn turn_of_another(world: &World<'_>, from: &InterfaceId) -> Option<(Trouble, Instant, Instant)> {
    let action = world.reassign().first_of_a_move();
    let due = world.outage_until(action)?;
    let outage = world.facts.outages.get(&action)?;
    outage.outcome.is_denial().then(|| {
        let trouble = denied(action, from, outage.outcome, &outage.message);
        (trouble, outage.since, due)
    })
}

/// EC2 denies this action in the subnet of the block. What would leave the address nowhere, or its holder not ready
/// until EC2 permits the action again, is not begun: the trouble, and when to try if no other address does.
fn denied_lately(world: &World<'_>, action: Action, on: &InterfaceId) -> Option<(Trouble, Next)> {
    let subnet = &world.spec()?.subnet;
    let denial = world.facts.denial(action, subnet)?;
    let wait = if denial.due > world.now {
        Next::At(denial.due)
    } else if world.facts.another_tries(action, subnet, &world.ip.name) {
        Next::Idle
    } else {
        return None;
    };
    let trouble = match &denial.answer {
        Some((outcome, message)) => denied(action, on, *outcome, message),
        None => denied_before(action, subnet),
    };
    Some((trouble, wait))
}

/// As [`denied_lately`], of both calls of an edit of an attached address. Its claim cannot go back.
pub(crate) fn denied_edit(world: &World<'_>, target: &Target) -> Option<(Trouble, Next)> {
    let on = &target.place.interface;
    let mut both = [Action::Unassign, Action::Assign].into_iter();
    both.find_map(|action| denied_lately(world, action, on))
}

/// When a move from a live holder may be claimed for this pod; None: now.
pub(crate) fn wait_for_permission(
    world: &World<'_>,
    claim: &Claim,
    candidate: &Candidate<'_>,
    notices: &mut Notices,
) -> Option<Next> {
    let from = &claim.target()?.place.interface;
    let to = &candidate.placement.place.interface;
    if from == to {
        return None;
    }
    // Between its two calls the address is nowhere, and it cannot go back without an Assign.
    let nowhere = || {
        let two_calls = claim.recorded() && world.reassign() == Reassign::Refuse;
        denied_lately(world, Action::Assign, to).filter(|_| two_calls)
    };
    let turn = turn_of_another(world, from).map(|(trouble, _, due)| (trouble, Next::At(due)));
    let (trouble, wait) = turn.or_else(nowhere)?;
    notices.push(on_pod(candidate.pod, trouble.reason, trouble.message));
    Some(wait)
}

/// The latest place where another pod had the address and that EC2 has not refused lately.
fn before<'a>(world: &World<'a>, claim: &Claim) -> Option<&'a Previous> {
    world.ip.status.previous.iter().rev().find(|entry| {
        Some(entry.address) == world.ip.status.address
            && !world.refused_lately(&entry.interface)
            && entry
                .holder
                .as_ref()
                .is_some_and(|(_, uid)| uid != &claim.uid)
    })
}

/// The address cannot go to this target: back to the former holder if it still wants it, otherwise it becomes free.
pub(crate) fn give_up(
    world: &World<'_>,
    claim: &Claim,
    target: &Target,
    reason: Reason,
    notices: &mut Notices,
) -> Option<Next> {
    let address = world.ip.status.address?;
    let location = world.locate(address);
    let mut status = world.ip.status.clone();
    status.refused = Some(Refused {
        pod: claim.uid.clone(),
        interface: target.place.interface.clone(),
        reason,
    });
    if let Some((entry, (key, uid))) =
        before(world, claim).and_then(|entry| Some((entry, entry.holder.as_ref()?)))
    {
        let Some(read) = world.read_pod(key) else {
            return Some(Next::read(Read::Pod(key.clone())));
        };
        let former = read.filter(|pod| &pod.uid == uid && pod.annotated && !pod.ended);
        let back = former.and_then(|pod| Some((pod, place_before(pod, entry)?)));
        // On a lost node the address serves no pod, and the failover would begin again at once.
        let stays = |pod: &Pod, back: &Target| matches!(world.lost(pod, back), Failover::No);
        if let Some((pod, back)) = back.filter(|(pod, back)| stays(pod, back)) {
            let refused = super::places::entry_of(claim, target, entry.address);
            return Some(return_address(world, status, pod, &back, entry, refused));
        }
    }
    if reason == Reason::AccessDenied {
        return None;
    }
    if !location.fresh {
        return Some(world.soon());
    }
    // If it was on an ENI before, one inventory that does not show it proves nothing.
    let before = &world.ip.status.previous;
    let never_there = location.on.is_none() && before.iter().all(|entry| entry.address != address);
    if !never_there {
        return Some(super::detaching::begin_with(world, claim, status, notices));
    }
    status.claim = None;
    let Ok(previous) = world.make_room(world.previous_with_present()) else {
        return Some(previous_full(world, notices));
    };
    status.previous = previous;
    status.conditions = build(world, &status, Ok(()), &Attachment::Unclaimed);
    Some(world.write_status(StatusWrite::Clear, status))
}

/// The place where this pod had the address before.
fn place_before(pod: &Pod, entry: &Previous) -> Option<Target> {
    let place = InterfaceRef {
        interface: entry.interface.clone(),
        instance: entry.instance.clone()?,
    };
    let node = pod.node.clone()?;
    Some(Target { node, place })
}

fn return_address(
    world: &World<'_>,
    mut status: IpStatus,
    pod: &Pod,
    back: &Target,
    entry: &Previous,
    refused: Previous,
) -> Next {
    status.previous.retain(|known| known != entry);
    status
        .previous
        .retain(|known| known.address != refused.address || known.interface != refused.interface);
    status.previous.push(refused);
    status.claim = Some(Claim {
        pod: pod.key.clone(),
        uid: pod.uid.clone(),
        id: world.ip.version.into(),
        phase: ClaimPhase::Claimed(back.clone()),
    });
    status.conditions = conditions::claimed(world, &status, back);
    world.write_status(StatusWrite::Revert, status)
}
