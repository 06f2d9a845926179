//! Rules that make writes fail.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;

use super::write::ProxiedWrite;

/// The id of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(pub(super) usize);

/// The effect of a rule on a write.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// The write waits before it is executed.
    HoldBefore,
    /// The write is executed, and its answer is held.
    HoldAfter,
    /// The write is executed, and the connection is closed without an answer.
    LoseAnswer,
    /// The write is executed at once and answered after this time.
    DelayAnswer(Duration),
    /// The write is executed twice, and answered with one of the two answers.
    Twice(Copy),
    /// The write is answered with this code and not executed.
    Refuse(u16),
}

/// Which of two answers is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copy {
    First,
    Second,
}

/// Whether a rule applies to a write.
type Matches = Box<dyn Fn(&ProxiedWrite) -> bool + Send>;

/// A fault for the next write that matches. If several rules match, only the oldest one has an effect.
pub struct Rule {
    pub(super) fault: Fault,
    matches: Matches,
    skip: usize,
    forever: bool,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} after {}", self.fault, self.skip)
    }
}

impl Rule {
    fn new(fault: Fault, matches: impl Fn(&ProxiedWrite) -> bool + Send + 'static) -> Self {
        Self {
            fault,
            matches: Box::new(matches),
            skip: 0,
            forever: false,
        }
    }

    /// Holds the write before its execution, until it is released.
    pub fn hold_before(matches: impl Fn(&ProxiedWrite) -> bool + Send + 'static) -> Self {
        Self::new(Fault::HoldBefore, matches)
    }

    /// Executes the write, and holds its answer until it is released.
    pub fn hold_after(matches: impl Fn(&ProxiedWrite) -> bool + Send + 'static) -> Self {
        Self::new(Fault::HoldAfter, matches)
    }

    /// Executes the write, and closes the connection without an answer.
    pub fn lose_answer(matches: impl Fn(&ProxiedWrite) -> bool + Send + 'static) -> Self {
        Self::new(Fault::LoseAnswer, matches)
    }

    /// Executes the write at once, and answers after this time.
    pub fn delay_answer(
        time: Duration,
        matches: impl Fn(&ProxiedWrite) -> bool + Send + 'static,
    ) -> Self {
        Self::new(Fault::DelayAnswer(time), matches)
    }

    /// Executes the write twice, and answers with the first answer.
    pub fn twice(matches: impl Fn(&ProxiedWrite) -> bool + Send + 'static) -> Self {
        Self::new(Fault::Twice(Copy::First), matches)
    }

    /// Executes the write twice, and answers with the second answer, as after a retry below HTTP.
    pub fn twice_answered_last(matches: impl Fn(&ProxiedWrite) -> bool + Send + 'static) -> Self {
        Self::new(Fault::Twice(Copy::Second), matches)
    }

    /// Answers with this HTTP status, without an execution.
    pub fn refuse(code: u16, matches: impl Fn(&ProxiedWrite) -> bool + Send + 'static) -> Self {
        Self::new(Fault::Refuse(code), matches)
    }

    /// The number of matching writes before the rule has an effect.
    #[must_use]
    pub fn skip(self, count: usize) -> Self {
        Self {
            skip: count,
            ..self
        }
    }

    /// Applies the rule to every write that matches, until the rule is ended.
    #[must_use]
    pub fn forever(self) -> Self {
        Self {
            forever: true,
            ..self
        }
    }
}

/// How a held request continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    GoOn,
    Drop,
}

/// A rule, and its state.
#[derive(Debug)]
pub(super) struct Ordered {
    rule: Rule,
    used: bool,
    /// The numbers of the writes that it has affected.
    pub(super) struck: Vec<usize>,
    release: watch::Sender<Option<Release>>,
}

impl Ordered {
    pub(super) fn new(rule: Rule) -> Self {
        Self {
            rule,
            used: false,
            struck: Vec::new(),
            release: watch::Sender::new(None),
        }
    }

    /// Whether the rule affects this write. Counts the write as one that matches.
    pub(super) fn strikes(&mut self, write: &ProxiedWrite) -> Option<Fault> {
        if self.used || !(self.rule.matches)(write) {
            return None;
        }
        if let Some(left) = self.rule.skip.checked_sub(1) {
            self.rule.skip = left;
            return None;
        }
        self.used = !self.rule.forever;
        Some(self.rule.fault)
    }

    /// The signal for the held request to continue.
    pub(super) fn released(&self) -> watch::Receiver<Option<Release>> {
        self.release.subscribe()
    }

    pub(super) fn end(&mut self, release: Release) {
        self.used = true;
        self.release.send_replace(Some(release));
    }
}
