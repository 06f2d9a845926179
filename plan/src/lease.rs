//! Leader election with one `Lease`, as a pure function of the known `Lease` and of the time when this process saw it.
//! Rules: R6.1, R6.2, R6.12, R6.14, R6.15.
//!
//! No wall clock is used: a `Lease` has expired when this process has not seen it change for its duration, on its own
//! monotonic clock. Leadership only saves work. If two processes lead, resource versions and the refusals of EC2 keep
//! the state safe.

mod intent;
mod record;
mod resign;

use core::time::Duration;

use crate::names::ResourceVersion;
use crate::time::Instant;
use intent::Intent;
pub use record::{Identity, Record, Spec, Timings};

/// The next step of an election.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeaseStep {
    /// Quorum GET of the `Lease`.
    Read,
    /// Create the `Lease`.
    Create(Spec),
    /// Replace the spec of the `Lease`, guarded by this `resourceVersion`.
    Update(ResourceVersion, Spec),
    /// Do nothing until this time.
    Wait(Instant),
}

/// The answer to a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeaseAnswer {
    /// The present `Lease`; None: it does not exist.
    Read(Option<Record>),
    /// Written, with the new `Lease`.
    Wrote(Record),
    /// Another process wrote first.
    Conflict,
    /// Failed, or the outcome is not known.
    Failed,
}

/// Until when this process leads, according to its lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Leadership {
    /// It makes decisions until this time; None: it does not lead.
    pub until: Option<Instant>,
    /// It begins mutating calls until this time: a call must end before another process can lead.
    pub calls_until: Option<Instant>,
}

impl Leadership {
    /// For a process without other replicas.
    pub const ALWAYS: Self = Self {
        until: Some(Instant::NEVER),
        calls_until: Some(Instant::NEVER),
    };

    /// True if the process leads.
    #[must_use]
    pub fn holds(self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// True if the process may begin a mutating call.
    #[must_use]
    pub fn may_call(self, now: Instant) -> bool {
        self.holds(now) && self.calls_until.is_some_and(|until| now < until)
    }

    /// When leadership ends if the lease is not renewed.
    #[must_use]
    pub const fn ends(self) -> Option<Instant> {
        self.until
    }
}

/// The election from the view of one replica.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Election {
    me: Identity,
    timings: Timings,
    /// The last known `Lease`, and when this process first saw it in this state. None: not read yet.
    seen: Option<(Option<Record>, Instant)>,
    /// When the last successful renewal was begun, while this process holds the lease.
    held: Option<Instant>,
    /// Do nothing until this time.
    next: Instant,
    /// True if the state of the `Lease` is not known after the last answer.
    unsure: bool,
    intent: Intent,
    /// Do not resign before this time.
    stays_until: Instant,
}

impl Election {
    /// A replica that has not read the `Lease` yet. It only observes it until [`Self::take_part`].
    #[must_use]
    pub const fn new(me: Identity, timings: Timings) -> Self {
        Self {
            me,
            timings,
            seen: None,
            held: None,
            next: Instant::START,
            unsure: true,
            intent: Intent::Observe,
            stays_until: Instant::START,
        }
    }

    /// This process can lead: from now on it tries to acquire the lease. A process that holds the lease and cannot lead
    /// keeps the others from leading.
    pub fn take_part(&mut self) {
        if self.intent == Intent::Observe {
            self.intent = Intent::Lead;
        }
    }

    /// True if this process leads. It ends at its own deadline, independent of any answer.
    #[must_use]
    pub fn leads(&self, now: Instant) -> bool {
        self.held
            .is_some_and(|renewed| now < renewed.plus(self.timings.renew_deadline))
    }

    /// Until when a mutating call to EC2 may be begun; None: not at all.
    #[must_use]
    pub fn calls_until(&self) -> Option<Instant> {
        let renewed = self.held?;
        let left = self.timings.duration.saturating_sub(self.timings.margin());
        Some(renewed.plus(left.min(self.timings.renew_deadline)))
    }

    /// Until when this process leads if it does not renew; None: it does not lead.
    #[must_use]
    pub fn leads_until(&self) -> Option<Instant> {
        Some(self.held?.plus(self.timings.renew_deadline))
    }

    /// The last known holder.
    #[must_use]
    pub fn holder(&self) -> Option<&Identity> {
        self.seen.as_ref()?.0.as_ref()?.holder.as_ref()
    }

    /// The next step.
    #[must_use]
    pub fn step(&self, now: Instant) -> LeaseStep {
        if now < self.due() {
            return LeaseStep::Wait(self.due());
        }
        let Some((record, since)) = self.seen.as_ref().filter(|_| !self.unsure) else {
            return LeaseStep::Read;
        };
        match record {
            Some(record) if record.holder.as_ref() == Some(&self.me) => {
                self.step_of_holder(record, now)
            }
            Some(record) if record.holder.is_some() && now < self.expires(record, *since) => {
                LeaseStep::Read
            }
            _ if now < self.abstains_until() => LeaseStep::Wait(self.abstains_until()),
            Some(record) => LeaseStep::Update(
                record.version,
                self.spec(record.transitions.saturating_add(1), true),
            ),
            None => LeaseStep::Create(self.spec(0, true)),
        }
    }

    /// The present leadership of this process.
    #[must_use]
    pub fn leadership(&self, now: Instant) -> Leadership {
        let leads = self.leads(now);
        Leadership {
            until: self.leads_until().filter(|_| leads),
            calls_until: self.calls_until().filter(|_| leads),
        }
    }

    /// Applies the answer to a step that was begun at `begun`.
    pub fn apply(&mut self, answer: LeaseAnswer, begun: Instant, now: Instant) {
        if !self.leads(now) {
            self.held = None;
        }
        match answer {
            LeaseAnswer::Read(record) => {
                self.unsure = false;
                let mine =
                    record.as_ref().and_then(|record| record.holder.as_ref()) == Some(&self.me);
                self.see(record, now);
                if !mine {
                    self.held = None;
                }
                self.next = self.next_due(self.timings.retry_period, now);
            }
            LeaseAnswer::Wrote(record) => {
                self.unsure = false;
                self.held = (record.holder.as_ref() == Some(&self.me)).then_some(begun);
                self.has_written(&record, now);
                self.see(Some(record), now);
                self.next = now.plus(self.timings.retry_period);
            }
            LeaseAnswer::Conflict => self.failed(now),
            LeaseAnswer::Failed => self.failed(now.plus(self.timings.retry_period)),
        }
    }

    /// Applies a `Lease` from a watch. Returns true if it is newer than the known one; a lagging watch is ignored. It
    /// does not replace a read that is needed after an answer with unknown outcome.
    pub fn observe(&mut self, record: Record, now: Instant) -> bool {
        let known = self.seen.as_ref().and_then(|(known, _)| known.as_ref());
        if known.is_none_or(|known| record.version <= known.version) {
            return false;
        }
        let mine = record.holder.as_ref() == Some(&self.me);
        self.see(Some(record), now);
        if !mine {
            self.held = None;
            // The holder renews it every period. While the watch shows that, no read is needed.
            self.next = self.next_due(self.timings.retry_period.saturating_mul(2), now);
        }
        true
    }

    /// When the next step is due: at once if the lease can be acquired, otherwise after the interval or when it
    /// expires.
    fn next_due(&self, interval: Duration, now: Instant) -> Instant {
        let Some((Some(record), since)) = &self.seen else {
            return now;
        };
        match &record.holder {
            Some(holder) if holder != &self.me => {
                let expires = self.expires(record, *since).max(now);
                expires.min(now.plus(interval))
            }
            _ => now,
        }
    }

    fn see(&mut self, record: Option<Record>, now: Instant) {
        let since = match (&self.seen, &record) {
            (Some((Some(before), since)), Some(record)) if before.same_renewal(record) => *since,
            _ => now,
        };
        self.has_seen(record.as_ref(), now);
        self.seen = Some((record, since));
    }

    /// A step has failed. The next one is due at `next`.
    fn failed(&mut self, next: Instant) {
        self.unsure = true;
        self.next = next;
        self.has_failed();
    }

    fn expires(&self, record: &Record, since: Instant) -> Instant {
        since.plus(record.duration.unwrap_or(self.timings.duration))
    }

    fn spec(&self, transitions: u64, acquired: bool) -> Spec {
        Spec {
            holder: Some(self.me.clone()),
            seconds: self.timings.seconds(),
            transitions,
            acquired,
        }
    }
}
