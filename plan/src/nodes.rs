//! Fast failover (R3.34 to R3.42): a node that is away, and whose instance has ended or is impaired for good according
//! to EC2, gets the taint `node.kubernetes.io/out-of-service`. Kubernetes then force-deletes its pods, and their
//! addresses can move.

mod notices;

use alloc::vec::Vec;
use core::time::Duration;

use crate::cloud::{InstanceState, Lost};
use crate::decide::INSTANCE_FRESH;
use crate::facts::{Facts, NodeReportSeen, NodeSeen};
use crate::names::{InstanceId, IpName, NodeName};
use crate::objects::{BlockSpec, Claim, DataPath, Ip, Node};
use crate::step::{Checks, NodeStep};
use crate::time::Instant;

/// For this time after a node became not ready, only the state of its instance is read, not the status checks.
const STATES_ONLY: Duration = Duration::from_secs(30);

/// The question to EC2 about a node, and since when an answer counts.
enum Question {
    /// The node is away: whether its instance still runs.
    Away(Instant),
    /// The node is back and has our taint: whether its instance runs again.
    Back(Instant),
}

/// The next step for one node, or when to check it again.
enum NodeNext {
    /// The step, and since when it is due. What was never done is due since the start.
    Step(NodeStep, Instant),
    At(Instant),
}

impl Facts {
    /// The steps for nodes now, the most urgent first, and when to check again if no event comes.
    ///
    /// Not all of them may begin at once. A write is short, and the answer that it follows from becomes too old. Of the
    /// questions, the one that is due for the longest time is first, so that no node waits while others are asked again
    /// (R3.39).
    #[must_use]
    pub fn node_steps(&self, now: Instant) -> (Vec<(NodeName, NodeStep)>, Option<Instant>) {
        let mut steps = Vec::new();
        let mut again: Option<Instant> = None;
        let fast = self.blocks.values().any(|block| {
            let spec = block.spec.as_ref();
            spec.is_ok_and(|spec| spec.fast_failover)
        });
        for seen in self.nodes.values().filter(|_| self.synced()) {
            // Without fast failover nothing more is computed for a node.
            if !fast && !seen.node.our_taint {
                continue;
            }
            match self.node_step(seen, now) {
                Some(NodeNext::Step(step, due)) => {
                    let asks = matches!(step, NodeStep::Ask(..));
                    steps.push((asks, due, seen.node.name.clone(), step));
                }
                Some(NodeNext::At(at)) => again = Some(again.map_or(at, |again| again.min(at))),
                None => {}
            }
        }
        steps.sort_by_key(|(asks, due, ..)| (*asks, *due));
        let steps = steps.into_iter().map(|(_, _, name, step)| (name, step));
        (steps.collect(), again)
    }

    fn node_step(&self, seen: &NodeSeen, now: Instant) -> Option<NodeNext> {
        let node = &seen.node;
        let instance = node.instance.as_ref()?;
        let question = self.question(seen)?;
        let (Question::Away(since) | Question::Back(since)) = question;
        if now < since {
            return Some(NodeNext::At(since));
        }
        // An answer to an earlier question is about a time at which the node was in another state.
        let answer = self.instances.get(instance);
        let answer =
            answer.filter(|read| read.begun >= since && now.since(read.begun) <= INSTANCE_FRESH);
        // "No such instance" proves nothing, and a missing answer does not either.
        let state = answer.and_then(|read| read.value);
        let impaired = || self.is_impaired_for_good(seen, instance, now);
        let step = match (question, state) {
            (Question::Away(_), Some(state)) if state.is_ending() => {
                NodeStep::SetTaint(node.version, Lost::Ended(state))
            }
            (Question::Away(_), Some(InstanceState::Running)) if impaired() => {
                NodeStep::SetTaint(node.version, Lost::Impaired)
            }
            (Question::Back(_), Some(InstanceState::Running)) => {
                NodeStep::RemoveTaint(node.version)
            }
            _ => NodeStep::Ask(instance.clone(), self.checks_of(seen, instance, now)),
        };
        let pace = self.node_paces.get(&node.name);
        let due = pace.map_or(Instant::START, |pace| match &step {
            NodeStep::Ask(..) => pace.question_due(),
            NodeStep::SetTaint(..) | NodeStep::RemoveTaint(_) => pace.write_due(),
        });
        Some(if now < due {
            NodeNext::At(due)
        } else {
            NodeNext::Step(step, due)
        })
    }

    /// Whether the status checks are read. Not at first, because a stopped instance shows that in its state; only of an
    /// instance that ran according to the last answer; and not for a node whose kubelet reports, because it works.
    fn checks_of(&self, seen: &NodeSeen, instance: &InstanceId, now: Instant) -> Checks {
        let long = seen
            .not_ready_since
            .is_some_and(|since| now.since(since) >= STATES_ONLY);
        let last = self.instances.get(instance).and_then(|read| read.value);
        let ran = last == Some(InstanceState::Running);
        if long && ran && !seen.node.our_taint && self.may_ask_for_checks(now) {
            Checks::Asked
        } else {
            Checks::NotAsked
        }
    }

    /// True if a status check of the instance fails permanently: all reads that count began after the node became not
    /// ready, and the last one is fresh.
    fn is_impaired_for_good(&self, seen: &NodeSeen, instance: &InstanceId, now: Instant) -> bool {
        let impaired = self.impaired.get(instance);
        impaired.is_some_and(|impaired| {
            seen.not_ready_since
                .is_some_and(|since| impaired.first >= since)
                && now.since(impaired.last) <= INSTANCE_FRESH
                && impaired.is_for_good()
        })
    }

    /// The question to EC2 about a node; None: no question.
    fn question(&self, seen: &NodeSeen) -> Option<Question> {
        if seen.node.our_taint {
            return seen.back_since.map(Question::Back);
        }
        // A user set this taint, so the user removes it.
        if seen.node.out_of_service {
            return None;
        }
        self.away_since(seen).map(Question::Away)
    }

    /// Since when a node is away that carries an address of a block with fast failover. This time can be in the future.
    fn away_since(&self, seen: &NodeSeen) -> Option<Instant> {
        let report = self.node_reports.get(&seen.node.name);
        if seen.not_ready_since.is_none() && report.is_none() {
            return None;
        }
        let specs: Vec<&BlockSpec> = self.fast_blocks_on(&seen.node).collect();
        if specs.is_empty() {
            return None;
        }
        let part = specs
            .iter()
            .any(|spec| spec.data_path == DataPath::NodePart);
        let late = report.filter(|_| part).map(NodeReportSeen::late_at);
        seen.not_ready_since.into_iter().chain(late).min()
    }

    /// The blocks with fast failover that have an address that is claimed for this machine.
    fn fast_blocks_on<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a BlockSpec> {
        let here = self.claimed_on(node);
        let specs = here.filter_map(|(ip, _)| self.spec_of(ip));
        specs.filter(|spec| spec.fast_failover)
    }

    /// The IPs that are claimed for this machine. The instance is compared too: another machine can get the same Node
    /// name.
    pub(crate) fn claimed_on<'a>(
        &'a self,
        node: &'a Node,
    ) -> impl Iterator<Item = (&'a Ip, &'a Claim)> {
        let ips = self.index.ips_on(&node.name);
        ips.filter_map(|name| {
            let ip = self.ips.get(name)?;
            let claim = ip.status.claim.as_ref()?;
            let target = claim.target()?;
            (Some(&target.place.instance) == node.instance.as_ref()).then_some((ip, claim))
        })
    }

    /// Since when a node is away, if fast failover applies to it.
    #[must_use]
    pub fn away(&self, name: &NodeName) -> Option<Instant> {
        self.away_since(self.nodes.get(name)?)
    }

    /// The IPs that are claimed for a node, with their claims.
    #[must_use]
    pub fn claims_on(&self, name: &NodeName) -> Vec<(IpName, Claim)> {
        let seen = self.nodes.get(name).into_iter();
        let here = seen.flat_map(|seen| self.claimed_on(&seen.node));
        here.map(|(ip, claim)| (ip.name.clone(), claim.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use crate::facts::{Facts, Settings};
    use crate::time::Instant;

    #[test]
    fn without_nodes_there_is_nothing_to_do_and_no_time_to_check_again() {
        let facts = Facts::new(Settings {
            inventory_interval: Duration::from_secs(1),
        });
        let (steps, again) = facts.node_steps(Instant::from_millis(1000));
        assert!(steps.is_empty(), "{steps:?}");
        assert_eq!(again, None);
    }
}
