//! How a process stops leading on its own: because another replica should lead, or because it ends.
//! Rules: R6.13, R6.15.

use core::time::Duration;

use super::intent::Intent;
use super::{Election, LeaseStep, Record, Spec};
use crate::time::Instant;

/// After a release that no other replica used, the process leads again, and does not resign for this time.
const STAYS: Duration = Duration::from_mins(10);

/// How often a release that fails is tried again when the process ends.
const LEAVE_TRIES: u8 = 3;

impl Election {
    /// Stops leading, so that another replica can lead: releases the lease when the calls of this process have ended,
    /// and then leaves it to others for three periods, in which each of them sees the release. If none of them takes
    /// it, this process leads again. Returns false if it does not lead, or did this without effect a short time ago.
    pub fn resign(&mut self, now: Instant) -> bool {
        let resigns = self.leads(now) && now >= self.stays_until;
        if resigns {
            self.held = None;
            self.intent = Intent::Release(now.plus(self.timings.margin()));
            self.next = now;
        }
        resigns
    }

    /// Ends the part of this process in the election. [`Self::step`] then releases the lease if this process has it. A
    /// step that waits means that nothing is left to do.
    pub fn leave(&mut self) {
        self.held = None;
        self.intent = Intent::Leave(LEAVE_TRIES);
    }

    /// When the next step is due. A process that leaves does not wait, because it ends.
    pub(super) fn due(&self) -> Instant {
        match self.intent {
            Intent::Leave(0) => Instant::NEVER,
            Intent::Leave(_) if self.holder() != Some(&self.me) => Instant::NEVER,
            Intent::Leave(_) => Instant::START,
            Intent::Observe | Intent::Lead | Intent::Release(_) | Intent::Abstain(..) => self.next,
        }
    }

    /// The step of the holder.
    pub(super) fn step_of_holder(&self, record: &Record, now: Instant) -> LeaseStep {
        let spec = match self.intent {
            Intent::Observe => return LeaseStep::Wait(Instant::NEVER),
            Intent::Release(at) if now < at => return LeaseStep::Wait(at),
            Intent::Lead | Intent::Abstain(..) => self.spec(record.transitions, false),
            Intent::Release(_) | Intent::Leave(_) => Spec {
                holder: None,
                seconds: 1,
                transitions: record.transitions,
                acquired: false,
            },
        };
        LeaseStep::Update(record.version, spec)
    }

    /// Until when a lease that is free is left to others.
    pub(super) const fn abstains_until(&self) -> Instant {
        match self.intent {
            Intent::Observe => Instant::NEVER,
            Intent::Abstain(until, _) => until,
            Intent::Lead | Intent::Release(_) | Intent::Leave(_) => Instant::START,
        }
    }

    /// The lease has this state. If another process has it, this one waits for it as usual.
    pub(super) fn has_seen(&mut self, record: Option<&Record>, now: Instant) {
        let Some(record) = record else { return };
        match (self.intent, &record.holder) {
            (Intent::Release(_), None) => {
                let until = now.plus(self.timings.retry_period.saturating_mul(3));
                self.intent = Intent::Abstain(until, record.transitions);
            }
            (Intent::Release(_) | Intent::Abstain(..), Some(holder)) if holder != &self.me => {
                self.intent = Intent::Lead;
            }
            _ => {}
        }
    }

    /// This process has written the lease.
    pub(super) fn has_written(&mut self, record: &Record, now: Instant) {
        if let (Intent::Abstain(_, before), Some(_)) = (self.intent, &record.holder) {
            // Each new holder counts one.
            if record.transitions <= before.saturating_add(1) {
                self.stays_until = now.plus(STAYS);
            }
            self.intent = Intent::Lead;
        }
    }

    /// A step has failed.
    pub(super) const fn has_failed(&mut self) {
        if let Intent::Leave(tries) = self.intent {
            self.intent = Intent::Leave(tries.saturating_sub(1));
        }
    }
}
