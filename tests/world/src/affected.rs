//! Which decisions may be late although a fact changes them. The engine decides for an IP when a fact affects it and when
//! it is due; everything else must be decided at once.

use std::time::Duration;

use mooring_plan::reason::Reason;
use mooring_plan::step::{Decision, Notice, Step, Write};
use mooring_plan::time::Instant;

/// Cycles of waiting pods are checked in this interval, independent of changes of other pods. Otherwise each change of
/// a waiting pod could need a decision for thousands of IPs.
const CYCLES: Duration = Duration::from_secs(5);

/// True if the IP is decided for the next check of cycles soon. `before` is the decision before the fact.
pub fn checks_cycles_soon(before: &Decision, now: Instant) -> bool {
    before.again.is_some_and(|at| at <= now.plus(CYCLES))
}

/// True if this step may wait for the next check of cycles, or for the next call of the IP.
pub fn may_be_late(step: &Step) -> bool {
    let of_either = |reason| is_of_waiting(reason) || is_of_throttling(reason);
    matches!(step, Step::Write(Write::Gate(gate)) if !gate.status && of_either(gate.reason))
}

/// The notices that may not be late. `soon`: the IP is decided for the next check of cycles soon.
pub fn urgent(notices: &[Notice], soon: bool) -> Vec<&Notice> {
    let late = |reason| is_of_throttling(reason) || soon && is_of_waiting(reason);
    let notices = notices.iter();
    notices.filter(|notice| !late(notice.reason)).collect()
}

/// True for the reasons of a pod that waits for another pod, in a cycle or not.
fn is_of_waiting(reason: Reason) -> bool {
    matches!(reason, Reason::Deadlock | Reason::ClaimedByOther)
}

/// The begin of throttling is reported when the IP would make a call, which can be late.
fn is_of_throttling(reason: Reason) -> bool {
    reason == Reason::Throttled
}
