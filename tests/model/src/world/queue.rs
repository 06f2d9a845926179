//! The work queue of the engine. The model decides for each IP in every state, in every order. The engine decides only
//! for the IPs that it has queued, in the order of its queue, and for those whose time has come. This is one of the
//! orders of the model if each IP with a new step is queued or due (R1.4).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mooring_plan::names::IpName;
use mooring_plan::step::{Decision, Step};
use mooring_world::affected::{checks_cycles_soon, may_be_late};

use super::clock::NOW;

/// The model rounds moments to seconds.
const TOLERANCE: Duration = Duration::from_secs(1);

/// An IP that has a new step, which is returned too, and is neither queued nor due. `before` and `now`: the decisions
/// before and after an input in which this time has passed.
pub fn unqueued(
    before: &BTreeMap<IpName, Decision>,
    now: &BTreeMap<IpName, Decision>,
    queued: &BTreeSet<IpName>,
    elapsed: Duration,
) -> Option<(IpName, Step)> {
    let mut others = now.iter().filter(|(ip, _)| !queued.contains(*ip));
    let missed = others.find(|(ip, decision)| has_new_step(before.get(*ip), decision, elapsed));
    missed.and_then(|(ip, decision)| Some((ip.clone(), decision.step.clone()?)))
}

/// True if the decision has a step that must not be late, and before had none and was not due.
fn has_new_step(before: Option<&Decision>, now: &Decision, elapsed: Duration) -> bool {
    let Some(step) = &now.step else {
        return false;
    };
    before.is_none_or(|before| {
        let due = NOW.plus(elapsed).plus(TOLERANCE);
        let is_due = before.again.is_some_and(|again| again <= due);
        let late = checks_cycles_soon(before, NOW) && may_be_late(step);
        // A read that has become too old is repeated when its IP is decided, and before that it is not needed.
        let repeats = elapsed >= TOLERANCE && matches!(step, Step::Read(_));
        before.step.is_none() && !is_due && !late && !repeats
    })
}
