//! The safety rules (docs/design/faults.md, S1 to S4, and docs/design/protocol.md, section 3), and the rule of the work
//! queue (R1.4). Each file has the rules of one moment.

mod executed;
mod holder;
mod invariants;
mod previous;
mod programmed;
mod received;
mod recorded;
mod sent;

use std::fmt;

use mooring_plan::objects::Ip;
use mooring_plan::step::{Step, Write};
use mooring_world::cloud::Cloud;
use mooring_world::kube::Kube;

pub use invariants::invariants;
pub use received::when_received;

use crate::fixtures::Fixtures;
use crate::shared::Shared;
use crate::state::State;
use crate::world::controller::Sent;

/// A safety rule that is checked in every state or transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The gate of at most one pod is `True` for the address. Losers get `False` before EC2 is called.
    S1,
    /// A call names a place that was claimed before, on the machine that the pod is bound to.
    S2,
    /// No call without a durable claim.
    S3,
    /// No address is taken from an ENI that the status does not explain, and no foreign address is changed.
    S4,
    /// No place is removed from the status, and no reservation is released, while the address may be there.
    Tracked,
    /// A holder keeps the address while its pod runs. The next holder is chosen as section 3 says.
    Holder,
    /// A pod says that it has the address only if its node has programmed it for the present claim, where the block
    /// asks for that.
    Programmed,
    /// What is recorded is where the address is, unless another process or a person has moved it.
    Recorded,
    /// The engine has queued each IP that has a new step.
    Queued,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 9] = [
        Self::S1,
        Self::S2,
        Self::S3,
        Self::S4,
        Self::Tracked,
        Self::Holder,
        Self::Programmed,
        Self::Recorded,
        Self::Queued,
    ];

    /// The name in a report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::S1 => "S1: at most one pod says that it has the address",
            Self::S2 => "S2: calls name places that were claimed",
            Self::S3 => "S3: no call without a durable claim",
            Self::S4 => "S4: no address is taken from an ENI that is not explained",
            Self::Tracked => "no place and no reservation is released while the address is there",
            Self::Holder => {
                "the holder keeps the address, and the next holder is chosen by the rules"
            }
            Self::Programmed => "a pod is ready only when its node has programmed the address",
            Self::Recorded => "a record says where the address is",
            Self::Queued => "the engine has queued each IP with a new step",
        }
    }
}

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Broken {
    pub rule: Rule,
    pub how: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule.name(), self.how)
    }
}

/// Fails unless the condition holds.
fn require(holds: bool, rule: Rule, how: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds {
        Ok(())
    } else {
        Err(Broken { rule, how: how() })
    }
}

/// What must be true when a step is sent.
pub fn when_sent(
    state: &State,
    fixtures: &Fixtures,
    which: usize,
    ip: &Ip,
    sent: &Sent,
) -> Result<(), Broken> {
    match &sent.step {
        Step::Call(call) => sent::call(state, fixtures, ip, call),
        Step::Write(Write::Status { change, status, .. }) => {
            holder::chosen(state, which, ip, *change, status)
        }
        _ => Ok(()),
    }
}

/// What must be true when a write was done.
pub fn when_written(
    state: &State,
    fixtures: &Fixtures,
    before: &Shared<Kube>,
    write: &Write,
    by: Option<usize>,
) -> Result<(), Broken> {
    holder::written(state, fixtures, before, write, by)?;
    programmed::written(state, before, write)?;
    previous::written(before, write)?;
    recorded::written(state, write)?;
    invariants(state)
}

/// What must be true when EC2 has executed a call.
pub fn when_executed(
    state: &State,
    before: &Shared<Cloud>,
    sent: &Sent,
    outdated: bool,
    awaited: bool,
) -> Result<(), Broken> {
    executed::nothing_else_moved(state, before, sent)?;
    for sent in sent.all() {
        if let Step::Call(call) = &sent.step {
            executed::executed(state, before, sent, call, outdated, awaited)?;
        }
    }
    invariants(state)
}
