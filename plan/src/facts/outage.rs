//! EC2 serves an action to no address at the moment: it throttles, permits or answers nothing. One address at a time
//! finds out whether it does again, and the first success ends the wait of all.
//! Rules: R5.11 to R5.13.

use alloc::string::String;
use core::time::Duration;

use super::{CallError, Facts};
use crate::names::IpName;
use crate::outcome::{Action, Outcome};
use crate::step::Call;
use crate::time::Instant;

/// The time between two tries, of whatever address.
const BETWEEN: Duration = Duration::from_secs(1);

/// Addresses take turns by name. This long after one may try, those before it may as well.
const TURN: Duration = Duration::from_millis(250);

/// An outage in which nothing was tried for this long is forgotten. Longer than a refusal is remembered.
const FORGOTTEN: Duration = Duration::from_mins(10);

/// An outage of one action.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Outage {
    /// When the first call failed.
    pub(crate) since: Instant,
    /// How calls fail.
    pub(crate) outcome: Outcome,
    /// EC2's code and sentence, of the first that failed so: each has its own, and a user needs one.
    pub(crate) said: String,
    /// The IP that tried last.
    last: IpName,
    /// When the next one may.
    pub(super) next: Instant,
}

impl Outage {
    /// When this IP may try. Throttling is of no single address: all that go in one request try together, for one token.
    pub(crate) fn due(&self, name: &IpName) -> Instant {
        if self.outcome == Outcome::Throttled || name > &self.last {
            self.next
        } else {
            self.next.plus(TURN)
        }
    }
}

impl Facts {
    /// A call was begun: others wait until it is known how it ends, or a while.
    pub(super) fn call_begun(&mut self, name: IpName, call: &Call, now: Instant) {
        if let Some(outage) = self.outages.get_mut(&call.action()) {
            outage.last = name;
            outage.next = now.plus(BETWEEN);
        }
    }

    /// No call was made for long: whether it lasts is not known, and nothing waits for it.
    pub(super) fn forget_outages(&mut self, now: Instant) {
        self.outages
            .retain(|_, outage| now.since(outage.next) < FORGOTTEN);
        if now.since(self.recovered) >= FORGOTTEN {
            self.recovered = Instant::START;
        }
    }

    /// A call failed for no reason of its own. True if all that wait have something else to say now.
    pub(super) fn outage_lasts(
        &mut self,
        name: IpName,
        action: Action,
        outcome: Outcome,
        said: String,
        now: Instant,
    ) -> bool {
        // What has gone meanwhile waits for nothing.
        if !self.memory.contains_key(&name) {
            return false;
        }
        let outage = self.outages.entry(action).or_insert_with(|| Outage {
            since: now,
            outcome,
            said: said.clone(),
            last: name,
            next: now.plus(BETWEEN),
        });
        let others = outage.outcome != outcome;
        if others {
            outage.outcome = outcome;
            outage.said = said;
        }
        others
    }

    /// A call was answered. If EC2 carried it out, or refused it for a reason of the call's own, an outage of that
    /// action is over: true then, and no call of it waits any longer for what failed before.
    pub(super) fn outage_ends(
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
