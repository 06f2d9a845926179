//! Who leads: the rule by which replicas share one `Lease`, as a pure function of what was read and
//! when this process saw it.
//! Rules: R6.1, R6.2, R6.14.
//!
//! No wall clock is trusted: a `Lease` has expired when *we* have not seen it change for as long
//! as its holder said it would last, on our own monotonic clock. Leading saves work; that two cannot do
//! harm is the business of resource versions and of EC2's refusals.

mod record;

use core::time::Duration;

use crate::names::ResourceVersion;
use crate::time::Instant;
pub use record::{Identity, Record, Spec, Timings};

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeaseStep {
    /// Quorum GET of the `Lease`.
    Read,
    /// Create it.
    Create(Spec),
    /// Replace its spec, guarded by this version.
    Update(ResourceVersion, Spec),
    /// Nothing before then.
    Wait(Instant),
}

/// How a step was answered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeaseAnswer {
    /// The `Lease` as it is now; None: there is none.
    Read(Option<Record>),
    /// Written: as it is now.
    Wrote(Record),
    /// Another process was faster.
    Conflict,
    /// Failed, or not known.
    Failed,
}

/// Until when this process leads, as far as its lease says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Leadership {
    /// It decides until then; None: not at all.
    pub until: Option<Instant>,
    /// It begins mutating calls until then: a call must end before another process may lead.
    pub calls_until: Option<Instant>,
}

impl Leadership {
    /// Of a process without other replicas.
    pub const ALWAYS: Self = Self {
        until: Some(Instant::NEVER),
        calls_until: Some(Instant::NEVER),
    };

    /// Does it lead?
    #[must_use]
    pub fn holds(self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// May it begin a mutating call?
    #[must_use]
    pub fn may_call(self, now: Instant) -> bool {
        self.holds(now) && self.calls_until.is_some_and(|until| now < until)
    }

    /// When it ends unless the lease is renewed.
    #[must_use]
    pub const fn ends(self) -> Option<Instant> {
        self.until
    }
}

/// One replica's part in the election.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Election {
    me: Identity,
    timings: Timings,
    /// What the `Lease` said last, and when we first saw it say so. None: it was not read yet.
    seen: Option<(Option<Record>, Instant)>,
    /// When the last renewal that succeeded was begun, while we hold it.
    held: Option<Instant>,
    /// Nothing before then.
    next: Instant,
    /// The last answer leaves open what the `Lease` says.
    unsure: bool,
}

impl Election {
    /// A replica that has not looked yet.
    #[must_use]
    pub const fn new(me: Identity, timings: Timings) -> Self {
        Self {
            me,
            timings,
            seen: None,
            held: None,
            next: Instant::START,
            unsure: true,
        }
    }

    /// Does this process lead? Only until its own deadline, whatever it receives or does not receive.
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

    /// Until when this process leads unless it renews; None: it does not.
    #[must_use]
    pub fn leads_until(&self) -> Option<Instant> {
        Some(self.held?.plus(self.timings.renew_deadline))
    }

    /// The holder, as last seen.
    #[must_use]
    pub fn holder(&self) -> Option<&Identity> {
        self.seen.as_ref()?.0.as_ref()?.holder.as_ref()
    }

    /// What to do now.
    #[must_use]
    pub fn step(&self, now: Instant) -> LeaseStep {
        if now < self.next {
            return LeaseStep::Wait(self.next);
        }
        let Some((record, since)) = self.seen.as_ref().filter(|_| !self.unsure) else {
            return LeaseStep::Read;
        };
        let Some(record) = record else {
            return LeaseStep::Create(self.spec(0, true));
        };
        match &record.holder {
            Some(holder) if holder == &self.me => {
                LeaseStep::Update(record.version, self.spec(record.transitions, false))
            }
            Some(_) if now < self.expires(record, *since) => LeaseStep::Read,
            _ => LeaseStep::Update(
                record.version,
                self.spec(record.transitions.saturating_add(1), true),
            ),
        }
    }

    /// Until when this process leads, as its lease says now.
    #[must_use]
    pub fn leadership(&self, now: Instant) -> Leadership {
        let leads = self.leads(now);
        Leadership {
            until: self.leads_until().filter(|_| leads),
            calls_until: self.calls_until().filter(|_| leads),
        }
    }

    /// What gives the lease back; None where it is not ours to give.
    #[must_use]
    pub fn release(&self) -> Option<LeaseStep> {
        let record = self.seen.as_ref()?.0.as_ref()?;
        (record.holder.as_ref() == Some(&self.me)).then(|| {
            let spec = Spec {
                holder: None,
                seconds: 1,
                transitions: record.transitions,
                acquired: false,
            };
            LeaseStep::Update(record.version, spec)
        })
    }

    /// Takes the answer to a step that was begun at `begun`.
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
                self.next = self.next_look(self.timings.retry_period, now);
            }
            LeaseAnswer::Wrote(record) => {
                self.unsure = false;
                self.held = (record.holder.as_ref() == Some(&self.me)).then_some(begun);
                self.see(Some(record), now);
                self.next = now.plus(self.timings.retry_period);
            }
            LeaseAnswer::Conflict => {
                self.unsure = true;
                self.next = now;
            }
            LeaseAnswer::Failed => {
                self.unsure = true;
                self.next = now.plus(self.timings.retry_period);
            }
        }
    }

    /// Takes what a watch shows, and says whether it is news. A watch can be late: only a newer version than the known one
    /// counts. It replaces no read: what an answer left open stays open.
    pub fn observe(&mut self, record: Record, now: Instant) -> bool {
        let known = self.seen.as_ref().and_then(|(known, _)| known.as_ref());
        if known.is_none_or(|known| record.version <= known.version) {
            return false;
        }
        let mine = record.holder.as_ref() == Some(&self.me);
        self.see(Some(record), now);
        if !mine {
            self.held = None;
            // The holder renews it every period: as long as the watch shows that, nothing is read.
            self.next = self.next_look(self.timings.retry_period.saturating_mul(2), now);
        }
        true
    }

    /// When the lease is looked at again: at once if it can be had, otherwise after the interval, or when it expires.
    fn next_look(&self, interval: Duration, now: Instant) -> Instant {
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
            (Some((Some(before), since)), Some(record)) if before.says_the_same(record) => *since,
            _ => now,
        };
        self.seen = Some((record, since));
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
