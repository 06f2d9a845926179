//! A question to EC2 about a subnet that failed: `DescribeSubnets`, or an inventory.
//! Rule: R5.17.

use crate::backoff::{self, Backoff};
use crate::names::SubnetId;
use crate::outcome::Outcome;
use crate::time::Instant;

/// A read that failed, and did not succeed since.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FailedRead {
    pub(crate) backoff: Backoff,
    /// What EC2 answered last. A try without an answer does not replace an answer.
    pub(crate) outcome: Outcome,
}

impl FailedRead {
    /// The read failed after `before`.
    pub(super) fn after(
        before: Option<&Self>,
        id: &SubnetId,
        outcome: Outcome,
        now: Instant,
    ) -> Self {
        let waits = backoff::of_describe(Some(outcome));
        let answer = before
            .map(|before| before.outcome)
            .filter(|before| !is_answer(outcome) && is_answer(*before));
        Self {
            backoff: waits.after(before.map(|before| &before.backoff), id.as_str(), now),
            outcome: answer.unwrap_or(outcome),
        }
    }
}

const fn is_answer(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::Unknown | Outcome::Throttled)
}
