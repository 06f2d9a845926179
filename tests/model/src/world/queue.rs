//! The work queue of the engine. The model decides for each IP in every state, in every order. The engine decides only
//! for the IPs that it has queued, in the order of its queue. This is one of the orders of the model if each IP that
//! has a step is queued.

use std::collections::{BTreeMap, BTreeSet};

use mooring_plan::names::IpName;
use mooring_plan::step::Decision;
use mooring_world::affected::{checks_cycles_soon, may_be_late};

use super::clock::NOW;

/// Whether the engine must have queued each IP that has a new step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    Checked,
    /// Time has passed: timers of the engine, which the model does not use, can be due.
    Ignored,
}

/// An IP that has a new step and is not queued. `before` and `now`: the decisions before and after an event.
pub fn unqueued(
    before: &BTreeMap<IpName, Decision>,
    now: &BTreeMap<IpName, Decision>,
    queued: &BTreeSet<IpName>,
) -> Option<IpName> {
    let mut others = now.iter().filter(|(ip, _)| !queued.contains(*ip));
    let missed = others.find(|(ip, decision)| has_new_step(before.get(*ip), decision));
    missed.map(|(ip, _)| ip.clone())
}

/// True if the decision has a step that must not be late, and had none before.
fn has_new_step(before: Option<&Decision>, now: &Decision) -> bool {
    let Some(step) = &now.step else {
        return false;
    };
    before.is_none_or(|before| {
        let late = checks_cycles_soon(before, NOW) && may_be_late(step);
        before.step.is_none() && !late
    })
}
