//! State Detaching: the claim ends when the detach is confirmed for every place that can have the address.
//! Rules: R4.4, R4.47, R5.18.

use super::conditions::{Attachment, build};
use super::trouble::{first_do, previous_full};
use super::{Next, Notices, World};
use crate::objects::{Claim, ClaimPhase, IpStatus};
use crate::step::StatusWrite;

/// The status write that begins a detach. It also adds the present place to `previous`.
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
    world
        .unless_it_waits(world.add_finalizer())
        .or(|| detached(world, notices))
}

/// Detaches the address from every place that can have it. Then the claim ends.
fn detached(world: &World<'_>, notices: &mut Notices) -> Next {
    let Some(address) = world.ip.status.address else {
        return clear(world);
    };
    let first = world
        .confirm_unassigned(address)
        .err()
        .or_else(|| world.stale_call());
    if let Some(next) = first {
        return first_do(world, next, Ok(()), notices);
    }
    clear(world)
}

fn clear(world: &World<'_>) -> Next {
    let mut status = world.ip.status.clone();
    // The places stay in `previous` until they are proven empty, so that the effect of a late Assign is undone.
    status.claim = None;
    status.conditions = build(world, &status, Ok(()), &Attachment::Unclaimed);
    world.write_status(StatusWrite::Clear, status)
}
