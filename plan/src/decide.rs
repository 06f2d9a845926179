//! `plan(world, now)`: the one step that an IP needs next.
//!
//! Status carries the state ([`Hold`]); each function here looks at one state and says what follows.
//! Every step is one write that is durable before the next is decided, so that the process can be
//! killed between any two.

mod attach;
mod choose;
mod conditions;
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
mod trouble;
mod world;

pub use eligible::{Ineligible, Seat, usable_interface};
pub use world::World;

use alloc::format;
use alloc::vec::Vec;

use crate::classify::Outcome;
use crate::facts::Facts;
use crate::names::{IpName, Millis};
use crate::objects::Hold;
use crate::reason::Reason;
use crate::step::{Call, Decision, Notice, Read, Step, Write};

impl Facts {
    /// The next step for an IP. Nothing before every kind has been listed: what is not known yet is
    /// not gone.
    #[must_use]
    pub fn decide(&self, name: &IpName, now: Millis) -> Decision {
        if !self.synced() {
            return Decision::default();
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
    // Whatever this IP waits for, pods that ask for nothing do not wait with it.
    let next = next.or(|| world.let_go(world.ip.status.claim.as_ref()));
    let (step, again) = match next {
        Next::Do(step) => wait_out(world, step, &mut notices),
        Next::At(at) => (None, Some(at)),
        Next::Rest => (None, None),
    };
    Decision {
        step,
        again,
        notices,
    }
}

/// Repeated failures are spaced: writes and calls wait, reads and silencing do not.
fn wait_out(
    world: &World<'_>,
    step: Step,
    notices: &mut Vec<Notice>,
) -> (Option<Step>, Option<Millis>) {
    let spaced = matches!(
        &step,
        Step::Call(_) | Step::Write(Write::Status(..) | Write::Reserve(..) | Write::Gate(_))
    );
    let failed_call = world
        .memory
        .backoff
        .as_ref()
        .and_then(|backoff| backoff.call.as_ref());
    let applies = match (&step, failed_call) {
        // What EC2 said of one call does not hold up writes to the API server.
        (Step::Call(_), _) | (Step::Write(_), None) => true,
        _ => false,
    };
    match &world.memory.backoff {
        Some(backoff) if spaced && applies && backoff.until > world.now => {
            // It is no state, so nothing but this tells of it.
            if let Some((call, Outcome::Throttled, _)) = &backoff.call {
                let message = format!(
                    "EC2 throttles ec2:{} for this account: it is tried again, ever more slowly",
                    call.action_name()
                );
                notices.push(world.on_ip(Reason::Throttled, message));
            }
            (None, Some(backoff.until))
        }
        _ => (Some(step), None),
    }
}

/// What follows, before backoff is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// This step.
    Do(Step),
    /// Nothing before then, unless something happens.
    At(Millis),
    /// Nothing, until something happens.
    Rest,
}

impl Next {
    fn read(read: Read) -> Self {
        Self::Do(Step::Read(read))
    }

    fn write(write: Write) -> Self {
        Self::Do(Step::Write(write))
    }

    fn call(call: Call) -> Self {
        Self::Do(Step::Call(call))
    }

    /// This, or else what `other` says; of two times the earlier.
    fn or(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Do(_) => self,
            Self::Rest => other(),
            Self::At(at) => match other() {
                Self::Rest => self,
                Self::At(then) => Self::At(at.min(then)),
                step @ Self::Do(_) => step,
            },
        }
    }
}

pub(crate) type Notices = Vec<Notice>;
