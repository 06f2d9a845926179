//! The histories of the API server and of EC2, laid into one order and gone through again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::objects::{is_end, text};
use super::{Case, Restored};
use crate::api_server::{Entry, Outcome};
use crate::cloud::{Call, Execution};
use crate::log::Moment;

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A write was carried out.
    Wrote(&'a Entry, &'a Outcome),
    /// A call was sent.
    Sent(&'a Call),
    /// A backup was restored.
    Restored(&'a Restored),
    /// A call was executed.
    Executed(&'a Call, &'a Execution),
}

impl Event<'_> {
    /// When, since the start.
    #[must_use]
    pub fn at(&self) -> Duration {
        match self {
            Self::Wrote(_, outcome) => outcome.at,
            Self::Restored(backup) => backup.moment.at,
            Self::Sent(call) => call.sent.at,
            Self::Executed(_, execution) => execution.moment.at,
        }
    }
}

/// Everything in the order in which it happened.
#[must_use]
pub fn in_order<'a>(case: &Case<'a>) -> Vec<Event<'a>> {
    let mut events = Vec::new();
    for entry in case.history {
        let Some(outcome) = entry.outcome.as_ref() else {
            continue;
        };
        if entry.request.verb.writes() && outcome.code < 300 {
            let key = (outcome.order, 0, entry.request.sequence);
            events.push((key, Event::Wrote(entry, outcome)));
        }
    }
    let place = |moment: &Moment| (moment.after, 1, moment.count);
    for backup in case.restored {
        events.push((place(&backup.moment), Event::Restored(backup)));
    }
    for call in case.calls {
        events.push((place(&call.sent), Event::Sent(call)));
        let executed = call.executed.iter();
        events.extend(
            executed.map(|execution| (place(&execution.moment), Event::Executed(call, execution))),
        );
    }
    events.sort_by_key(|(key, _)| *key);
    events.into_iter().map(|(_, event)| event).collect()
}

/// What a claim said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claim<'a> {
    pub(super) address: &'a str,
    pub(super) interface: &'a str,
    pub(super) instance: &'a str,
    pub(super) node: &'a str,
    pub(super) pod: &'a str,
}

/// The objects as they were at one moment, and what has ever been.
#[derive(Default)]
pub(super) struct Replay<'a> {
    /// By UID.
    pub(super) ips: BTreeMap<&'a str, &'a Value>,
    /// By UID.
    pub(super) pods: BTreeMap<&'a str, &'a Value>,
    /// Every claim that was ever written.
    pub(super) claims: BTreeSet<Claim<'a>>,
    /// The IPs that ever said `reassign: true`, by UID.
    pub(super) reassignable: BTreeSet<&'a str>,
    /// Node and instance, as they ever went together.
    machines: BTreeSet<(&'a str, &'a str)>,
    /// Pod and node.
    bound: BTreeSet<(&'a str, &'a str)>,
    names: BTreeMap<(&'a str, &'a str), &'a str>,
}

impl<'a> Replay<'a> {
    pub(super) fn apply(&mut self, entry: &'a Entry, outcome: &'a Outcome) {
        let request = &entry.request;
        let body: &Value = &outcome.body;
        let of = match request.resource.as_str() {
            "ips" => &mut self.ips,
            "pods" => &mut self.pods,
            "nodes" => {
                let instance = text(body, "/spec/providerID")
                    .rsplit('/')
                    .next()
                    .unwrap_or_default();
                self.machines
                    .insert((text(body, "/metadata/name"), instance));
                return;
            }
            _ => return,
        };
        if is_end(request, body) {
            let name = (request.resource.as_str(), request.name.as_str());
            if let Some(uid) = self.names.remove(&name) {
                of.remove(uid);
            }
            return;
        }
        // A binding answers with a status.
        if body["kind"] == "Status" {
            if request.subresource == "binding"
                && let Some(uid) = self.names.get(&("pods", request.name.as_str()))
            {
                self.bound
                    .insert((uid, text(&request.body, "/target/name")));
            }
            return;
        }
        let uid = text(body, "/metadata/uid");
        of.insert(uid, body);
        if body["spec"]["reassign"] == true {
            self.reassignable.insert(uid);
        }
        let name = text(body, "/metadata/name");
        self.names.insert((request.resource.as_str(), name), uid);
        if request.resource == "pods" {
            self.bound.insert((uid, text(body, "/spec/nodeName")));
        } else if body["status"]["claimed"] == true {
            self.claims.insert(Claim {
                address: text(body, "/status/address"),
                interface: text(body, "/status/networkInterfaceID"),
                instance: text(body, "/status/instanceID"),
                node: text(body, "/status/node"),
                pod: text(body, "/status/podUID"),
            });
        }
    }

    /// What was is no more; what has ever been stays so.
    pub(super) fn restore(&mut self, backup: &'a Restored) {
        self.names.clear();
        for (resource, of, objects) in [
            ("pods", &mut self.pods, &backup.pods),
            ("ips", &mut self.ips, &backup.ips),
        ] {
            of.clear();
            for object in objects {
                let uid = text(object, "/metadata/uid");
                self.names
                    .insert((resource, text(object, "/metadata/name")), uid);
                of.insert(uid, object);
            }
        }
    }

    /// Was the claim's pod ever bound to its node, and the node ever its instance's?
    pub(super) fn is_where_its_pod_is(&self, claim: &Claim<'_>) -> bool {
        self.bound.contains(&(claim.pod, claim.node))
            && self.machines.contains(&(claim.node, claim.instance))
    }
}
