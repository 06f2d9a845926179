//! What failed for one IP, and when it is tried again. Each address waits for itself, and for the end of an outage.
//! Rules: R5.14 to R5.16.

use alloc::boxed::Box;
use alloc::string::String;
use core::time::Duration;

use crate::backoff::{self, Backoff, FAILURES};
use crate::outcome::{Action, Outcome};
use crate::step::{Call, Read, Step, Write};
use crate::time::Instant;

/// A healthy attach takes less (R3.31).
pub(crate) const HEALTHY_ATTACH: Duration = Duration::from_secs(2);

/// From the sixth denial in a row on, none is counted any more.
const MOST_DENIED: u32 = 6;

/// A call that EC2 refused, or whose outcome is not known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FailedCall {
    pub(crate) call: Call,
    pub(crate) outcome: Outcome,
    /// EC2's code and sentence; the code alone where it did not permit it.
    pub(crate) said: String,
    /// When it failed.
    pub(crate) at: Instant,
    /// When the first in a row failed.
    pub(crate) since: Instant,
    /// An outage of its action has ended since the first failure in a row: what fails still is this call.
    served: bool,
    /// Its own wait; None: it waits for the outage of its action alone.
    backoff: Option<Backoff>,
}

/// EC2 did not permit calls of this address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Denied {
    /// How many in a row.
    times: u32,
    /// The action is served to others since.
    served: bool,
    /// It was so already when the last one was not permitted: it is this address that is not.
    alone: bool,
}

/// What failed for one IP, and waits. Boxed: of nearly all IPs nothing does.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Failures {
    /// EC2's last answer, where it was no success.
    pub(crate) call: Option<Box<FailedCall>>,
    denied: Option<Denied>,
    write: Option<Box<(Write, Backoff)>>,
    /// A pod that waits could not be told why: the others wait with it to be told.
    telling: Option<Backoff>,
    read: Option<Box<(Read, Backoff)>>,
}

impl Failures {
    /// True if it is a failure of all calls of that action, as far as is known.
    pub(crate) fn call_failed(
        &mut self,
        name: &str,
        call: Call,
        outcome: Outcome,
        said: String,
        now: Instant,
    ) -> bool {
        let before = self.call.take();
        let same = before
            .as_ref()
            .filter(|before| before.call.action() == call.action());
        let since = same.map_or(now, |before| before.since);
        let mut served = same.is_some_and(|before| before.served);
        if outcome == Outcome::Denied {
            let denied = self.denied.take();
            served |= denied.as_ref().is_some_and(|denied| denied.served);
            self.denied = Some(Denied {
                times: MOST_DENIED.min(denied.map_or(0, |denied| denied.times) + 1),
                served,
                alone: served,
            });
        }
        // Throttling is never of one call.
        let of_all = outcome == Outcome::Throttled || outcome.is_of_all() && !served;
        let backoff = before.as_ref().and_then(|before| before.backoff.as_ref());
        let backoff = (!of_all).then(|| FAILURES.after(backoff, name, now));
        self.call = Some(Box::new(FailedCall {
            call,
            outcome,
            said,
            at: now,
            since,
            served,
            backoff,
        }));
        of_all
    }

    pub(crate) fn call_succeeded(&mut self) {
        self.call = None;
        self.denied = None;
    }

    /// An outage of this action has ended: what failed in it is tried at once.
    pub(crate) fn served(&mut self, action: Action, now: Instant) {
        if let Some(failed) = self.call.as_mut().filter(|it| it.call.action() == action) {
            failed.served = true;
            if let Some(backoff) = &mut failed.backoff {
                backoff.cut_short(now);
            }
        }
        if let Some(denied) = &mut self.denied {
            denied.served = true;
        }
    }

    /// What is asked of EC2 is another thing now.
    pub(crate) fn call_is_over(&mut self) {
        self.call = None;
    }

    /// The last call that failed, where it waits for itself.
    pub(crate) fn own_call(&self) -> Option<&FailedCall> {
        self.call
            .as_deref()
            .filter(|failed| failed.backoff.is_some())
    }

    /// How many calls in a row EC2 did not permit.
    pub(crate) fn times_denied(&self) -> u32 {
        self.denied.as_ref().map_or(0, |denied| denied.times)
    }

    /// Does EC2 permit others what it does not permit this address?
    pub(crate) fn denied_alone(&self) -> bool {
        self.denied.as_ref().is_some_and(|denied| denied.alone)
    }

    pub(crate) fn write_failed(&mut self, name: &str, write: Write, now: Instant) {
        if tells_why(&write) {
            self.telling = Some(FAILURES.after(self.telling.as_ref(), name, now));
            return;
        }
        let before = self.write.as_deref().map(|(_, backoff)| backoff);
        let backoff = FAILURES.after(before, name, now);
        self.write = Some(Box::new((write, backoff)));
    }

    pub(crate) fn write_succeeded(&mut self) {
        self.write = None;
        self.telling = None;
    }

    pub(crate) fn read_failed(
        &mut self,
        name: &str,
        read: Read,
        outcome: Option<Outcome>,
        now: Instant,
    ) {
        let before = self.read.as_deref().map(|(_, backoff)| backoff);
        let backoff = backoff::of_describe(outcome).after(before, name, now);
        self.read = Some(Box::new((read, backoff)));
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
        if self.read.as_deref().is_some_and(|(read, _)| answered(read)) {
            self.read = None;
        }
    }

    /// The API server had news that matter here: it may answer again.
    pub(crate) fn news(&mut self, now: Instant) {
        for backoff in self.of_api_server() {
            backoff.cut_short(now);
        }
    }

    fn of_api_server(&mut self) -> impl Iterator<Item = &mut Backoff> {
        let write = self.write.as_deref_mut().map(|(_, backoff)| backoff);
        let read = self.read.as_deref_mut().map(|(_, backoff)| backoff);
        [write, self.telling.as_mut(), read].into_iter().flatten()
    }

    #[cfg(feature = "timestamps")]
    pub(super) fn each_moment(&mut self, change: &mut impl FnMut(&mut Instant)) {
        if let Some(failed) = &mut self.call {
            change(&mut failed.at);
            change(&mut failed.since);
        }
        let call = self.call.as_mut().and_then(|call| call.backoff.as_mut());
        if let Some(backoff) = call {
            backoff.each_moment(change);
        }
        for backoff in self.of_api_server() {
            backoff.each_moment(change);
        }
    }

    #[cfg(feature = "timestamps")]
    /// As [`super::Facts::forget_stale_reads`].
    pub(super) fn forget_moments(&mut self, now: Instant) {
        if let Some(failed) = &mut self.call {
            if now.since(failed.since) >= HEALTHY_ATTACH {
                failed.since = Instant::START;
            }
            if failed.outcome != Outcome::Denied {
                failed.at = Instant::START;
            }
        }
    }

    /// When a step may be taken, if not now. A write or read waits for its like only: another one is
    /// what something that changed has led to.
    pub(crate) fn due(&self, step: &Step, now: Instant) -> Option<Instant> {
        let until = match step {
            Step::Call(_) => {
                let failed = self.call.as_ref().and_then(|it| it.backoff.as_ref());
                failed.map(|backoff| backoff.until)
            }
            Step::Write(write) if tells_why(write) => {
                self.telling.as_ref().map(|backoff| backoff.until)
            }
            Step::Write(write) => self
                .write
                .as_deref()
                .filter(|(failed, _)| failed == write)
                .map(|(_, backoff)| backoff.until),
            Step::Read(read) => self
                .read
                .as_deref()
                .filter(|(failed, _)| failed == read)
                .map(|(_, backoff)| backoff.until),
        };
        until.filter(|until| *until > now)
    }
}

fn tells_why(write: &Write) -> bool {
    matches!(write, Write::Gate(gate) if gate.tells_why())
}
