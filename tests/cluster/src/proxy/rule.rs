//! Rules for the handling of writes.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;

use super::write::ProxiedWrite;

/// A fault that was ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(pub(super) usize);

/// The effect of a rule on a write.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// Waits before it is carried out.
    HoldBefore,
    /// Waits after it was carried out: the answer is kept back.
    HoldAfter,
    /// Carried out; the connection is closed without an answer.
    LoseAnswer,
    /// Executed at once, answered after this time.
    DelayAnswer(Duration),
    /// Carried out twice; answered as one of the two was.
    Twice(Copy),
    /// Answered with this code; not carried out.
    Refuse(u16),
}

/// Which answer of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copy {
    First,
    Second,
}

/// Whether a write is meant.
type Matches = Box<dyn Fn(&ProxiedWrite) -> bool + Send>;

/// A fault for the next write that matches; the oldest rule that matches strikes, and no other does.
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

    /// Waits before it is carried out, until it is released.
    pub fn hold_before(matches: impl Fn(&ProxiedWrite) -> bool + Send + 'static) -> Self {
        Self::new(Fault::HoldBefore, matches)
    }

    /// Is carried out, and its answer waits until it is released.
    pub fn hold_after(matches: impl Fn(&ProxiedWrite) -> bool + Send + 'static) -> Self {
        Self::new(Fault::HoldAfter, matches)
    }

    /// Is carried out; the connection is closed without an answer.
    pub fn lose_answer(matches: impl Fn(&ProxiedWrite) -> bool + Send + 'static) -> Self {
        Self::new(Fault::LoseAnswer, matches)
    }

    /// Is executed at once, and answered after this time.
    pub fn delay_answer(
        time: Duration,
        matches: impl Fn(&ProxiedWrite) -> bool + Send + 'static,
    ) -> Self {
        Self::new(Fault::DelayAnswer(time), matches)
    }

    /// Is carried out twice, and answered as the first was.
    pub fn twice(matches: impl Fn(&ProxiedWrite) -> bool + Send + 'static) -> Self {
        Self::new(Fault::Twice(Copy::First), matches)
    }

    /// Is executed twice, with the answer of the second execution, as after a retry below HTTP.
    pub fn twice_answered_last(matches: impl Fn(&ProxiedWrite) -> bool + Send + 'static) -> Self {
        Self::new(Fault::Twice(Copy::Second), matches)
    }

    /// Is answered with this HTTP status and not carried out.
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

    /// Every write that matches, until the rule is ended.
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
    /// Numbers of the writes that it has taken its effect on.
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

    /// Whether it strikes this one, which counts as one of those that match.
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
