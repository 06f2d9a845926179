//! Checks that `apply` returns all IPs whose next step a fact can change: the engine makes no decision for others.

use std::collections::BTreeSet;

use mooring_plan::engine::{Event, Work};
use mooring_plan::facts::{Affected, Fact};
use mooring_plan::names::IpName;
use mooring_plan::step::Decision;
use mooring_plan::time::Instant;
use mooring_world::affected::{checks_cycles_soon, may_be_late, urgent};

use super::Controller;

impl Controller {
    /// Applies a fact: the answer to a step of the IP `asked`, which is decided again anyway, or a fact without a
    /// request.
    pub fn receive(&mut self, fact: Fact, asked: Option<&IpName>, begun: Instant, now: Instant) {
        let event = match asked.filter(|name| self.engine.is_in_flight(name)) {
            Some(name) => Event::Completed(Work::Ip(name.clone()), fact.into()),
            None if begun == now => Event::Fact(fact),
            // An answer to a request from before the last step of the IP.
            None => {
                self.take(&format!("{fact:?}"), asked, now, |taker| {
                    match taker.facts_mut().apply(fact, begun, now) {
                        Affected::Nothing => BTreeSet::new(),
                        Affected::One(ip) => BTreeSet::from([ip]),
                        Affected::Several(ips) => ips,
                        Affected::All => taker.facts().ip_names().cloned().collect(),
                    }
                });
                return;
            }
        };
        self.event(event, asked, now);
    }

    /// Handles an event.
    pub fn event(&mut self, event: Event, asked: Option<&IpName>, now: Instant) {
        self.take(&format!("{event:?}"), asked, now, |taker| {
            taker.engine.handle(event, now);
            let mut affected = BTreeSet::new();
            while let Some(name) = taker.engine.next_queued() {
                affected.insert(name);
            }
            affected
        });
    }

    /// Applies something, and asserts that the decision of every IP that is not affected stays the same.
    fn take(
        &mut self,
        what: &str,
        asked: Option<&IpName>,
        now: Instant,
        take: impl FnOnce(&mut Self) -> BTreeSet<IpName>,
    ) {
        let idle_ips = self.idle_ips(asked, now);
        let affected = take(self);
        self.idle
            .retain(|name, _| Some(name) != asked && !affected.contains(name));
        for (name, before) in idle_ips {
            if affected.contains(&name) {
                continue;
            }
            let after = self.facts().decide(&name, now);
            // A later time is harmless: the engine decides at the earlier time too, and finds no step.
            let sooner = after
                .again
                .is_some_and(|after| before.again.is_none_or(|at| after < at));
            let soon = checks_cycles_soon(&before, now);
            let same = urgent(&after.notices, soon) == urgent(&before.notices, soon);
            let is_idle = after
                .step
                .as_ref()
                .is_none_or(|step| soon && may_be_late(step));
            assert!(
                is_idle && same && !sooner,
                "{name} is not affected by {what}\nbefore {before:?}\nafter {after:?}\n{:#?}",
                self.facts().ip(&name)
            );
        }
    }

    /// The last decision for an IP, if it needed no step and is not due. The engine decides for an IP only when a fact
    /// affects it and when it is due.
    pub fn idle_decision(&self, name: &IpName, now: Instant) -> Option<Decision> {
        let again = *self.idle.get(name)?;
        let is_idle = again.is_none_or(|again| again > now);
        is_idle.then(|| Decision {
            again,
            ..Decision::default()
        })
    }

    /// Stores the decision for an IP.
    pub fn decided(&mut self, name: &IpName, decision: &Decision) {
        if decision.step.is_none() {
            self.idle.insert(name.clone(), decision.again);
        } else {
            self.idle.remove(name);
        }
    }

    /// The IPs that need no step now, up to a number that is enough for the check.
    fn idle_ips(&self, asked: Option<&IpName>, now: Instant) -> Vec<(IpName, Decision)> {
        let names = self.names().into_iter();
        let others = names.filter(|name| Some(name) != asked);
        let decisions = others.take(8).map(|name| {
            let decision = self.facts().decide(&name, now);
            (name, decision)
        });
        decisions
            .filter(|(_, decision)| decision.step.is_none())
            .collect()
    }
}
