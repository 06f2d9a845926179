//! The writes of one block that failed: when each is tried again, and what the API server said if it refused it.
//! Rule: R5.35.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::time::Duration;

use super::failed_writes::shortened;
use super::{Facts, WriteOutcome};
use crate::backoff::{Backoff, FAILURES};
use crate::names::BlockName;
use crate::step::BlockStep;
use crate::time::Instant;

/// A failed write that is not tried again within this time after its backoff is not needed any more. It is longer than
/// a round of many writes that are not answered.
const KEEP: Duration = Duration::from_mins(10);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct FailedStep {
    backoff: Backoff,
    /// The text of the first refusal of this row of failures; None: not refused, as far as is known. Later texts can
    /// differ each time, and each would be another Event and another status.
    refused: Option<String>,
}

/// The failed writes of one block, each without its version.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BlockFailures(BTreeMap<BlockStep, FailedStep>);

impl BlockFailures {
    /// True if this write may be done now.
    pub(crate) fn is_due(&self, step: &BlockStep, now: Instant) -> bool {
        self.failed(step)
            .is_none_or(|failed| failed.backoff.until <= now)
    }

    /// The text of the API server, if it refused this write when it was last answered, or since then did not answer.
    pub(crate) fn refusal(&self, step: &BlockStep) -> Option<&str> {
        self.failed(step)?.refused.as_deref()
    }

    fn failed(&self, step: &BlockStep) -> Option<&FailedStep> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&step.clone().without_versions())
    }

    #[cfg(feature = "timestamps")]
    pub(super) fn each_timestamp(&mut self, change: &mut impl FnMut(&mut Instant)) {
        for failed in self.0.values_mut() {
            failed.backoff.each_timestamp(change);
        }
    }
}

impl Facts {
    /// A write of a step of a block was answered. The answer can come after the end of the block.
    pub(super) fn block_wrote(
        &mut self,
        name: &BlockName,
        step: &BlockStep,
        outcome: &WriteOutcome,
        now: Instant,
    ) {
        if !self.blocks.contains_key(name) {
            return;
        }
        let refused = match outcome {
            WriteOutcome::Done(_) | WriteOutcome::NotFound | WriteOutcome::AlreadyExists => {
                return self.block_write_succeeded(name, step);
            }
            // A watch will show the change soon, and with it what there is to write.
            WriteOutcome::Conflict => return,
            WriteOutcome::Refused(text) => Some(shortened(text)),
            WriteOutcome::Unknown => None,
        };
        let BlockFailures(failures) = self.block_failures.entry(name.clone()).or_default();
        failures.retain(|_, failed| failed.backoff.until.plus(KEEP) > now);
        let step = step.clone().without_versions();
        let before = failures.remove(&step);
        let backoff = before.as_ref().map(|before| &before.backoff);
        let backoff = FAILURES.after(backoff, name.as_str(), now);
        let refused = before.and_then(|before| before.refused).or(refused);
        failures.insert(step, FailedStep { backoff, refused });
    }

    fn block_write_succeeded(&mut self, name: &BlockName, step: &BlockStep) {
        let Some(BlockFailures(failures)) = self.block_failures.get_mut(name) else {
            return;
        };
        failures.remove(&step.clone().without_versions());
        if failures.is_empty() {
            self.block_failures.remove(name);
        }
    }
}
