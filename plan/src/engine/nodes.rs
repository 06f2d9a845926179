//! Runs the steps of fast failover: at most one step per node is in flight.

use alloc::vec::Vec;

use super::node_schedule::Running;
use super::{Completion, Effect, Engine, FailoverPart, Report};
use crate::facts::{Fact, WriteOutcome};
use crate::names::{IpName, NodeName};
use crate::outcome::Action;
use crate::step::{Checks, NodeStep};
use crate::time::Instant;

/// Maximum number of steps of nodes in flight: all nodes of a zone can fail at once.
const AT_ONCE: usize = 8;

impl Engine {
    /// Begins the steps of nodes that are due.
    pub(super) fn begin_nodes(&mut self, now: Instant) {
        if self.nodes.next.is_some_and(|next| next <= now) {
            let effects = self.reconcile_nodes(now);
            self.outbox.extend(effects);
        }
    }

    /// Begins the steps that nodes need. [`Engine::poll`] does this; a caller with [`super::Pacing::Off`] chooses the
    /// time itself.
    pub fn reconcile_nodes(&mut self, now: Instant) -> Vec<Effect> {
        let mut effects = Vec::new();
        if !self.leading {
            return effects;
        }
        let (steps, mut next) = self.facts.node_steps(now);
        for (name, step) in steps {
            // The end of a step leads to the next check.
            if self.nodes.running.contains_key(&name) || self.nodes.running.len() >= AT_ONCE {
                continue;
            }
            if let Err(token) = self.tokens_of(&step, now) {
                next = Some(next.map_or(token, |next| next.min(token)));
                continue;
            }
            let running = Running {
                begun: now,
                step: step.clone(),
                away: self.facts.away(&name),
            };
            self.nodes.running.insert(name.clone(), running);
            effects.push(Effect::NodeStep(name, step));
        }
        self.nodes.looked = now;
        self.nodes.next = next;
        effects
    }

    /// Takes the tokens for the calls of a step.
    ///
    /// # Errors
    /// No token is available: when to try again.
    fn tokens_of(&mut self, step: &NodeStep, now: Instant) -> Result<(), Instant> {
        match step {
            NodeStep::Ask(_, checks) => {
                if *checks == Checks::Asked {
                    self.take_token(Action::DescribeInstanceStatus, now)?;
                }
                self.take_token(Action::DescribeInstances, now)
            }
            NodeStep::SetTaint(..) | NodeStep::RemoveTaint(_) => Ok(()),
        }
    }

    /// Reports the parts of the failover of an IP that have ended.
    pub(super) fn follow_failover(&mut self, ip: &IpName, now: Instant) {
        for (part, took) in self.failovers.follow(ip, &self.facts, now) {
            self.report(Report::Failover(part, took));
        }
    }

    /// EC2 has answered an Assign of an IP with success.
    pub(super) fn failover_assigned(&mut self, ip: &IpName, now: Instant) {
        if let Some((part, took)) = self.failovers.assigned(ip, now) {
            self.report(Report::Failover(part, took));
        }
    }

    /// A step of a node has ended.
    pub(super) fn node_done(&mut self, name: &NodeName, completion: Completion, now: Instant) {
        let Some(Running { begun, step, away }) = self.nodes.running.remove(name) else {
            return;
        };
        let done = |fact: &Fact| matches!(fact, Fact::NodeWrote(_, WriteOutcome::Done(_)));
        let done = completion.facts.iter().any(done);
        self.apply_all(completion, begun, now);
        self.nodes.mark_affected();
        let refusals = self.facts.node_refusals(name, &step, now);
        self.post_new(refusals, now);
        if !done {
            return;
        }
        let notices = self.facts.node_notices(name, &step);
        self.post_new(notices, now);
        if let (NodeStep::SetTaint(..), Some(since)) = (step, away) {
            self.report(Report::Failover(FailoverPart::Detection, now.since(since)));
            if self.is_paced() {
                let claims = self.facts.claims_on(name);
                self.failovers.begin(claims, since, now);
            }
        }
    }
}
