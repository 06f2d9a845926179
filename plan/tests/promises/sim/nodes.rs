//! The steps of fast failover, and the reaction of Kubernetes.

use std::time::Duration;

use mooring_plan::engine::{Effect, Event, Work};
use mooring_plan::facts::{Fact, WriteOutcome};
use mooring_plan::names::NodeName;
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{Checks, NodeStep};
use mooring_plan::time::Instant;

use super::Sim;

impl Sim {
    /// Carries out the steps of nodes; returns when to check again.
    pub fn node_steps(&mut self, controller: usize) -> Option<Instant> {
        let begun = self.now;
        let effects = self.controllers[controller].engine.reconcile_nodes(begun);
        for effect in effects {
            let Effect::NodeStep(name, step) = effect else {
                continue;
            };
            self.note(format!("[{controller}] node {name}: {step:?}"));
            self.node_taken.push((self.now, name.clone(), step.clone()));
            let taken = self.node_taken.len();
            assert!(taken < 10_000, "more and more: {step:?}");
            let facts = self.node_step(controller, &name, &step);
            self.now = self.now.plus(Duration::from_millis(1));
            let completed = Event::Completed(Work::Node(name.clone()), facts.into());
            self.controllers[controller].event(completed, None, self.now);
            let facts = self.controllers[controller].facts();
            let notices = facts.node_refusals(&name, &step, self.now);
            self.rules.record(&notices);
            self.deliver(controller);
        }
        let (steps, again) = self.controllers[controller].facts().node_steps(self.now);
        if steps.is_empty() {
            again
        } else {
            Some(self.now.plus(Duration::from_millis(1)))
        }
    }

    fn node_step(&mut self, controller: usize, name: &NodeName, step: &NodeStep) -> Vec<Fact> {
        match step {
            NodeStep::Ask(instance, checks) => {
                self.counts.describes += 1;
                let mut facts = vec![Fact::NodeAsked(name.clone(), self.describe_fails)];
                match self.describe_fails {
                    None => {
                        let state = self.ec2.state_of(instance);
                        facts.push(Fact::InstanceRead(instance.clone(), state));
                    }
                    Some(Outcome::InstanceNotFound) => {
                        facts.push(Fact::InstanceRead(instance.clone(), None));
                    }
                    Some(_) => {}
                }
                if *checks == Checks::Asked {
                    self.counts.describes += 1;
                    facts.push(match self.checks_fail.or(self.describe_fails) {
                        None => {
                            Fact::ChecksRead(instance.clone(), self.ec2.impaired_since(instance))
                        }
                        Some(outcome) => Fact::ChecksFailed(outcome),
                    });
                }
                facts
            }
            NodeStep::SetTaint(version, _) | NodeStep::RemoveTaint(version) => {
                self.counts.other_writes += 1;
                let wanted = matches!(step, NodeStep::SetTaint(..));
                let outcome = match self.kube.nodes.get(name) {
                    _ if self.forbids_taints => {
                        self.forbidden += 1;
                        let text = format!("denied by a policy, request {}", self.forbidden);
                        WriteOutcome::Refused(text)
                    }
                    None => WriteOutcome::NotFound,
                    Some(node) if node.version != *version => WriteOutcome::Conflict,
                    Some(_) => {
                        self.change_node(name.as_str(), |node| {
                            (node.out_of_service, node.our_taint) = (wanted, wanted);
                        });
                        let facts = self.controllers[controller].facts();
                        let notices = facts.node_notices(name, step);
                        self.rules.record(&notices);
                        WriteOutcome::Done(None)
                    }
                };
                vec![Fact::NodeWrote(name.clone(), outcome)]
            }
        }
    }

    /// The writes of taints so far.
    pub fn taints_written(&self) -> Vec<NodeStep> {
        let steps = self.node_taken.iter().map(|(.., step)| step);
        steps
            .filter(|step| !matches!(step, NodeStep::Ask(..)))
            .cloned()
            .collect()
    }

    /// When EC2 was asked about nodes.
    pub fn questions(&self) -> Vec<Instant> {
        let asked = self.node_taken.iter();
        asked
            .filter(|(.., step)| matches!(step, NodeStep::Ask(..)))
            .map(|(at, ..)| *at)
            .collect()
    }
}

impl Sim {
    /// Number of reads of status checks.
    pub fn checks_asked(&self) -> usize {
        let asked = |step: &NodeStep| matches!(step, NodeStep::Ask(_, Checks::Asked));
        let steps = self.node_taken.iter();
        steps.filter(|(.., step)| asked(step)).count()
    }
}
