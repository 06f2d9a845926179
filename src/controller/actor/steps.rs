//! The IPs' steps: one in flight for each.

use mooring_plan::facts::Fact;
use mooring_plan::names::{IpName, Millis};
use mooring_plan::step::{StatusWrite, Step, Write};

use super::{Actor, Flight, Landed, SOON, decided};
use crate::api::read::Moved;
use crate::cloud::Cloud;

/// So many IPs have a step in flight at once: the API server's own limits for one client lie above.
const AT_ONCE: usize = 64;
/// Without a token or a lease long enough, a call is looked at again after this long.
const CALL_AGAIN: Millis = Millis(500);

impl<C: Cloud> Actor<C> {
    pub(super) fn launch_steps(&mut self, now: Millis) {
        self.queue.ring(now);
        while self.busy.len() < AT_ONCE {
            let Some(ip) = self.queue.pop() else { return };
            // Its answer will bring it up again.
            if !self.busy.contains(&ip) {
                self.turn(ip, now);
            }
        }
    }

    fn turn(&mut self, ip: IpName, now: Millis) {
        if !self.facts.knows(&ip) {
            self.pace.rest(&ip);
            self.progress.dropped(&ip);
            return;
        }
        let decision = self.facts.decide(&ip, now);
        for notice in self.said.news(decision.notices, now) {
            self.events.tell(notice);
        }
        let Some(step) = decision.step else {
            self.pace.rest(&ip);
            if let Some(again) = decision.again {
                self.queue.at(ip, again.max(now.plus(SOON)));
            }
            return;
        };
        if let Err(due) = self.may_begin(&ip, &step, now) {
            let due = decision.again.map_or(due, |again| due.min(again));
            self.queue.at(ip, due.max(now.plus(SOON)));
            return;
        }
        self.begin(ip, step, now);
    }

    /// May a step begin now? Else, when to ask again.
    fn may_begin(&mut self, ip: &IpName, step: &Step, now: Millis) -> Result<(), Millis> {
        self.pace.check(ip, step, now)?;
        match step {
            Step::Call(call) => {
                if !self.lead().may_call(now) {
                    return Err(now.plus(CALL_AGAIN));
                }
                self.buckets.take(call.action(), now)
            }
            Step::Read(mooring_plan::step::Read::Instance(_)) => self
                .buckets
                .take(mooring_plan::classify::Action::DescribeInstances, now),
            Step::Read(_) | Step::Write(_) => Ok(()),
        }
    }

    fn begin(&mut self, ip: IpName, step: Step, now: Millis) {
        trace(&ip, &step);
        let told = self.news_of(&ip, &step, now);
        let moved = self.moved(&ip, &step);
        if let Step::Call(call) = &step {
            self.hear(Fact::CallBegun(ip.clone(), call.clone()), Some(now));
        }
        self.pace.began(&ip, step.clone(), now);
        self.busy.insert(ip.clone());
        let effects = self.effects.clone();
        self.flights.spawn(async move {
            let answer = effects.carry_out(&ip, step, moved).await;
            Landed {
                what: Flight::Ip(ip, told),
                begun: now,
                answer,
            }
        });
    }

    fn moved(&self, ip: &IpName, step: &Step) -> Moved {
        let Step::Write(Write::Status(_, _, StatusWrite::Record, status)) = step else {
            return Moved::No;
        };
        let target = status
            .claim
            .as_ref()
            .and_then(mooring_plan::objects::Claim::target);
        target.map_or(Moved::No, |target| self.progress.moved(ip, &target.place))
    }
}

fn trace(ip: &IpName, step: &Step) {
    if let Step::Write(write) = step {
        decided::by_ip(write);
    }
    match step {
        Step::Read(read) => tracing::debug!(%ip, ?read, "reading"),
        Step::Write(Write::Status(_, version, what, status)) => {
            let (pod, target) = status
                .claim
                .as_ref()
                .map(|claim| (&claim.pod, claim.target()))
                .unzip();
            let target = target.flatten();
            tracing::info!(%ip, %version, ?what, ?pod, ?target, "writing the status");
        }
        Step::Write(Write::Gate(gate)) => {
            let reason = gate.reason.as_str();
            tracing::info!(%ip, pod = %gate.pod, status = gate.status, reason, "writing the condition");
        }
        Step::Write(write) => tracing::info!(%ip, ?write, "writing"),
        // The effect says it when it is sent.
        Step::Call(_) => {}
    }
}
