//! The steps of IPs: one in flight for each.

use super::{Effect, Engine, InFlight, Pacing, SHORTEST_TIMER};
use crate::facts::Fact;
use crate::names::{IpName, Millis};
use crate::objects::Claim;
use crate::outcome::Action;
use crate::step::{Moved, Read, StatusWrite, Step, Write};

/// The most IPs that have a step in flight: the API server's own limits for one client are higher.
const AT_ONCE: usize = 64;
/// A call for which the lease does not last long enough is considered again after this long.
const CALL_AGAIN: Millis = Millis(500);

impl Engine {
    /// Begins what queued IPs need.
    pub(super) fn begin_steps(&mut self, now: Millis) {
        if self.listing.is_some() {
            return;
        }
        self.queue.promote_due(now);
        while self.in_flight.len() < AT_ONCE {
            let Some(ip) = self.queue.pop() else { return };
            match self.reconcile(&ip, now) {
                Reconciled::Begun(effect) => self.outbox.push_back(effect),
                Reconciled::Later(due) => self.queue.at(ip, due.max(now.plus(SHORTEST_TIMER))),
                // Its completion, or the next event, queues it again.
                Reconciled::Nothing => {}
            }
        }
    }

    /// The next step for an IP, begun if it may begin now. [`Engine::poll`] does this for each queued IP; a model
    /// checker chooses the IP itself.
    pub fn reconcile(&mut self, ip: &IpName, now: Millis) -> Reconciled {
        if !self.leading || self.in_flight.contains_key(ip) {
            return Reconciled::Nothing;
        }
        if !self.facts.knows(ip) {
            self.repeats.forget(ip);
            self.claims.dropped(ip);
            return Reconciled::Nothing;
        }
        let decision = self.facts.decide(ip, now);
        self.post_new(decision.notices, now);
        let Some(step) = decision.step else {
            self.repeats.forget(ip);
            return decision
                .again
                .map_or(Reconciled::Nothing, Reconciled::Later);
        };
        match self.may_begin(ip, &step, now) {
            Ok(()) => Reconciled::Begun(self.begin(ip.clone(), step, now)),
            Err(due) => Reconciled::Later(decision.again.map_or(due, |again| due.min(again))),
        }
    }

    /// May a step begin now?
    ///
    /// # Errors
    /// When to ask again.
    fn may_begin(&mut self, ip: &IpName, step: &Step, now: Millis) -> Result<(), Millis> {
        if self.pacing == Pacing::On {
            self.repeats.check(ip, step, now)?;
        }
        match step {
            Step::Call(call) => {
                if !self.leadership.may_call(now) {
                    return Err(now.plus(CALL_AGAIN));
                }
                self.take_token(call.action(), now)
            }
            Step::Read(Read::Instance(_)) => self.take_token(Action::DescribeInstances, now),
            Step::Read(_) | Step::Write(_) => Ok(()),
        }
    }

    fn begin(&mut self, ip: IpName, step: Step, now: Millis) -> Effect {
        let moved = self.moved(&ip, &step);
        let mut flight = InFlight {
            begun: now,
            event: None,
        };
        if self.pacing == Pacing::On {
            flight.event = self.event_of(&ip, &step);
            self.repeats.began(&ip, step.clone(), now);
        }
        if let Step::Call(call) = &step {
            self.apply_fact(Fact::CallBegun(ip.clone(), call.clone()), now, now);
        }
        self.in_flight.insert(ip.clone(), flight);
        Effect::Step(ip, step, moved)
    }

    /// Does this step record the address at another place than before?
    fn moved(&self, ip: &IpName, step: &Step) -> Moved {
        let Step::Write(Write::Status(_, _, StatusWrite::Record, status)) = step else {
            return Moved::No;
        };
        let target = status.claim.as_ref().and_then(Claim::target);
        target.map_or(Moved::No, |target| self.claims.moved(ip, &target.place))
    }
}

/// What a reconciliation of an IP led to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reconciled {
    /// This is in flight from now on.
    Begun(Effect),
    /// Nothing before then, unless an event comes.
    Later(Millis),
    /// Nothing until an event comes.
    Nothing,
}
