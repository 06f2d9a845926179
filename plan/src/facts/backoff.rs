//! How long what failed waits before it is tried again. Each address waits for itself.

use alloc::string::String;

use crate::buckets::LONGEST_WAIT;
use crate::classify::Outcome;
use crate::names::Millis;
use crate::step::{Call, Read, Step, Write};

/// The first wait; it doubles with each failure, up to [`LONGEST_WAIT`].
const FIRST_WAIT: Millis = Millis::seconds(1);

/// From the sixth failure in a row on, the wait is the longest one, and none is counted any more.
const LONGEST_FROM: u32 = 6;

/// A refusal for want of permission is tried again at most twice a minute.
const DENIED_WAIT: Millis = LONGEST_WAIT;

/// What failed, and when it may be tried again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Backoff {
    /// When it failed.
    pub(crate) at: Millis,
    /// When to try again at the earliest.
    pub(crate) until: Millis,
    /// How many times in a row.
    pub(crate) times: u32,
}

impl Backoff {
    /// One failure more, of what bears this name: the name is in the wait, so that what failed in one
    /// moment does not come back in one. `outcome` is EC2's word, where it was asked.
    pub(crate) fn after(
        before: Option<&Self>,
        name: &str,
        outcome: Option<Outcome>,
        now: Millis,
    ) -> Self {
        let times = before.map_or(1, |before| LONGEST_FROM.min(before.times + 1));
        let longest = LONGEST_WAIT.0.min(FIRST_WAIT.0 << (times - 1));
        let spread = name.bytes().fold(u64::from(times), |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(byte.into())
        });
        let jittered = longest - (spread % 256).saturating_mul(longest) / 1024;
        let wait = if outcome == Some(Outcome::Denied) {
            DENIED_WAIT.0
        } else {
            jittered
        };
        Self {
            at: now,
            until: now.plus(Millis(wait)),
            times,
        }
    }

    fn cut_short(&mut self, now: Millis) {
        self.until = self.until.min(now);
    }

    pub(super) fn each_moment(&mut self, change: &mut impl FnMut(&mut Millis)) {
        change(&mut self.at);
        change(&mut self.until);
    }
}

/// A call that EC2 refused, or whose outcome is not known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FailedCall {
    pub(crate) call: Call,
    pub(crate) outcome: Outcome,
    /// EC2's code and sentence; the code alone where it did not permit it.
    pub(crate) said: String,
    pub(crate) backoff: Backoff,
}

/// What failed for one IP, and waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Failures {
    /// EC2's last answer, where it was no success.
    pub(crate) call: Option<FailedCall>,
    /// No call before then, whatever changes: EC2 did not permit one. And how many in a row it did not.
    denied: Option<(Millis, u32)>,
    write: Option<(Write, Backoff)>,
    read: Option<(Read, Backoff)>,
}

impl Failures {
    pub(crate) fn call_failed(
        &mut self,
        name: &str,
        call: Call,
        outcome: Outcome,
        said: String,
        now: Millis,
    ) {
        let before = self.call.as_ref().map(|failed| &failed.backoff);
        let backoff = Backoff::after(before, name, Some(outcome), now);
        if outcome == Outcome::Denied {
            self.denied = Some((backoff.until, LONGEST_FROM.min(self.times_denied() + 1)));
        }
        self.call = Some(FailedCall {
            call,
            outcome,
            said,
            backoff,
        });
    }

    pub(crate) fn call_succeeded(&mut self) {
        self.call = None;
        self.denied = None;
    }

    /// What is asked of EC2 is another thing now.
    pub(crate) fn call_is_over(&mut self) {
        self.call = None;
    }

    /// How many calls in a row EC2 did not permit.
    pub(crate) fn times_denied(&self) -> u32 {
        self.denied.map_or(0, |(_, times)| times)
    }

    pub(crate) fn write_failed(&mut self, name: &str, write: Write, now: Millis) {
        let before = self.write.as_ref().map(|(_, backoff)| backoff);
        let backoff = Backoff::after(before, name, None, now);
        self.write = Some((write, backoff));
    }

    pub(crate) fn write_succeeded(&mut self) {
        self.write = None;
    }

    pub(crate) fn read_failed(
        &mut self,
        name: &str,
        read: Read,
        outcome: Option<Outcome>,
        now: Millis,
    ) {
        let before = self.read.as_ref().map(|(_, backoff)| backoff);
        let backoff = Backoff::after(before, name, outcome, now);
        self.read = Some((read, backoff));
    }

    /// Nothing failed, and waits.
    pub(super) const fn none(&self) -> bool {
        self.call.is_none() && self.denied.is_none() && self.write.is_none() && self.read.is_none()
    }

    pub(super) const fn waits_to_read(&self) -> bool {
        self.read.is_some()
    }

    /// Reads of this kind are answered again.
    pub(crate) fn read_succeeded(&mut self, answered: impl Fn(&Read) -> bool) {
        if self.read.as_ref().is_some_and(|(read, _)| answered(read)) {
            self.read = None;
        }
    }

    /// The API server had news that matter here: it may answer again.
    pub(crate) fn news(&mut self, now: Millis) {
        let waits = [
            self.write.as_mut().map(|(_, backoff)| backoff),
            self.read.as_mut().map(|(_, backoff)| backoff),
        ];
        for backoff in waits.into_iter().flatten() {
            backoff.cut_short(now);
        }
    }

    pub(super) fn each_moment(&mut self, change: &mut impl FnMut(&mut Millis)) {
        let waits = [
            self.call.as_mut().map(|failed| &mut failed.backoff),
            self.write.as_mut().map(|(_, backoff)| backoff),
            self.read.as_mut().map(|(_, backoff)| backoff),
        ];
        for backoff in waits.into_iter().flatten() {
            backoff.each_moment(change);
        }
        if let Some((until, _)) = &mut self.denied {
            change(until);
        }
    }

    /// When a step may be taken, if not now. A write or read waits for its like only: another one is
    /// what something that changed has led to.
    pub(crate) fn due(&self, step: &Step, now: Millis) -> Option<Millis> {
        let until = match step {
            Step::Call(_) => {
                let failed = self.call.as_ref().map(|failed| failed.backoff.until);
                failed.max(self.denied.map(|(until, _)| until))
            }
            Step::Write(write) => self
                .write
                .as_ref()
                .filter(|(failed, _)| failed == write)
                .map(|(_, backoff)| backoff.until),
            Step::Read(read) => self
                .read
                .as_ref()
                .filter(|(failed, _)| failed == read)
                .map(|(_, backoff)| backoff.until),
        };
        until.filter(|until| *until > now)
    }
}
