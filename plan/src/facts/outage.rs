//! Outage: EC2 serves no call of an action now; it throttles, denies or does not answer. Addresses try in turn, and the
//! first success ends the wait of all.
//! Rules: R5.11 to R5.13, R5.32.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::time::Duration;

use super::{CallError, Facts};
use crate::names::{InterfaceId, IpName};
use crate::objects::Claim;
use crate::outcome::{Action, Outcome};
use crate::step::Call;
use crate::time::Instant;

/// Time between two tries, also of different addresses.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// An address that has tried in this round tries again only this much later: every address that has not is before it,
/// whatever the order is in which addresses are decided and requests are sent.
const AFTER_OTHERS: Duration = Duration::from_millis(250);

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
    /// The IPs that have had their turn in this round. A round ends when one of them tries again.
    turns: BTreeMap<IpName, Turn>,
    /// When the next IP may try.
    pub(super) next: Instant,
}

/// What an IP has done with its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Turn {
    /// It has claimed a move from a holder that runs. The call that follows is the try, and does not wait.
    Claimed,
    /// It has sent a call.
    Called,
}

impl Outage {
    /// When this IP may try. In an outage by throttling, all IPs may try at the same time: the calls of one request use
    /// one token.
    pub(crate) fn due(&self, name: &IpName) -> Instant {
        match self.turns.get(name) {
            Some(Turn::Claimed) => Instant::START,
            Some(Turn::Called) if self.outcome != Outcome::Throttled => {
                self.next.plus(AFTER_OTHERS)
            }
            Some(Turn::Called) | None => self.next,
        }
    }

    /// This IP takes its turn, or uses the turn that it took with its claim.
    fn take_turn(&mut self, name: IpName, turn: Turn, now: Instant) {
        if self.turns.get(&name) == Some(&Turn::Called) {
            // All others that wait have tried too.
            self.turns.retain(|_, turn| *turn == Turn::Claimed);
        }
        self.turns.insert(name, turn);
        self.next = now.plus(RETRY_INTERVAL);
    }
}

impl Facts {
    /// A call was begun: others wait for its result, or for [`RETRY_INTERVAL`].
    pub(super) fn call_begun(&mut self, name: IpName, call: &Call, now: Instant) {
        if let Some(outage) = self.outages.get_mut(&call.action()) {
            outage.take_turn(name, Turn::Called, now);
        }
    }

    /// The write of a claim is sent. If it begins a move between two ENIs, and the IP may try its first call, it takes its
    /// turn now: otherwise another one could take it meanwhile, and the holder would lose its readiness for nothing.
    pub(super) fn move_begun(&mut self, name: &IpName, to: &InterfaceId, now: Instant) {
        let Some(ip) = self.ips.get(name) else { return };
        let from = ip.status.claim.as_ref().and_then(Claim::recorded_target);
        if from.is_none_or(|from| &from.place.interface == to) {
            return;
        }
        if let Some(outage) = self.outages.get_mut(&ip.reassign().first_of_a_move())
            && outage.turns.get(name) != Some(&Turn::Claimed)
            && outage.due(name) <= now
        {
            outage.take_turn(name.clone(), Turn::Claimed, now);
        }
    }

    /// Removes outages without a try for a long time: it is not known whether they still last, and no call waits.
    pub(super) fn forget_outages(&mut self, now: Instant) {
        self.outages
            .retain(|_, outage| now.since(outage.next) < FORGOTTEN);
        self.denials
            .retain(|_, denial| now.since(denial.due) < FORGOTTEN);
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
            turns: BTreeMap::from([(name, Turn::Called)]),
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
