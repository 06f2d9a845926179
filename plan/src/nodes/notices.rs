//! The Events about the steps of fast failover.
//! Rules: R3.35, R3.38, R3.41, R3.42.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::cloud::Lost;
use crate::decide::{not_permitted, refused_write};
use crate::facts::{Facts, NodePace, NodeSeen};
use crate::names::NodeName;
use crate::outcome::{Action, Outcome};
use crate::reason::Reason;
use crate::step::{Checks, NodeStep, Notice, Regarding};
use crate::time::Instant;

impl Facts {
    /// The Events after a successful step of a node: on the Node, and on the pods there that have addresses.
    #[must_use]
    pub fn node_notices(&self, name: &NodeName, step: &NodeStep) -> Vec<Notice> {
        let Some(seen) = self.nodes.get(name) else {
            return Vec::new();
        };
        let instance = seen.node.instance.as_ref();
        let instance = instance.map_or("", |instance| instance.as_str());
        let (reason, message) = match step {
            NodeStep::Ask(..) => return Vec::new(),
            NodeStep::SetTaint(_, lost) => {
                let why = match lost {
                    Lost::Ended(state) => format!("is {}", state.in_words()),
                    Lost::Impaired => "has failed a status check for 5 minutes or more".to_owned(),
                };
                let message = format!(
                    "EC2 says that instance {instance} {why}: Mooring has set the taint out-of-service on node \
                     {name}, so that Kubernetes deletes its pods by force"
                );
                (Reason::OutOfService, message)
            }
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
            let message = format!("{message}; the address goes to the next pod");
            notices.extend(self.on_pods_with_addresses(seen, reason, &message));
        }
        notices
    }

    /// The Events after a step of a node about what fast failover of it needs and is not permitted.
    #[must_use]
    pub fn node_refusals(&self, name: &NodeName, step: &NodeStep, now: Instant) -> Vec<Notice> {
        let Some(seen) = self.nodes.get(name) else {
            return Vec::new();
        };
        let pace = self.node_paces.get(name);
        let mut notices = Vec::new();
        if let Some(outcome) = pace.and_then(NodePace::denied) {
            notices.extend(self.question_denied(seen, outcome));
        }
        if let Some(text) = pace.and_then(NodePace::refused) {
            notices.push(taint_refused(seen, text));
        }
        if let NodeStep::Ask(_, Checks::Asked) = step {
            notices.extend(self.checks_notice(seen, now));
        }
        notices
    }

    /// EC2 denied the question for the state of the instance: on the Node, and on the pods there that have addresses.
    fn question_denied(&self, seen: &NodeSeen, outcome: Outcome) -> Vec<Notice> {
        let name = &seen.node.name;
        let sentence = not_permitted(Action::DescribeInstances, "", outcome);
        let effect = if seen.node.our_taint {
            "keeps its taint out-of-service"
        } else {
            "is not taken out of service"
        };
        let message = format!("{sentence}. Until then node {name} {effect}");
        let on = Regarding::Node(name.clone(), seen.node.uid.clone());
        let mut notices = Vec::from([notice(on, Reason::AccessDenied, message.clone())]);
        notices.extend(self.on_pods_with_addresses(seen, Reason::AccessDenied, &message));
        notices
    }

    /// The same Event on each pod on this node that has an address.
    fn on_pods_with_addresses(
        &self,
        seen: &NodeSeen,
        reason: Reason,
        message: &str,
    ) -> Vec<Notice> {
        let notices = self.claimed_on(&seen.node).map(|(ip, claim)| {
            let on = Regarding::Pod(claim.pod.clone(), claim.uid.clone());
            notice(on, reason, format!("IP {}: {message}", ip.name))
        });
        notices.collect()
    }

    /// The Event if status checks are denied.
    fn checks_notice(&self, seen: &NodeSeen, now: Instant) -> Option<Notice> {
        if self.may_ask_for_checks(now) {
            return None;
        }
        let name = &seen.node.name;
        let message = format!(
            "the permission ec2:{} is missing: fast failover of node {name} uses only the state of \
             its instance. Add it to the policy of the role",
            Action::DescribeInstanceStatus
        );
        let on = Regarding::Node(name.clone(), seen.node.uid.clone());
        Some(notice(on, Reason::AccessDenied, message))
    }
}

/// The API server refuses to set the taint, or to remove it.
fn taint_refused(seen: &NodeSeen, text: &str) -> Notice {
    let name = &seen.node.name;
    let (verb, effect) = if seen.node.our_taint {
        (
            "remove",
            "Kubernetes deletes every pod of the node by force",
        )
    } else {
        ("set", "its pods stay, and their addresses with them")
    };
    let what = format!("{verb} the taint out-of-service of node {name}");
    let message = format!("{}. Until then {effect}", refused_write(&what, text));
    let on = Regarding::Node(name.clone(), seen.node.uid.clone());
    notice(on, Reason::WriteRefused, message)
}

const fn notice(on: Regarding, reason: Reason, message: String) -> Notice {
    Notice {
        on,
        reason,
        message,
    }
}
