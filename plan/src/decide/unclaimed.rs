//! State none: an IP without a holder. It is reserved, claimed for an eligible pod, or deleted.
//! Rules: R1.11, R2.3, R2.13, R2.14, R2.17, R2.21, R2.25, R4.7, R5.34.

use alloc::format;

use super::choose::Choice;
use super::conditions::{Attachment, Trouble};
use super::reserve::{ASK_AGAIN, Unreserved};
use super::trouble::{call_or_report, previous_full, unseen};
use super::{Next, Notices, World};
use crate::address::Address;
use crate::facts::SubnetFacts;
use crate::objects::{Block, BlockSpec, Reservation};
use crate::reason::Reason;
use crate::step::{Call, Read, Step, Write};

/// The next step of an IP that no pod holds.
pub(crate) fn unclaimed(world: &World<'_>, notices: &mut Notices) -> Next {
    let ip = world.ip;
    if let Some(next) = world.close_other_gates(None) {
        return next;
    }
    if ip.deleting {
        return teardown(world, notices);
    }
    if let add @ Next::Do(..) = world.add_finalizer() {
        return add;
    }
    let unreserved = match ip.status.address {
        None => match first(world) {
            Err(Unreserved::Do(next)) => return next,
            trouble => trouble,
        },
        Some(address) => match world.ensure_reserved(address) {
            Ok(()) => world.edited_while_free(),
            // Another owner has the address: an edit of the spec can help.
            Err(lost @ Unreserved::Trouble(..)) => match world.edited_while_free() {
                edited @ Err(Unreserved::Do(_)) => edited,
                _ => Err(lost),
            },
            repair => repair,
        },
    };
    // While a repair or an edit waits, a pod gets the address that is reserved.
    let is_reserved = |address| world.own_reservation(address).is_some();
    let unreserved = match unreserved {
        Err(Unreserved::Do(next)) if !ip.status.address.is_some_and(is_reserved) => return next,
        unreserved => unreserved,
    };
    let (reserved, later) = match world.trouble_of(unreserved) {
        Ok(waits) => waits,
        Err(next) => return next,
    };
    let reserved = reserved.and_then(|()| world.stale_stays().map_or(Ok(()), Err));
    if let Err(trouble) = &reserved {
        notices.extend(announce(world, trouble));
    }
    let upkeep = world.drop_stale(notices);
    if matches!(upkeep, Next::Do(..)) {
        return upkeep;
    }
    // A pod gets the address only if it is reserved for this IP, even if an ENI already explains it.
    let next = match ip.status.address {
        Some(address) if world.own_reservation(address).is_some() => {
            assign_to_candidate(world, address, reserved, notices)
        }
        _ => world.write_conditions(reserved, &Attachment::Unclaimed),
    };
    next.or(|| upkeep).no_later_than(&later)
}

/// Claims the address for the candidate that gets it.
fn assign_to_candidate(
    world: &World<'_>,
    address: Address,
    reserved: Result<(), Trouble>,
    notices: &mut Notices,
) -> Next {
    let candidates = world.candidates(None, notices);
    let waited_for = !candidates.is_empty();
    let location = world.locate(address);
    let (candidate, later) = match world.choose(candidates, notices) {
        Choice::Take(candidate) => (Some(candidate), Next::Idle),
        Choice::None(next @ Next::Do(..)) => return next,
        Choice::None(next) => (None, next),
    };
    let foreign = location
        .on
        .as_ref()
        .filter(|on| !world.explained(address, on));
    // If two inventories agree, it is reported even if no pod waits: the IP cannot be used.
    let known = waited_for || location.agreed();
    if let Some(on) = foreign.filter(|on| known && !world.may_take_from(address, on)) {
        let trouble = super::trouble::foreign(world, address, on);
        notices.push(world.on_ip(trouble.reason, trouble.message.clone()));
        return world
            .write_conditions(reserved, &Attachment::Kept(trouble))
            .or(|| later);
    }
    match candidate {
        Some(candidate) if location.fresh => {
            match world.claim(candidate.pod, &candidate.placement, foreign) {
                Ok(next) => next,
                Err(_) => previous_full(world, notices),
            }
        }
        // Without a fresh location there is no claim: wait for an inventory.
        Some(_) => unseen(world, reserved, notices),
        None if world.waits_for_inventory() => unseen(world, reserved, notices),
        None => {
            // A late call of another process put the address back on an ENI that had it before: detach it.
            if let Some(on) = location
                .on
                .as_ref()
                .filter(|on| location.agreed() && world.explained(address, on))
            {
                let call = Call::Unassign {
                    interface: on.clone(),
                    address,
                };
                return call_or_report(world, call, reserved, notices);
            }
            // The annotation has no effect: no other owner has the address. A new process has no agreed inventories
            // yet.
            let unneeded = location.agreed() && foreign.is_none();
            let removal = if unneeded {
                world.unless_it_waits(world.remove_take_from())
            } else {
                Next::Idle
            };
            removal
                .or(|| world.write_conditions(reserved, &Attachment::Unclaimed))
                .or(|| later)
        }
    }
}

/// Deletion of an IP: releases its reservations, then removes its finalizer.
fn teardown(world: &World<'_>, notices: &mut Notices) -> Next {
    let ip = world.ip;
    let listed = world
        .facts
        .reads
        .own_reservations
        .get(&ip.uid)
        .filter(|read| world.memory.fresh(read.begun, world.now));
    // The watch may not show the latest reservation yet, so the list decides.
    let reservation = world
        .own_reservations()
        .next()
        .or_else(|| listed.and_then(|read| read.value.first()));
    match (reservation, listed) {
        (Some(reservation), _) if let Some(trouble) = world.unconfirmable(reservation.address) => {
            world.write_conditions(Err(trouble), &Attachment::Unclaimed)
        }
        (Some(reservation), _) => match world.confirm_unassigned_for_good(reservation.address) {
            Ok(()) => Next::write(Write::Release(reservation.clone())),
            Err(Next::Do(Step::Call(call), _)) => call_or_report(world, call, Ok(()), notices),
            // It waits for an inventory.
            Err(Next::At(_)) => unseen(world, Ok(()), notices),
            Err(next) => next,
        },
        (None, None) => Next::read(Read::Reservations(ip.uid.clone())),
        (None, Some(_)) => Next::write(Write::RemoveFinalizer {
            ip: ip.name.clone(),
            version: ip.version,
        }),
    }
}

/// The first reservation: the address that the spec names, or the lowest free one.
fn first(world: &World<'_>) -> Result<(), Unreserved> {
    let block = world.desired_block()?;
    world.leaves_subnet_for(block)?;
    let (spec, subnet) = world.usable_block(block)?;
    let desired = world
        .ip
        .desired
        .as_ref()
        .map_err(|why| Unreserved::trouble(Reason::Invalid, why.clone()))?;
    let address = match desired.address {
        Some(address) => address,
        None => allocate(world, block, spec, subnet)?,
    };
    world.reserve(block, address)?;
    Err(Unreserved::Do(world.write_reserved(block, address)))
}

/// The lowest address that is free as far as is known. The IP that creates the `IPAddress` first gets it.
fn allocate(
    world: &World<'_>,
    block: &Block,
    spec: &BlockSpec,
    subnet: &SubnetFacts,
) -> Result<Address, Unreserved> {
    // A reservation in another block is released after the new address is in the status.
    let of_block = |reservation: &&Reservation| spec.range.contains(reservation.address);
    if let Some(mine) = world
        .own_reservations()
        .filter(of_block)
        .map(|reservation| reservation.address)
        .min()
    {
        return Ok(mine);
    }
    // A reservation from before a crash can exist that the watch does not show yet.
    match world.facts.reads.own_reservations.get(&world.ip.uid) {
        Some(read) if world.memory.fresh(read.begun, world.now) => {
            let left = read.value.iter().filter(of_block);
            if let Some(reservation) = left.min_by_key(|reservation| reservation.address) {
                return Ok(reservation.address);
            }
        }
        _ => {
            return Err(Unreserved::Do(Next::read(Read::Reservations(
                world.ip.uid.clone(),
            ))));
        }
    }
    if let Some(former) = of_former_ip(world, spec, subnet) {
        return Ok(former);
    }
    let taken_until = |address: Address| {
        let shown = || subnet.inventory()?.taken_until(address);
        let alone = || world.recently_taken(address).then_some(address);
        let reserved = world.facts.reservations.reserved_to(address);
        reserved.or_else(alone).or_else(shown)
    };
    // A create that was refused is repeated for the same address, whatever others create meanwhile. Otherwise each of
    // their creates would change the condition of this IP.
    let mut refused = world.memory.failures.writes.refused_creates();
    let allocatable = |address: &Address| spec.range.is_allocatable(*address, &subnet.cidrs);
    if let Some(again) = refused.find(|of| allocatable(of) && taken_until(*of).is_none()) {
        return Ok(again);
    }
    // Other IPs have creates in flight for these. If a create fails, its answer or a list makes the address free.
    let begun = world.facts.reservations.begun_by_others(&world.ip.name);
    let taken_until = |address: Address| {
        let begun = || begun.contains(&address).then_some(address);
        taken_until(address).or_else(begun)
    };
    spec.range.lowest_free(&subnet.cidrs, taken_until).ok_or_else(|| {
        Unreserved::Trouble(
            Trouble::new(
                Reason::BlockExhausted,
                format!("no address of block {} is free: delete an IP that is not needed, or widen the block", block.name),
            ),
            Next::At(world.now.plus(ASK_AGAIN)),
        )
    })
}

/// The lowest address that is still reserved for an IP of this name that is gone. The other end of a connection knows
/// it, so it comes before a free one, also if an ENI has it: then the message says what to do (R2.25).
fn of_former_ip(world: &World<'_>, spec: &BlockSpec, subnet: &SubnetFacts) -> Option<Address> {
    let (facts, name) = (world.facts, &world.ip.name);
    let left = facts.reservations.of_parent(name).filter(|address| {
        let reservation = facts.reservations.get(*address);
        spec.range.is_allocatable(*address, &subnet.cidrs)
            && subnet.immovable(*address).is_none()
            && reservation.is_some_and(|reservation| facts.is_ownerless(reservation, name))
    });
    left.min()
}

/// The Event for trouble that a user must see although nothing else happens.
pub(crate) fn announce(world: &World<'_>, trouble: &Trouble) -> Option<crate::step::Notice> {
    let with_event = matches!(
        trouble.reason,
        Reason::AddressInUse
            | Reason::BlockExhausted
            | Reason::BlockMissing
            | Reason::AmbiguousBlock
            | Reason::SubnetMismatch
            // EC2 serves no inventory.
            | Reason::SubnetNotFound
            | Reason::AccessDenied
            | Reason::Throttled
            | Reason::AttachFailed
    );
    with_event.then(|| world.on_ip(trouble.reason, trouble.message.clone()))
}
