//! [`plan`]: the next step of an IP.
//! Rule: R1.2.
//!
//! The state is in the status ([`ClaimPhase`]). Each function here handles one state and returns the next step. A
//! write is durable before the next step is decided, so that the process can be killed between any two steps.

mod choose;
mod claimed;
mod conditions;
mod confirmed_detach;
mod cycle;
mod detaching;
mod edit;
mod eligible;
mod gates;
mod holder;
mod ineligible;
mod machines;
mod next;
mod places;
mod programming;
mod recorded;
mod refused;
mod refused_writes;
mod reserve;
mod successor;
mod take_from;
mod trouble;
mod unclaimed;
mod unreadable;
mod verification;
mod waiting_pods;
mod waits;
mod without_ip;
mod workload;
mod world;

pub(crate) use eligible::usable_in;
pub use eligible::usable_interface;
pub(crate) use holder::INSTANCE_FRESH;
pub(crate) use ineligible::Ineligible;
pub(crate) use next::{Next, Notices};
pub(crate) use refused_writes::refused_write;
pub(crate) use trouble::not_permitted;
pub use world::World;
pub(crate) use world::is_ours;

use alloc::vec::Vec;

use conditions::Trouble;

use crate::facts::Facts;
use crate::names::IpName;
use crate::objects::ClaimPhase;
use crate::step::{Decision, Read, Step};
use crate::time::Instant;

impl Facts {
    /// The next step for an IP, or for the pods that ask for an IP that is gone. No step until every kind was listed
    /// once: an object that is not known yet is not necessarily gone.
    #[must_use]
    pub fn decide(&self, name: &IpName, now: Instant) -> Decision {
        if !self.synced() {
            return Decision::default();
        }
        if let Some(ip) = self.unreadable.get(name) {
            return self.unreadable(ip, now);
        }
        World::of(self, name, now).map_or_else(|| self.without_ip(name, now), |world| plan(&world))
    }
}

/// The next step for the IP of this world.
#[must_use]
pub fn plan(world: &World<'_>) -> Decision {
    let mut notices = Vec::new();
    let next = if world.memory.stale {
        Next::read(Read::Ip(world.ip.name.clone()))
    } else if world.ip.deleting && !world.ip.finalizer {
        Next::Idle
    } else {
        match world
            .ip
            .status
            .claim
            .as_ref()
            .map(|claim| (claim, &claim.phase))
        {
            None => unclaimed::unclaimed(world, &mut notices),
            Some((claim, ClaimPhase::Claimed(target))) => {
                claimed::claimed(world, claim, target, &mut notices)
            }
            Some((claim, ClaimPhase::Recorded(target))) => {
                recorded::recorded(world, claim, target, &mut notices)
            }
            Some((claim, ClaimPhase::Detaching)) => {
                detaching::detaching(world, claim, &mut notices)
            }
        }
    };
    let next = next.no_later_than(&world.unseen_holder());
    // Also while this IP waits: pods without the annotation are released, and waiting pods get the reason.
    let (next, refusal) = wait_out(world, next, &mut notices);
    let next = next
        .or(|| {
            // What a stale IP says of its holder can be wrong.
            if world.memory.stale {
                return Next::Idle;
            }
            world.release_unannotated(world.ip.status.claim.as_ref())
        })
        .or(|| world.report_to_waiting_pods(refusal.as_ref(), &mut notices));
    notices.extend(world.refusals());
    // Two causes can lead to the same notice.
    let mut reported: Notices = Vec::new();
    notices.retain(|notice| {
        let new = !reported.contains(notice);
        if new {
            reported.push(notice.clone());
        }
        new
    });
    let (step, again) = next.into_parts();
    Decision {
        step,
        again,
        notices,
    }
}

/// Applies backoff and outages: returns the step, or the time at which it may be done. Also returns why the API server
/// refuses it; then nothing of this IP goes on that needs it.
fn wait_out(world: &World<'_>, next: Next, notices: &mut Notices) -> (Next, Option<Trouble>) {
    let refusal = world.refusal(&next);
    let of_status = refused_writes::is_of_status(&next);
    let call = match &next {
        Next::Do(Step::Call(call), _) => Some(call.action()),
        _ => None,
    };
    let next = world.unless_it_waits(next);
    if let (Some(action), Next::At(_)) = (call, &next) {
        notices.extend(trouble::throttled(world, action));
    }
    let next = match &refusal {
        Some(trouble) if !of_status => next.or(|| world.report_refusal(trouble)),
        _ => next,
    };
    (next, refusal)
}
