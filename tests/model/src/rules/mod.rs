//! The rules of safety (docs/design/faults.md, S1 to S4, and docs/design/protocol.md, section 3), one file a moment.

mod executed;
mod keeps;
mod sent;
mod standing;
mod words;

use std::fmt;

use mooring_plan::objects::Ip;
use mooring_plan::step::{Call, Step, Write};

pub use standing::standing;
pub use words::{explains, says_attached};

use crate::cast::Cast;
use crate::shared::Shared;
use crate::state::State;
use crate::world::cloud::Cloud;
use crate::world::controller::Sent;
use crate::world::kube::Kube;

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// At most one pod says that it has the address; losers are told before EC2 is.
    S1,
    /// A call goes to a place that was claimed before, for the machine that the pod is bound to.
    S2,
    /// No call without a durable claim.
    S3,
    /// Nothing is taken that our status does not explain, and nothing that is not ours is touched.
    S4,
    /// No place is forgotten, and no reservation let go, while the address may be there.
    Remembered,
    /// A holder keeps the address while its pod lives; the next one is chosen as section 3 says.
    Kept,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::S1,
        Self::S2,
        Self::S3,
        Self::S4,
        Self::Remembered,
        Self::Kept,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::S1 => "S1: at most one pod says that it has the address",
            Self::S2 => "S2: calls go to places that were claimed",
            Self::S3 => "S3: no call without a durable claim",
            Self::S4 => "S4: nothing is taken that is not explained",
            Self::Remembered => "no place and no reservation is let go while the address is there",
            Self::Kept => "the holder keeps it, and who follows is chosen by the rules",
        }
    }
}

/// A rule that was broken, and how.
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

/// Fails unless it is so.
fn must(so: bool, rule: Rule, how: impl FnOnce() -> String) -> Result<(), Broken> {
    if so {
        Ok(())
    } else {
        Err(Broken { rule, how: how() })
    }
}

/// What must be so when a step leaves.
pub fn when_sent(
    state: &State,
    cast: &Cast,
    which: usize,
    ip: &Ip,
    sent: &Sent,
) -> Result<(), Broken> {
    match &sent.step {
        Step::Call(call) => sent::call(state, cast, ip, call),
        Step::Write(Write::Status(_, _, what, status)) => {
            keeps::chosen(state, which, ip, *what, status)
        }
        _ => Ok(()),
    }
}

/// What must be so when a write was done.
pub fn when_written(
    state: &State,
    cast: &Cast,
    before: &Shared<Kube>,
    write: &Write,
    by: Option<usize>,
) -> Result<(), Broken> {
    keeps::written(state, cast, before, write, by)?;
    standing(state)
}

/// What must be so when EC2 has executed a call.
pub fn when_executed(
    state: &State,
    before: &Shared<Cloud>,
    sent: &Sent,
    call: &Call,
    outdated: bool,
    awaited: bool,
) -> Result<(), Broken> {
    executed::executed(state, before, sent, call, outdated, awaited)?;
    standing(state)
}
