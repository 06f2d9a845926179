//! The steps of IPs: one in flight for each.

use alloc::vec::Vec;
use core::time::Duration;

use super::{Effect, Engine, InFlight, SHORTEST_TIMER};
use crate::facts::Fact;
use crate::names::IpName;
use crate::objects::Claim;
use crate::outcome::Action;
use crate::step::{Moved, Read, StatusWrite, Step, Write};
use crate::time::Instant;

/// The most requests for IPs in flight (R6.4): the API server's own limits for one client are higher.
pub(super) const AT_ONCE: usize = 64;
/// A call for which the lease does not last long enough is considered again after this long.
pub(super) const CALL_AGAIN: Duration = Duration::from_millis(500);

impl Engine {
    /// Begins what queued IPs need.
    pub(super) fn begin_steps(&mut self, now: Instant) {
        if self.listing.is_some() {
            return;
        }
        self.queue.promote_due(now);
        while self.requests() < AT_ONCE {
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
    pub fn reconcile(&mut self, ip: &IpName, now: Instant) -> Reconciled {
        if !self.leading || self.in_flight.contains_key(ip) {
            return Reconciled::Nothing;
        }
        // First, since this forgets the failover of an IP that is gone.
        self.follow_failover(ip, now);
        if !self.facts.knows(ip) {
            self.repeats.forget(ip);
            self.claims.dropped(ip);
            self.calls.forget(ip);
            self.failovers.forget(ip);
            return Reconciled::Nothing;
        }
        let decision = self.facts.decide(ip, now);
        self.post_new(decision.notices, now);
        let again = decision.again;
        let wait = || again.map_or(Reconciled::Nothing, Reconciled::Later);
        let Some(step) = decision.step else {
            self.calls.remove(ip);
            self.repeats.forget(ip);
            return wait();
        };
        if let Err(due) = self.may_begin(ip, &step, now) {
            self.calls.remove(ip);
            return Reconciled::Later(again.map_or(due, |again| due.min(again)));
        }
        match step {
            // What can go with others waits until no more of them can be decided now.
            Step::Call(call) if self.is_paced() => {
                self.calls.push(ip, &call, now);
                wait()
            }
            Step::Call(call) => {
                let members = Vec::from([(ip.clone(), call.address())]);
                Reconciled::Begun(self.send(call.group(), members, now))
            }
            Step::Read(read) => {
                self.begin(ip, Step::Read(read.clone()), now);
                Reconciled::Begun(Effect::Read(ip.clone(), read))
            }
            Step::Write(write) => {
                let moved = self.moved(ip, &write);
                self.begin(ip, Step::Write(write.clone()), now);
                if let Write::Reserve { address, .. } = &write {
                    let begun = Fact::ReserveBegun(ip.clone(), *address);
                    self.apply_fact(begun, now, now);
                }
                Reconciled::Begun(Effect::Write {
                    ip: ip.clone(),
                    write,
                    moved,
                })
            }
        }
    }

    /// May a step begin now?
    ///
    /// # Errors
    /// When to ask again.
    fn may_begin(&mut self, ip: &IpName, step: &Step, now: Instant) -> Result<(), Instant> {
        if self.is_paced() {
            self.repeats.check(ip, step, now)?;
        }
        match step {
            Step::Call(_) if !self.leadership.may_call(now) => Err(now.plus(CALL_AGAIN)),
            Step::Read(Read::Instance(_)) => self.take_token(Action::DescribeInstances, now),
            Step::Call(_) | Step::Read(_) | Step::Write(_) => Ok(()),
        }
    }

    fn begin(&mut self, ip: &IpName, step: Step, now: Instant) {
        self.calls.remove(ip);
        let mut flight = InFlight {
            begun: now,
            event: None,
            concerns: Vec::new(),
        };
        if self.is_paced() {
            flight.event = self.event_of(ip, &step, now);
            flight.concerns = self.concerns(ip, &step);
            self.repeats.began(ip, step, now);
        }
        self.in_flight.insert(ip.clone(), flight);
    }

    /// Does this write record the address at another place than before?
    fn moved(&self, ip: &IpName, write: &Write) -> Moved {
        let Write::Status {
            change: StatusWrite::Record,
            status,
            ..
        } = write
        else {
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
    Later(Instant),
    /// Nothing until an event comes.
    Nothing,
}
