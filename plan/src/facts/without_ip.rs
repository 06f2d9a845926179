//! Names that pods ask for and no IP has, and what is remembered of them: only the steps that failed.
//! Rules: R3.31, R5.14 to R5.16.

use super::failures::Failures;
use super::{Facts, WriteOutcome};
use crate::names::IpName;
use crate::outcome::Outcome;
use crate::step::{Read, Write};
use crate::time::Instant;

impl Facts {
    /// The names that pods ask for and no known IP has, in order.
    pub fn names_without_ip(&self) -> impl Iterator<Item = &IpName> {
        self.pods_of.keys().filter(|name| !self.knows(name))
    }

    /// The failures of a name, while pods ask for it and no IP has it. An answer can come later than that.
    fn failures_without_ip(&mut self, name: &IpName) -> Option<&mut Failures> {
        let asked_for = self.pods_of.count(name) > 0 && !self.knows(name);
        asked_for.then(|| self.without_ip.entry(name.clone()).or_default())
    }

    /// The answer to a write to a pod.
    pub(super) fn wrote_without_ip(
        &mut self,
        name: &IpName,
        write: &Write,
        outcome: &WriteOutcome,
        now: Instant,
    ) {
        let Some(failures) = self.failures_without_ip(name) else {
            return;
        };
        match outcome {
            WriteOutcome::Done(_) | WriteOutcome::NotFound | WriteOutcome::AlreadyExists => {
                failures.write_succeeded(write, now);
            }
            // After a conflict the watch shows the pod: backoff gives it time.
            WriteOutcome::Conflict | WriteOutcome::Unknown => {
                failures.write_failed(name.as_str(), write.clone(), None, now);
            }
            WriteOutcome::Refused(text) => {
                failures.write_failed(name.as_str(), write.clone(), Some(text), now);
            }
        }
        self.forget_without_failures(name);
    }

    pub(super) fn unread_without_ip(
        &mut self,
        name: &IpName,
        read: Read,
        outcome: Option<Outcome>,
        now: Instant,
    ) {
        if let Some(failures) = self.failures_without_ip(name) {
            failures.read_failed(name.as_str(), read, outcome, now);
        }
    }

    /// A read has not found an IP of this name.
    pub(super) fn read_without_ip(&mut self, name: &IpName) {
        if let Some(failures) = self.without_ip.get_mut(name) {
            failures.read_succeeded(|_| true);
        }
        self.forget_without_failures(name);
    }

    fn forget_without_failures(&mut self, name: &IpName) {
        if self.without_ip.get(name) == Some(&Failures::default()) {
            self.without_ip.remove(name);
        }
    }
}
