//! What a write that was done is told as: the Events of things that went well, and the metrics.

use std::net::Ipv4Addr;

use mooring_plan::facts::{Fact, WriteOutcome};
use mooring_plan::names::{IpName, IpUid, Millis};
use mooring_plan::objects::{Claim, IpStatus};
use mooring_plan::reason::Reason;
use mooring_plan::step::{Notice, Regarding, StatusWrite, Step, Write};

use super::Actor;
use crate::cloud::Cloud;
use crate::controller::clock::seconds;

/// What is to be told once a write is done.
pub(super) enum Told {
    /// The status.
    Status(Box<StatusTold>),
    /// A reservation that was let go.
    Released(IpUid, Ipv4Addr),
}

/// A status write: what it is, what was there before, what is there then.
pub(super) struct StatusTold {
    uid: IpUid,
    what: StatusWrite,
    begun: Millis,
    before: Option<Claim>,
    status: IpStatus,
}

/// Was the write among these answers done?
pub(super) fn done(facts: &[Fact]) -> bool {
    facts.iter().any(|fact| {
        matches!(
            fact,
            Fact::Wrote(_, _, WriteOutcome::Done(_))
                | Fact::Wrote(_, Write::Release(_), WriteOutcome::NotFound)
        )
    })
}

impl<C: Cloud> Actor<C> {
    /// What a step would be news of.
    pub(super) fn news_of(&self, ip: &IpName, step: &Step, now: Millis) -> Option<Told> {
        let known = self.facts.ip(ip)?;
        let uid = known.uid.clone();
        match step {
            Step::Write(Write::Status(_, _, what, status)) => {
                let (what, before) = (*what, known.status.claim.clone());
                let status = status.clone();
                Some(Told::Status(Box::new(StatusTold {
                    uid,
                    what,
                    begun: now,
                    before,
                    status,
                })))
            }
            Step::Write(Write::Release(reservation)) => {
                Some(Told::Released(uid, reservation.address))
            }
            _ => None,
        }
    }

    pub(super) fn tell(&mut self, ip: &IpName, told: Told, now: Millis) {
        match told {
            Told::Released(uid, address) => {
                let message = format!("{address} is no longer reserved for this IP");
                self.say(Regarding::Ip(ip.clone(), uid), Reason::Released, message);
            }
            Told::Status(told) => self.tell_status(ip, *told, now),
        }
    }

    fn tell_status(&mut self, ip: &IpName, told: StatusTold, now: Millis) {
        let StatusTold {
            uid,
            what,
            begun,
            before,
            status,
        } = told;
        let message = |condition: &Option<mooring_plan::objects::Condition>| {
            condition
                .as_ref()
                .map(|condition| condition.message.clone())
                .unwrap_or_default()
        };
        let said = &status.conditions;
        let (reason, message, claim) = match what {
            StatusWrite::Conditions => return,
            StatusWrite::Detach => return self.progress.dropped(ip),
            StatusWrite::Reserved => (Reason::Reserved, message(&said.reserved), None),
            StatusWrite::Claim | StatusWrite::Return => {
                self.progress.claimed(ip, before.as_ref(), begun);
                (Reason::Claimed, message(&said.attached), status.claim)
            }
            StatusWrite::Record => (self.arrived(ip, now), message(&said.attached), status.claim),
            StatusWrite::Clear => {
                self.progress.dropped(ip);
                let address = status.address.map(|address| address.to_string());
                let address = address.unwrap_or_else(|| "the address".to_owned());
                let holder = before
                    .as_ref()
                    .map(|claim| format!(" for pod {}", claim.pod));
                let holder = holder.unwrap_or_default();
                (
                    Reason::Detached,
                    format!("{address} is on no interface{holder} any more"),
                    before,
                )
            }
        };
        if let Some(claim) = claim {
            let message = format!("IP {ip}: {message}");
            self.say(Regarding::Pod(claim.pod, claim.uid), reason, message);
        }
        self.say(Regarding::Ip(ip.clone(), uid), reason, message);
    }

    /// A claim was recorded: counts how long it took, and says whether the address moved.
    fn arrived(&mut self, ip: &IpName, now: Millis) -> Reason {
        let arrival = self.progress.recorded(ip, now);
        let metrics = &self.effects.metrics;
        match arrival.took {
            Some(took) if arrival.move_of_it => metrics.moved_in(seconds(took)),
            Some(took) => metrics.attached_in(seconds(took)),
            None => {}
        }
        if arrival.move_of_it {
            Reason::Moved
        } else {
            Reason::Attached
        }
    }

    fn say(&self, on: Regarding, reason: Reason, message: String) {
        self.events.tell(Notice {
            on,
            reason,
            message,
        });
    }
}
