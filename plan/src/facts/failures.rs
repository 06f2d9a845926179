//! The failures of one IP, and when the failed step is tried again. Each address has its own backoff, and also waits
//! for the end of an outage.
//! Rules: R5.14 to R5.16, R5.34.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use core::time::Duration;

use super::failed_writes::FailedWrites;
use crate::backoff::{self, Backoff, FAILURES};
use crate::names::PodUid;
use crate::outcome::{Action, Outcome};
use crate::step::{Call, Read, Step, Write};
use crate::time::Instant;

/// A healthy attach takes less than this (R3.31).
pub(crate) const HEALTHY_ATTACH: Duration = Duration::from_secs(2);

/// A failed read that is not tried again within this time after its backoff is not needed any more.
const KEEP_READS: Duration = Duration::from_mins(1);

/// Maximum count of denials in a row.
const MOST_DENIED: u32 = 6;

/// A call that EC2 refused, or whose outcome is not known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FailedCall {
    pub(crate) call: Call,
    pub(crate) outcome: Outcome,
    /// As `CallError::text`.
    pub(crate) message: String,
    /// When the call last failed.
    pub(crate) at: Instant,
    /// When the first call of this row of failures failed.
    pub(crate) since: Instant,
    /// True if an outage of its action has ended since the first failure of the row: only this call still fails.
    served: bool,
    /// The backoff of this call; None: it waits only for the outage of its action.
    backoff: Option<Backoff>,
}

/// EC2 denied calls for this address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Denied {
    /// Number of denials in a row.
    times: u32,
    /// True if an outage has ended since: EC2 serves other addresses.
    served: bool,
    /// True if `served` was true already at the last denial: EC2 denies only this address.
    alone: bool,
}

/// The failed steps of one IP that wait. The values are boxed, because nearly all IPs have none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Failures {
    /// The last call, if it failed.
    pub(crate) call: Option<Box<FailedCall>>,
    denied: Option<Denied>,
    pub(crate) writes: FailedWrites,
    /// The reads that failed. A decision goes on past a read that waits, so that several can fail in turn.
    reads: BTreeMap<Read, Box<Backoff>>,
}

impl Failures {
    /// Notes a failed call. Returns true if all calls of its action would fail now, as far as is known.
    pub(crate) fn call_failed(
        &mut self,
        name: &str,
        call: Call,
        outcome: Outcome,
        message: String,
        now: Instant,
    ) -> bool {
        let before = self.call.take();
        let same = before
            .as_ref()
            .filter(|before| before.call.action() == call.action());
        let since = same.map_or(now, |before| before.since);
        let mut served = same.is_some_and(|before| before.served);
        if outcome.is_denial() {
            let denied = self.denied.take();
            served |= denied.as_ref().is_some_and(|denied| denied.served);
            self.denied = Some(Denied {
                times: MOST_DENIED.min(denied.map_or(0, |denied| denied.times) + 1),
                served,
                alone: served,
            });
        }
        // Throttling never concerns only one call.
        let of_all = outcome == Outcome::Throttled || outcome.is_of_all() && !served;
        let backoff = before.as_ref().and_then(|before| before.backoff.as_ref());
        let backoff = (!of_all).then(|| FAILURES.after(backoff, name, now));
        self.call = Some(Box::new(FailedCall {
            call,
            outcome,
            message,
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

    /// An outage of this action has ended: calls that failed in it are tried at once.
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

    /// The claim or the spec changed: another call is needed now.
    pub(crate) fn call_is_over(&mut self) {
        self.call = None;
    }

    /// The last failed call, if it has a backoff of its own and is of this action. The failure of another action says
    /// nothing about this one.
    pub(crate) fn own_call(&self, action: Action) -> Option<&FailedCall> {
        self.call
            .as_deref()
            .filter(|failed| failed.backoff.is_some() && failed.call.action() == action)
    }

    /// Number of denials in a row.
    pub(crate) fn times_denied(&self) -> u32 {
        self.denied.as_ref().map_or(0, |denied| denied.times)
    }

    /// True if EC2 denies only this address.
    pub(crate) fn denied_alone(&self) -> bool {
        self.denied.as_ref().is_some_and(|denied| denied.alone)
    }

    /// A write failed. `refused`: the text of the API server, if it refused the write.
    pub(crate) fn write_failed(
        &mut self,
        name: &str,
        write: Write,
        refused: Option<&str>,
        now: Instant,
    ) {
        self.writes.failed(name, write, refused, now);
    }

    /// The API server has carried out this write, or answered that there is nothing to write.
    pub(crate) fn write_succeeded(&mut self, write: &Write, now: Instant) {
        self.writes.succeeded(write, now);
    }

    /// This pod is gone or does not ask for the IP any more: nothing is written to it.
    pub(crate) fn forget_pod(&mut self, uid: &PodUid) {
        self.writes.forget_pod(uid);
    }

    pub(crate) fn read_failed(
        &mut self,
        name: &str,
        read: Read,
        outcome: Option<Outcome>,
        now: Instant,
    ) {
        self.reads
            .retain(|_, backoff| backoff.until.plus(KEEP_READS) > now);
        let before = self.reads.get(&read).map(Box::as_ref);
        let backoff = backoff::of_describe(outcome).after(before, name, now);
        self.reads.insert(read, Box::new(backoff));
    }

    /// True if no failed step waits.
    pub(super) fn none(&self) -> bool {
        let api_server = self.writes.is_empty() && self.reads.is_empty();
        self.call.is_none() && self.denied.is_none() && api_server
    }

    pub(super) fn waits_to_read(&self) -> bool {
        !self.reads.is_empty()
    }

    /// Reads for which `answered` is true succeed again: ends their backoff. True if one of them waited.
    pub(crate) fn read_succeeded(&mut self, answered: impl Fn(&Read) -> bool) -> bool {
        let before = self.reads.len();
        self.reads.retain(|read, _| !answered(read));
        self.reads.len() < before
    }

    /// A relevant object changed, so the API server answers: ends the backoff of reads and writes.
    pub(crate) fn end_backoff(&mut self, now: Instant) {
        for backoff in self.of_api_server() {
            backoff.cut_short(now);
        }
    }

    fn of_api_server(&mut self) -> impl Iterator<Item = &mut Backoff> {
        let reads = self.reads.values_mut().map(Box::as_mut);
        self.writes.backoffs().chain(reads)
    }

    #[cfg(feature = "timestamps")]
    pub(super) fn each_timestamp(&mut self, change: &mut impl FnMut(&mut Instant)) {
        if let Some(failed) = &mut self.call {
            change(&mut failed.at);
            change(&mut failed.since);
        }
        let call = self.call.as_mut().and_then(|call| call.backoff.as_mut());
        if let Some(backoff) = call {
            backoff.each_timestamp(change);
        }
        for backoff in self.of_api_server() {
            backoff.each_timestamp(change);
        }
    }

    #[cfg(feature = "timestamps")]
    /// As [`super::Facts::forget_stale_reads`].
    pub(super) fn forget_timestamps(&mut self, now: Instant) {
        self.writes.forget_unneeded(now);
        if let Some(failed) = &mut self.call {
            if now.since(failed.since) >= HEALTHY_ATTACH {
                failed.since = Instant::START;
            }
            if !failed.outcome.is_denial() {
                failed.at = Instant::START;
            }
        }
    }

    /// When a step may be done; None: now. A call waits only for a failure of its action, a write or read only for a
    /// failure of the same write or read: a different one follows from a change.
    pub(crate) fn due(&self, step: &Step, now: Instant) -> Option<Instant> {
        let until = match step {
            Step::Call(call) => {
                let failed = self.own_call(call.action());
                let backoff = failed.and_then(|failed| failed.backoff.as_ref());
                backoff.map(|backoff| backoff.until)
            }
            Step::Write(write) => return self.writes.due(write, now),
            Step::Read(read) => self.reads.get(read).map(|backoff| backoff.until),
        };
        until.filter(|until| *until > now)
    }
}
