//! Limits how often EC2 is asked about the instance of a node, and how often the taint of the node is written. Keeps why
//! that is refused.
//! Rules: R3.39, R3.42.

use alloc::string::String;
use core::time::Duration;

use super::failed_writes::shortened;
use crate::backoff::{Backoff, FAILURES, QUESTIONS, REPETITIONS};
use crate::ec2::QUESTION_INTERVAL;
use crate::facts::WriteOutcome;
use crate::names::NodeName;
use crate::outcome::Outcome;
use crate::time::Instant;

/// Number of questions with `QUESTION_INTERVAL` between them: half a minute (R3.39).
const AT_FIRST: u32 = 15;
/// Time in which the watch shows the result of a write.
const WATCH_LAG: Duration = Duration::from_secs(2);

/// When the next question about a node and the next write of its taint are due.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodePace {
    questions: u32,
    question: Option<Backoff>,
    question_due: Instant,
    /// How EC2 denied the last question; None: it was not denied.
    denied: Option<Outcome>,
    write: Option<Backoff>,
    write_due: Instant,
    /// The text of the first refusal of the writes that have failed since the last one that succeeded. Later texts can
    /// differ each time, and each would be another Event.
    refused: Option<String>,
}

impl NodePace {
    /// A question that was begun at `begun` has ended. `failed`: how, if EC2 did not answer it.
    pub(super) fn asked(
        &mut self,
        node: &NodeName,
        failed: Option<Outcome>,
        begun: Instant,
        now: Instant,
    ) {
        self.denied = failed.filter(|outcome| outcome.is_denial());
        if self.questions < AT_FIRST {
            self.questions += 1;
            self.question_due = begun.plus(QUESTION_INTERVAL);
            return;
        }
        let backoff = QUESTIONS.after(self.question.as_ref(), node.as_str(), now);
        self.question_due = backoff.until;
        self.question = Some(backoff);
    }

    /// A write has ended.
    pub(super) fn wrote(&mut self, node: &NodeName, outcome: &WriteOutcome, now: Instant) {
        let waits = match outcome {
            WriteOutcome::Done(_) => {
                self.write = None;
                self.refused = None;
                self.write_due = now.plus(WATCH_LAG);
                return;
            }
            // The watch will show the change soon.
            WriteOutcome::Conflict => REPETITIONS,
            _ => FAILURES,
        };
        if let WriteOutcome::Refused(text) = outcome {
            self.refused.get_or_insert_with(|| shortened(text));
        }
        let backoff = waits.after(self.write.as_ref(), node.as_str(), now);
        self.write_due = backoff.until;
        self.write = Some(backoff);
    }

    /// When the next question may be asked.
    pub(crate) const fn question_due(&self) -> Instant {
        self.question_due
    }

    /// When the next write may be made.
    pub(crate) const fn write_due(&self) -> Instant {
        self.write_due
    }

    /// How EC2 denied the last question; None: it was not denied.
    pub(crate) const fn denied(&self) -> Option<Outcome> {
        self.denied
    }

    /// The text of the API server, if it refuses the write.
    pub(crate) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    #[cfg(feature = "timestamps")]
    pub(super) fn each_timestamp(&mut self, change: &mut impl FnMut(&mut Instant)) {
        change(&mut self.question_due);
        change(&mut self.write_due);
        for backoff in [&mut self.question, &mut self.write].into_iter().flatten() {
            backoff.each_timestamp(change);
        }
    }
}
