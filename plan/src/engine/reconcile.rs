//! Reconciles IPs: at most one step per IP is in flight.

use alloc::vec::Vec;
use core::time::Duration;

use super::{Effect, Engine, InFlight, SHORTEST_TIMER};
use crate::facts::Fact;
use crate::names::{InstanceId, IpName};
use crate::objects::Claim;
use crate::outcome::Action;
use crate::step::{Moved, Read, StatusWrite, Step, Write};
use crate::time::Instant;

/// Maximum number of requests for IPs in flight (R6.4). The limits of the API server for one client are higher.
pub(super) const AT_ONCE: usize = 64;
/// Steps of the API server leave room for calls of EC2: slow writes of some IPs must not delay the calls of others.
const STEPS_AT_ONCE: usize = AT_ONCE - 8;
/// Maximum number of reads of instances in flight (R1.10).
const INSTANCES_AT_ONCE: usize = 16;
/// Time until a read of an instance is tried again while others are in flight. The answer comes before, if EC2 answers soon.
const READ_AGAIN: Duration = Duration::from_millis(500);
/// Time until a call is tried again for which too little of the lease was left.
pub(super) const CALL_AGAIN: Duration = Duration::from_millis(500);

impl Engine {
    /// Begins the steps of queued IPs.
    pub(super) fn begin_steps(&mut self, now: Instant) {
        if self.listing.is_some() {
            return;
        }
        self.queue.promote_due(now);
        self.repeats.forget_old(now);
        while self.requests() < STEPS_AT_ONCE {
            let Some(ip) = self.queue.pop() else { return };
            match self.reconcile(&ip, now) {
                Reconciled::Begun(effect) => self.outbox.push_back(effect),
                Reconciled::Later(due) => self.queue.at(ip, due.max(now.plus(SHORTEST_TIMER))),
                // The completion of its step, or the next event, queues the IP again.
                Reconciled::Nothing => {}
            }
        }
    }

    /// Forgets an IP that is gone.
    pub(super) fn forget(&mut self, ip: &IpName) {
        self.claims.dropped(ip);
        self.calls.forget(ip);
        self.failovers.forget(ip);
    }

    /// Decides the next step of an IP, and begins it if possible. [`Engine::poll`] does this for each queued IP; a
    /// model checker chooses the IP itself.
    pub fn reconcile(&mut self, ip: &IpName, now: Instant) -> Reconciled {
        if !self.leading || self.in_flight.contains_key(ip) {
            return Reconciled::Nothing;
        }
        // This is first because the code below removes the failover of an IP that is gone.
        self.follow_failover(ip, now);
        // Pods can still ask for an IP that is gone.
        if !self.facts.knows(ip) {
            self.forget(ip);
        }
        let decision = self.facts.decide(ip, now);
        self.post_new(decision.notices, now);
        let again = decision.again;
        let wait = || again.map_or(Reconciled::Nothing, Reconciled::Later);
        let Some(step) = decision.step else {
            self.calls.remove(ip);
            return wait();
        };
        if let Err(due) = self.may_begin(ip, &step, now) {
            self.calls.remove(ip);
            return Reconciled::Later(again.map_or(due, |again| due.min(again)));
        }
        match step {
            // A call waits until all queued IPs are decided, so that several calls can share a request.
            Step::Call(call) if self.is_paced() => {
                self.calls.push(ip, &call, now);
                wait()
            }
            Step::Call(call) => {
                let members = Vec::from([(ip.clone(), call.address())]);
                Reconciled::Begun(self.send(call.group(), members, now))
            }
            Step::Read(read) => {
                self.begin(ip, &Step::Read(read.clone()), now);
                Reconciled::Begun(Effect::Read(ip.clone(), read))
            }
            Step::Write(write) => {
                let moved = self.moved(ip, &write);
                self.begin(ip, &Step::Write(write.clone()), now);
                if let Some(begun) = begun(ip, &write) {
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

    /// Checks that a step may begin now.
    ///
    /// # Errors
    /// When to try again.
    fn may_begin(&mut self, ip: &IpName, step: &Step, now: Instant) -> Result<(), Instant> {
        if self.is_paced() {
            self.repeats.check(ip, step, now)?;
        }
        if matches!(step, Step::Call(_)) && !self.leadership.may_call(now) {
            return Err(now.plus(CALL_AGAIN));
        }
        let Some(instance) = instance_of(step) else {
            return Ok(());
        };
        if !self.may_read(instance) {
            return Err(now.plus(READ_AGAIN));
        }
        self.take_token(Action::DescribeInstances, now)
    }

    /// True if an instance may be read now. The answer to one read serves all IPs on the instance, and slow reads must
    /// leave room for writes.
    fn may_read(&self, instance: &InstanceId) -> bool {
        let flights = self.in_flight.values();
        let read: Vec<&InstanceId> = flights
            .filter_map(|flight| flight.instance.as_ref())
            .collect();
        read.len() < INSTANCES_AT_ONCE && !read.contains(&instance)
    }

    fn begin(&mut self, ip: &IpName, step: &Step, now: Instant) {
        self.calls.remove(ip);
        let mut flight = InFlight {
            begun: now,
            event: None,
            concerns: Vec::new(),
            instance: None,
        };
        if self.is_paced() {
            flight.instance = instance_of(step).cloned();
            flight.event = self.event_of(ip, step, now);
            flight.concerns = self.concerns(ip, step);
            self.repeats.began(ip, step, now);
        }
        self.in_flight.insert(ip.clone(), flight);
    }

    /// Whether this write records the address at another place than before.
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

/// The result of a reconciliation of an IP.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reconciled {
    /// This effect is in flight now.
    Begun(Effect),
    /// Nothing to do until this time, unless an event comes.
    Later(Instant),
    /// Nothing to do until an event comes.
    Nothing,
}

/// What other IPs must respect from the moment at which this write is sent.
fn begun(ip: &IpName, write: &Write) -> Option<Fact> {
    match write {
        Write::Reserve { address, .. } => Some(Fact::ReserveBegun(ip.clone(), *address)),
        Write::Status { status, .. } => {
            let interface = status.unfinished_for()?.clone();
            Some(Fact::ClaimBegun(ip.clone(), interface, status.address?))
        }
        _ => None,
    }
}

/// The instance that a step reads.
const fn instance_of(step: &Step) -> Option<&InstanceId> {
    match step {
        Step::Read(Read::Instance(instance)) => Some(instance),
        _ => None,
    }
}
