//! Handles a completed effect: applies its facts, and posts Events and reports for successful writes.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};

use super::pending_event::{PendingEvent, StatusEvent};
use super::{Completion, Effect, Engine, Pacing, Report, Work};
use crate::address::Address;
use crate::decide::is_ours;
use crate::facts::{Fact, WriteOutcome};
use crate::names::IpName;
use crate::objects::{Claim, ClaimPhase, Condition};
use crate::outcome::{Action, Outcome};
use crate::reason::Reason;
use crate::step::{Notice, Regarding, StatusWrite, Step, Write};
use crate::time::Instant;

/// True if these facts contain the answer of a successful write.
fn write_done(facts: &[Fact]) -> bool {
    facts.iter().any(|fact| {
        matches!(
            fact,
            Fact::Wrote {
                outcome: WriteOutcome::Done(_),
                ..
            } | Fact::Wrote {
                write: Write::Release(_),
                outcome: WriteOutcome::NotFound,
                ..
            }
        )
    })
}

impl Engine {
    pub(super) fn completed(&mut self, work: Work, completion: Completion, now: Instant) {
        for (action, outcome) in &completion.called {
            self.ec2_answered(*action, *outcome, now);
        }
        match work {
            Work::Ip(ip) => {
                let Some(flight) = self.ended(&ip, now) else {
                    return;
                };
                let done = write_done(&completion.facts);
                self.apply_all(completion, flight.begun, now);
                if let Some(event) = flight.event.filter(|_| done) {
                    self.post_done(&ip, event, flight.begun, now);
                }
                self.queue.push(ip);
            }
            Work::Block(block) => {
                if let Some(begun) = self.blocks.ended(&block) {
                    self.apply_all(completion, begun, now);
                    if self.pacing == Pacing::On {
                        self.blocks.schedule_recheck(&block);
                    }
                }
            }
            Work::Node(name) => self.node_done(&name, completion, now),
            Work::Ips => self.ips_listed(completion, now),
            Work::Inventory(subnet) => {
                let Some(begun) = self.inventories.ended(&subnet) else {
                    return;
                };
                self.apply_all(completion, begun, now);
                if self.facts.last_inventory_begun(&subnet) == Some(begun) {
                    self.report(Report::Inventory(subnet, now.since(begun)));
                }
            }
        }
    }

    /// Handles how a call of EC2 ended. None: it succeeded.
    pub(super) fn ec2_answered(&mut self, action: Action, outcome: Option<Outcome>, now: Instant) {
        if outcome == Some(Outcome::Throttled) {
            self.buckets.throttled(action, now);
        }
        // A model checker has no election, and each different time would be another state.
        if !self.is_paced() || !self.leading {
            return;
        }
        let interval = self.facts.settings.inventory_interval;
        if self.silence.called(outcome, interval, now) {
            self.outbox.push_back(Effect::Resign);
        }
    }

    pub(super) fn apply_all(&mut self, completion: Completion, begun: Instant, now: Instant) {
        for fact in completion.facts {
            self.apply_fact(fact, begun, now);
        }
    }

    /// The Event to post if this step succeeds.
    pub(super) fn event_of(&self, ip: &IpName, step: &Step, now: Instant) -> Option<PendingEvent> {
        let known = self.facts.ip(ip)?;
        let uid = known.uid.clone();
        match step {
            Step::Write(Write::Status { change, status, .. }) => {
                Some(PendingEvent::Status(Box::new(StatusEvent {
                    uid,
                    what: *change,
                    before: known.status.claim.clone(),
                    status: status.clone(),
                })))
            }
            // That of an IP that is gone is released before the address is reserved for this one.
            Step::Write(Write::Release(reservation)) => is_ours(reservation, &uid)
                .then_some(PendingEvent::Released(uid, reservation.address)),
            Step::Write(Write::DropTakeFrom { .. }) => {
                let message = self.facts.unused_take_from(ip, now)?;
                Some(PendingEvent::TakeFromUnused(uid, message))
            }
            _ => None,
        }
    }

    fn post_done(&mut self, ip: &IpName, event: PendingEvent, begun: Instant, now: Instant) {
        match event {
            PendingEvent::Released(uid, address) => {
                let message = format!("{address} is no longer reserved for this IP");
                let on = Regarding::Ip(ip.clone(), uid);
                self.post(on, Reason::Released, message);
            }
            PendingEvent::TakeFromUnused(uid, message) => {
                let on = Regarding::Ip(ip.clone(), uid);
                self.post(on, Reason::TakeFromUnused, message);
            }
            PendingEvent::Status(event) => self.post_status(ip, *event, begun, now),
        }
    }

    fn post_status(&mut self, ip: &IpName, event: StatusEvent, begun: Instant, now: Instant) {
        let StatusEvent {
            uid,
            what,
            before,
            status,
        } = event;
        let conditions = &status.conditions;
        let (reason, message, claim) = match what {
            StatusWrite::Conditions => return,
            // After an edit to another block, the address there is not chosen yet.
            StatusWrite::Reserved if status.address.is_none() => return,
            StatusWrite::Detach => return self.claims.dropped(ip),
            StatusWrite::Reserved => (
                Reason::Reserved,
                message_of(conditions.reserved.as_ref()),
                None,
            ),
            // The Record that follows posts an Event. If it is delayed for long, other notices say why.
            StatusWrite::Claim | StatusWrite::Revert => {
                return self.claims.claimed(ip, before.as_ref(), begun);
            }
            StatusWrite::Record => {
                let message = message_of(conditions.attached.as_ref());
                let Some(claim) = status.claim else {
                    return;
                };
                let reason = self.report_recorded(ip, &claim, now);
                (reason, message, Some(claim))
            }
            StatusWrite::Clear => {
                self.claims.dropped(ip);
                // EC2 refused the first attach, which was reported: nothing was detached.
                let detached = |claim: &Claim| matches!(claim.phase, ClaimPhase::Detaching);
                if !before.as_ref().is_some_and(detached) {
                    return;
                }
                let message = cleared(status.address, before.as_ref());
                (Reason::Detached, message, before)
            }
        };
        if let Some(claim) = claim {
            let message = format!("IP {ip}: {message}");
            self.post(Regarding::Pod(claim.pod, claim.uid), reason, message);
        }
        self.post(Regarding::Ip(ip.clone(), uid), reason, message);
    }

    /// Reports how long a recorded claim took. Returns `Moved` if the address was taken over, else `Attached`.
    fn report_recorded(&mut self, ip: &IpName, claim: &Claim, now: Instant) -> Reason {
        let recorded = self.claims.recorded(ip, claim, now);
        match recorded.took {
            Some(took) if recorded.taken_over => self.report(Report::Moved(took)),
            Some(took) => self.report(Report::Attached(took)),
            None => {}
        }
        if recorded.taken_over {
            Reason::Moved
        } else {
            Reason::Attached
        }
    }

    fn post(&mut self, on: Regarding, reason: Reason, message: String) {
        self.outbox.push_back(Effect::Post(Notice {
            on,
            reason,
            message,
        }));
    }
}

fn message_of(condition: Option<&Condition>) -> String {
    condition.map_or_else(String::new, |condition| condition.message.clone())
}

fn cleared(address: Option<Address>, before: Option<&Claim>) -> String {
    let address = address.map(|address| address.to_string());
    let address = address.unwrap_or_else(|| "the address".to_owned());
    let holder = before.map(|claim| format!(" for pod {}", claim.pod));
    let holder = holder.unwrap_or_default();
    format!("{address} is on no interface{holder} any more")
}
