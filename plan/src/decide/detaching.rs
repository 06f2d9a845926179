//! Taking an address off: nothing is let go before it is proven to be nowhere.
//! Rules: R4.4, R5.19.

use super::conditions::{Attachment, build};
use super::trouble::{call_or_say, previous_full, unseen};
use super::{Next, Notices, World};
use crate::address::Address;
use crate::objects::{Claim, ClaimPhase, IpStatus};
use crate::step::{StatusWrite, Step};

/// The status write that begins it: the location goes into `previous` in the same write.
pub(crate) fn begin(world: &World<'_>, claim: &Claim, notices: &mut Notices) -> Next {
    begin_with(world, claim, world.ip.status.clone(), notices)
}

pub(crate) fn begin_with(
    world: &World<'_>,
    claim: &Claim,
    mut status: IpStatus,
    notices: &mut Notices,
) -> Next {
    let Ok(previous) = world.make_room(world.previous_with_present()) else {
        return previous_full(world, notices);
    };
    status.previous = previous;
    status.claim = Some(Claim {
        phase: ClaimPhase::Detaching,
        ..claim.clone()
    });
    status.conditions = build(world, &status, Ok(()), &Attachment::Leaving);
    world.write_status(StatusWrite::Detach, status)
}

/// The next step of a detach.
pub(crate) fn detaching(world: &World<'_>, claim: &Claim, notices: &mut Notices) -> Next {
    if let Some(next) = world.close_stale_gates(claim) {
        return next;
    }
    let Some(address) = world.ip.status.address else {
        return clear(world);
    };
    let first = world
        .confirm_unassigned(address)
        .err()
        .or_else(|| world.stale_call());
    if let Some(next) = first {
        return match next {
            Next::Do(Step::Call(call), _) => call_or_say(world, call, Ok(()), notices),
            // Whatever it waits for, an inventory tells.
            Next::At(_) => unseen(world, Ok(()), notices),
            next => next,
        };
    }
    if let Some(next) = late_call_possible(world, address) {
        return next;
    }
    clear(world)
}

/// A claim without a Record may have sent an Assign that has not landed yet, and so may one whose first
/// Assign was never answered: two agreeing inventories begun ten seconds later have to show the address
/// nowhere of ours (R5.19).
fn late_call_possible(world: &World<'_>, address: Address) -> Option<Next> {
    let (since, settled) = world.memory.detaching.unwrap_or((world.now, false));
    if settled || world.proven_off(address, since) {
        return None;
    }
    Some(world.soon())
}

fn clear(world: &World<'_>) -> Next {
    let mut status = world.ip.status.clone();
    // Every loser was told.
    status.previous.retain(|entry| !world.proven_empty(entry));
    status.claim = None;
    status.conditions = build(world, &status, Ok(()), &Attachment::Unclaimed);
    world.write_status(StatusWrite::Clear, status)
}
