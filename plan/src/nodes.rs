//! Fast failover (R3.34 to R3.40): a node that is away, and whose instance has ended by the word of EC2, gets the taint
//! `node.kubernetes.io/out-of-service`. Kubernetes then deletes its pods by force, and their addresses follow them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::cloud::InstanceState;
use crate::decide::INSTANCE_FRESH;
use crate::facts::{Facts, NodeSeen};
use crate::names::{IpName, Millis, NodeName};
use crate::objects::{BlockSpec, Claim, DataPath, Ip, Node};
use crate::reason::Reason;
use crate::step::{NodeStep, Notice, Regarding};

/// What is asked of EC2 about a node, and since when an answer counts.
enum Question {
    /// Does its instance still run? It is away.
    Away(Millis),
    /// Does its instance run again? It is back, and out of service by our taint.
    Back(Millis),
}

/// What is to be done for one node.
enum Next {
    Step(NodeStep),
    At(Millis),
}

impl Facts {
    /// What is to be done for nodes now, and when to look again although nothing happens.
    #[must_use]
    pub fn node_steps(&self, now: Millis) -> (Vec<(NodeName, NodeStep)>, Option<Millis>) {
        let mut steps = Vec::new();
        let mut again: Option<Millis> = None;
        let fast = self.blocks.values().any(|block| {
            let spec = block.spec.as_ref();
            spec.is_ok_and(|spec| spec.fast_failover)
        });
        for seen in self.nodes.values().filter(|_| self.synced()) {
            // At rest this is all that a node costs.
            if !fast && !seen.node.our_taint {
                continue;
            }
            match self.node_step(seen, now) {
                Some(Next::Step(step)) => steps.push((seen.node.name.clone(), step)),
                Some(Next::At(at)) => again = Some(again.map_or(at, |again| again.min(at))),
                None => {}
            }
        }
        (steps, again)
    }

    fn node_step(&self, seen: &NodeSeen, now: Millis) -> Option<Next> {
        let node = &seen.node;
        let instance = node.instance.as_ref()?;
        let question = self.question(seen)?;
        let (Question::Away(since) | Question::Back(since)) = question;
        if now < since {
            return Some(Next::At(since));
        }
        // An answer to an earlier question is of a time at which the node was another way.
        let answer = self.instances.get(instance);
        let answer =
            answer.filter(|(begun, _)| *begun >= since && now.since(*begun) <= INSTANCE_FRESH);
        // That EC2 knows no such instance proves nothing, and neither does its silence.
        let state = answer.and_then(|(_, state)| *state);
        let step = match (question, state) {
            (Question::Away(_), Some(state)) if state.is_ending() => {
                NodeStep::SetTaint(node.version, state)
            }
            (Question::Back(_), Some(InstanceState::Running)) => {
                NodeStep::RemoveTaint(node.version)
            }
            _ => NodeStep::Ask(instance.clone()),
        };
        let pace = self.node_paces.get(&node.name);
        let due = pace.map_or(Millis(0), |pace| match &step {
            NodeStep::Ask(_) => pace.question_due(),
            NodeStep::SetTaint(..) | NodeStep::RemoveTaint(_) => pace.write_due(),
        });
        Some(if now < due {
            Next::At(due)
        } else {
            Next::Step(step)
        })
    }

    /// What EC2 has to be asked about a node.
    fn question(&self, seen: &NodeSeen) -> Option<Question> {
        if seen.node.our_taint {
            return seen.back_since.map(Question::Back);
        }
        // A person has taken it out of service, and puts it back.
        if seen.node.out_of_service {
            return None;
        }
        self.away_since(seen).map(Question::Away)
    }

    /// Since when a node is away that carries an address of a block with fast failover; this can be ahead.
    fn away_since(&self, seen: &NodeSeen) -> Option<Millis> {
        let specs: Vec<&BlockSpec> = self.fast_blocks_on(&seen.node).collect();
        if specs.is_empty() {
            return None;
        }
        let part = specs
            .iter()
            .any(|spec| spec.data_path == DataPath::NodePart);
        let report = self.node_reports.get(&seen.node.name).filter(|_| part);
        let late = report.map(|report| report.late_at());
        seen.not_ready_since.into_iter().chain(late).min()
    }

    /// The blocks with fast failover of which an address is claimed for this very machine.
    fn fast_blocks_on<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a BlockSpec> {
        let here = self.claimed_on(node);
        let specs = here.filter_map(|(ip, _)| {
            let block = self.blocks.get(ip.status.block.as_ref()?)?;
            block.spec.as_ref().ok()
        });
        specs.filter(|spec| spec.fast_failover)
    }

    /// The IPs that are claimed for this machine: the name of a Node can go to another one.
    fn claimed_on<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = (&'a Ip, &'a Claim)> {
        let ips = self.index.ips_on(&node.name);
        ips.filter_map(|name| {
            let ip = self.ips.get(name)?;
            let claim = ip.status.claim.as_ref()?;
            let target = claim.target()?;
            (Some(&target.place.instance) == node.instance.as_ref()).then_some((ip, claim))
        })
    }

    /// Since when a node is away, if fast failover is about to take it out of service.
    #[must_use]
    pub fn away(&self, name: &NodeName) -> Option<Millis> {
        self.away_since(self.nodes.get(name)?)
    }

    /// The IPs that are claimed for a node, with their claims.
    pub fn claims_on(&self, name: &NodeName) -> Vec<(IpName, Claim)> {
        let seen = self.nodes.get(name).into_iter();
        let here = seen.flat_map(|seen| self.claimed_on(&seen.node));
        here.map(|(ip, claim)| (ip.name.clone(), claim.clone()))
            .collect()
    }

    /// What is to be said of a step of a node that was done: on the Node, and on the pods there that have addresses.
    #[must_use]
    pub fn node_notices(&self, name: &NodeName, step: &NodeStep) -> Vec<Notice> {
        let Some(seen) = self.nodes.get(name) else {
            return Vec::new();
        };
        let instance = seen.node.instance.as_ref();
        let instance = instance.map_or("", |instance| instance.as_str());
        let (reason, message) = match step {
            NodeStep::Ask(_) => return Vec::new(),
            NodeStep::SetTaint(_, state) => (
                Reason::OutOfService,
                format!(
                    "EC2 says that instance {instance} is {}: Mooring has set the taint out-of-service on node \
                     {name}, so that Kubernetes deletes its pods by force",
                    state.in_words()
                ),
            ),
            NodeStep::RemoveTaint(_) => (
                Reason::BackInService,
                format!(
                    "node {name} is ready and EC2 says that instance {instance} is running: Mooring has removed its \
                     taint out-of-service"
                ),
            ),
        };
        let of_node = Regarding::Node(name.clone(), seen.node.uid.clone());
        let mut notices = Vec::from([notice(of_node, reason, message.clone())]);
        if reason == Reason::OutOfService {
            let pods = self.claimed_on(&seen.node).map(|(ip, claim)| {
                let on = Regarding::Pod(claim.pod.clone(), claim.uid.clone());
                let message = format!(
                    "IP {}: {message}; the address goes to the next pod",
                    ip.name
                );
                notice(on, reason, message)
            });
            notices.extend(pods);
        }
        notices
    }
}

const fn notice(on: Regarding, reason: Reason, message: String) -> Notice {
    Notice {
        on,
        reason,
        message,
    }
}
