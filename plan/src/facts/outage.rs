//! Outage: EC2 serves no call of an action now; it throttles, denies or does not answer. One address at a time tries a
//! call, and the first success ends the wait of all.
//! Rules: R5.11 to R5.13.

use alloc::string::String;
use core::time::Duration;

use super::{CallError, Facts};
use crate::names::IpName;
use crate::outcome::{Action, Outcome};
use crate::step::Call;
use crate::time::Instant;

/// Time between two tries, also of different addresses.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Addresses take turns in the order of names. Names up to the last one that tried may try only this much later.
const TURN: Duration = Duration::from_millis(250);

/// An outage without a try for this time is removed. It is longer than any wait after a denial.
const FORGOTTEN: Duration = Duration::from_mins(10);

/// An outage of one action.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Outage {
    /// When the first call failed.
    pub(crate) since: Instant,
    /// How the calls fail.
    pub(crate) outcome: Outcome,
    /// As `CallError::text`, of the first such failure.
    pub(crate) message: String,
    /// The IP that tried last.
    last: IpName,
    /// When the next IP may try.
    pub(super) next: Instant,
}

impl Outage {
    /// When this IP may try. In an outage by throttling, all IPs may try at the same time: the calls of one request use
    /// one token.
    pub(crate) fn due(&self, name: &IpName) -> Instant {
        if self.outcome == Outcome::Throttled || name > &self.last {
            self.next
        } else {
            self.next.plus(TURN)
        }
    }
}

impl Facts {
    /// A call was begun: others wait for its result, or for [`RETRY_INTERVAL`].
    pub(super) fn call_begun(&mut self, name: IpName, call: &Call, now: Instant) {
        if let Some(outage) = self.outages.get_mut(&call.action()) {
            outage.last = name;
            outage.next = now.plus(RETRY_INTERVAL);
        }
    }

    /// Removes outages without a try for a long time: it is not known whether they still last, and no call waits.
    pub(super) fn forget_outages(&mut self, now: Instant) {
        self.outages
            .retain(|_, outage| now.since(outage.next) < FORGOTTEN);
        if now.since(self.recovered) >= FORGOTTEN {
            self.recovered = Instant::START;
        }
    }

    /// A call failed as all calls of its action do. Returns true if the cause changed, so that all waiting IPs report
    /// another cause.
    pub(super) fn outage_lasts(
        &mut self,
        name: IpName,
        action: Action,
        outcome: Outcome,
        message: String,
        now: Instant,
    ) -> bool {
        // An IP that is gone meanwhile does not wait.
        if !self.memory.contains_key(&name) {
            return false;
        }
        let outage = self.outages.entry(action).or_insert_with(|| Outage {
            since: now,
            outcome,
            message: message.clone(),
            last: name,
            next: now.plus(RETRY_INTERVAL),
        });
        let others = outage.outcome != outcome;
        if others {
            outage.outcome = outcome;
            outage.message = message;
        }
        others
    }

    /// A call was answered. If EC2 carried it out, or refused it for a reason of this call, an outage of the action
    /// ends. Returns true if an outage has ended; then the backoff of all calls of the action ends too.
    pub(crate) fn outage_ends(
        &mut self,
        action: Action,
        answer: &Result<(), CallError>,
        now: Instant,
    ) -> bool {
        let still = answer.as_ref().err().map(|error| error.outcome);
        if still.is_some_and(Outcome::is_of_all) || self.outages.remove(&action).is_none() {
            return false;
        }
        self.recovered = now;
        for memory in self.memory.values_mut() {
            memory.failures.served(action, now);
        }
        true
    }
}
