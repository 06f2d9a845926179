//! `plan(world, now)`: the one step that an IP needs next.
//!
//! Status carries the state ([`Hold`]); each function here looks at one state and says what follows.
//! Every step is one write that is durable before the next is decided, so that the process can be
//! killed between any two.

mod attach;
mod choose;
mod conditions;
mod cycle;
mod detach;
mod edit;
mod eligible;
mod free;
mod gates;
mod held;
mod holder;
mod places;
mod refused;
mod reserve;
mod told;
mod trouble;
mod unreadable;
mod waits;
mod workload;
mod world;

pub use eligible::{Ineligible, Seat, usable_interface};
pub(crate) use told::HEALTHY_ATTACH;
pub use world::World;

use alloc::vec::Vec;

use crate::facts::Facts;
use crate::names::{IpName, Millis};
use crate::objects::Hold;
use crate::step::{Call, Decision, Notice, Read, Step, Write};

impl Facts {
    /// The next step for an IP. Nothing before every kind has been listed: what is not known yet is
    /// not gone.
    #[must_use]
    pub fn decide(&self, name: &IpName, now: Millis) -> Decision {
        if !self.synced() {
            return Decision::default();
        }
        if let Some(ip) = self.unreadable.get(name) {
            return self.unreadable(ip, now);
        }
        World::of(self, name, now).map_or_else(Decision::default, |world| plan(&world))
    }
}

/// The next step for the IP of this world.
#[must_use]
pub fn plan(world: &World<'_>) -> Decision {
    let mut notices = Vec::new();
    let next = if world.memory.stale {
        Next::read(Read::Ip(world.ip.name.clone()))
    } else if world.ip.deleting && !world.ip.finalizer {
        Next::Rest
    } else {
        match world
            .ip
            .status
            .claim
            .as_ref()
            .map(|claim| (claim, &claim.hold))
        {
            None => free::free(world, &mut notices),
            Some((claim, Hold::Claimed(target))) => {
                attach::claimed(world, claim, target, &mut notices)
            }
            Some((claim, Hold::Recorded(target))) => {
                held::recorded(world, claim, target, &mut notices)
            }
            Some((claim, Hold::Detaching)) => detach::detaching(world, claim, &mut notices),
        }
    };
    let next = next.no_later_than(&world.unseen_holder());
    // Whatever this IP waits for, pods that ask for nothing do not wait with it, and others hear of it.
    let next = next.or(|| world.let_go(world.ip.status.claim.as_ref()));
    let next = wait_out(world, next, &mut notices).or(|| world.tell_waiting(&mut notices));
    // The same may have more than one cause.
    let mut said: Notices = Vec::new();
    notices.retain(|notice| {
        let new = !said.contains(notice);
        if new {
            said.push(notice.clone());
        }
        new
    });
    let (step, again) = match next {
        Next::Do(step, at) => (Some(step), at),
        Next::At(at) => (None, Some(at)),
        Next::Rest => (None, None),
    };
    Decision {
        step,
        again,
        notices,
    }
}

/// What failed is spaced: the step, or when it may be taken, if not now.
fn wait_out(world: &World<'_>, next: Next, notices: &mut Notices) -> Next {
    let Next::Do(step, at) = next else {
        return next;
    };
    let mut due = world.memory.failures.due(&step, world.now);
    if let Step::Call(call) = &step {
        due = due.max(world.outage_until(call.action()));
        if due.is_some() {
            notices.extend(trouble::throttled(world, call.action()));
        }
    }
    match due {
        None => Next::Do(step, at),
        Some(due) => Next::At(at.map_or(due, |at| at.min(due))),
    }
}

/// What follows, before backoff is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// This step. If it has to wait, something else may be due before it.
    Do(Step, Option<Millis>),
    /// Nothing before then, unless something happens.
    At(Millis),
    /// Nothing, until something happens.
    Rest,
}

impl Next {
    fn read(read: Read) -> Self {
        Self::Do(Step::Read(read), None)
    }

    fn write(write: Write) -> Self {
        Self::Do(Step::Write(write), None)
    }

    fn call(call: Call) -> Self {
        Self::Do(Step::Call(call), None)
    }

    /// This, and asked again no later than `other` wants to be.
    fn no_later_than(self, other: &Self) -> Self {
        let Self::At(at) = *other else { return self };
        match self {
            Self::Rest => Self::At(at),
            Self::At(then) => Self::At(at.min(then)),
            Self::Do(step, then) => Self::Do(step, Some(then.map_or(at, |then| at.min(then)))),
        }
    }

    /// This, or else what `other` says; of two times the earlier.
    fn or(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Do(..) => self,
            Self::Rest => other(),
            Self::At(_) => other().no_later_than(&self),
        }
    }
}

pub(crate) type Notices = Vec<Notice>;
