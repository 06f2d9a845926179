//! Limits how often EC2 is asked about the instance of a node, and how often the taint of the node is written.
//! Rule: R3.39.

use core::time::Duration;

use crate::backoff::{Backoff, FAILURES, QUESTIONS, REPETITIONS};
use crate::facts::WriteOutcome;
use crate::names::NodeName;
use crate::time::Instant;

/// Time between the first questions: EC2 shows a new state of an instance with a delay of some seconds.
const QUESTION_INTERVAL: Duration = Duration::from_secs(2);
/// Number of questions with that interval: half a minute (R3.39).
const AT_FIRST: u32 = 15;
/// Time in which the watch shows the result of a write.
const WATCH_LAG: Duration = Duration::from_secs(2);

/// When the next question about a node and the next write of its taint are due.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodePace {
    questions: u32,
    question: Option<Backoff>,
    question_due: Instant,
    write: Option<Backoff>,
    write_due: Instant,
}

impl NodePace {
    /// A question that was begun at `begun` has ended.
    pub(super) fn asked(&mut self, node: &NodeName, begun: Instant, now: Instant) {
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
                self.write_due = now.plus(WATCH_LAG);
                return;
            }
            // The watch will show the change soon.
            WriteOutcome::Conflict => REPETITIONS,
            _ => FAILURES,
        };
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

    #[cfg(feature = "timestamps")]
    pub(super) fn each_moment(&mut self, change: &mut impl FnMut(&mut Instant)) {
        change(&mut self.question_due);
        change(&mut self.write_due);
        for backoff in [&mut self.question, &mut self.write].into_iter().flatten() {
            backoff.each_moment(change);
        }
    }
}
