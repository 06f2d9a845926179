//! Merges the histories of the API server and of EC2 into one order, and replays them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use ec2_emulator::wire::Action;
use serde_json::Value;

use super::nodes::Nodes;
use super::objects::{address, is_end, text};
use super::{Case, Restored};
use crate::api_server::{Entry, Outcome};
use crate::cloud::{Call, Execution};
use crate::log::Moment;

/// One event of the merged history.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A write was executed.
    Wrote(&'a Entry, &'a Outcome),
    /// A call was sent.
    Sent(&'a Call),
    /// A backup was restored.
    Restored(&'a Restored),
    /// A call was executed.
    Executed(&'a Call, &'a Execution),
}

impl Event<'_> {
    /// When it happened, as time since the start.
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

/// All requests and executions, in order.
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

/// The fields of a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claim<'a> {
    pub(super) address: &'a str,
    pub(super) interface: &'a str,
    pub(super) instance: &'a str,
    pub(super) node: &'a str,
    pub(super) pod: &'a str,
}

/// The objects at one moment, and the history that the rules need.
#[derive(Default)]
pub(super) struct Replay<'a> {
    /// The IPs, by UID.
    pub(super) ips: BTreeMap<&'a str, &'a Value>,
    /// The last address of every IP that ever existed, by UID: a gate can say `True` for an IP that is gone.
    pub(super) addresses: BTreeMap<&'a str, &'a str>,
    /// The pods, by UID.
    pub(super) pods: BTreeMap<&'a str, &'a Value>,
    /// Every claim that was ever written.
    pub(super) claims: BTreeSet<Claim<'a>>,
    /// The IPs that ever had `reassign: true`, by UID.
    pub(super) reassignable: BTreeSet<&'a str>,
    /// The Nodes.
    pub(super) nodes: Nodes<'a>,
    /// The pods that a Record ever named.
    pub(super) recorded: BTreeSet<&'a str>,
    /// The claims that a node part ever reported as programmed: pod and claim.
    pub(super) programmed: BTreeSet<(&'a str, &'a str)>,
    /// The blocks that ask for the node part, by name.
    pub(super) asking: BTreeSet<&'a str>,
    /// The place and the time of the last execution of an own call for each address.
    pub(super) put: BTreeMap<Ipv4Addr, (&'a str, Moment)>,
    /// The Deployment of each `ReplicaSet`, by their UIDs.
    deployments: BTreeMap<&'a str, &'a str>,
    /// All pairs of pod and node that ever existed.
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
                self.nodes.apply(request, body, outcome.at);
                return;
            }
            "replicasets" => {
                let owner = text(body, "/metadata/ownerReferences/0/uid");
                self.deployments.insert(text(body, "/metadata/uid"), owner);
                return;
            }
            "ipnodes" => {
                self.nodes.report(request, body, outcome.at);
                let entries = body.pointer("/status/addresses").and_then(Value::as_array);
                let done = entries
                    .into_iter()
                    .flatten()
                    .filter(|entry| entry["state"] == "Programmed");
                let done = done.map(|entry| (text(entry, "/podUID"), text(entry, "/claim")));
                self.programmed.extend(done);
                return;
            }
            "ipblocks" => {
                if !body["spec"]["node"].is_null() {
                    self.asking.insert(text(body, "/metadata/name"));
                }
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
        if request.resource == "ips" {
            self.addresses.insert(uid, address(body));
        }
        if body["spec"]["reassign"] == true {
            self.reassignable.insert(uid);
        }
        let name = text(body, "/metadata/name");
        self.names.insert((request.resource.as_str(), name), uid);
        if request.resource == "pods" {
            self.bound.insert((uid, text(body, "/spec/nodeName")));
        } else if body["status"]["claimed"] == true {
            if body["status"]["assigned"] == true {
                self.recorded.insert(text(body, "/status/podUID"));
            }
            self.claims.insert(Claim {
                address: text(body, "/status/address"),
                interface: text(body, "/status/networkInterfaceID"),
                instance: text(body, "/status/instanceID"),
                node: text(body, "/status/node"),
                pod: text(body, "/status/podUID"),
            });
        }
    }

    /// A backup replaces the present objects; the history stays.
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
                if resource == "ips" {
                    self.addresses.insert(uid, address(object));
                }
            }
        }
    }

    /// Whether the pod of the claim was ever bound to the node of the claim, and the node ever named the instance.
    pub(super) fn is_where_its_pod_is(&self, claim: &Claim<'_>) -> bool {
        self.bound.contains(&(claim.pod, claim.node)) && self.nodes.was(claim.node, claim.instance)
    }

    /// A call was executed.
    pub(super) fn execute(&mut self, call: &'a Call, execution: &Execution) {
        if execution.refused.is_some() {
            return;
        }
        // Mooring cannot detect in time that a call is executed late or twice.
        let first = call.executed.first().map(|first| first.moment);
        let expected = first == Some(execution.moment) && !call.was_paused(execution);
        for address in &call.addresses {
            if call.action == Action::AssignPrivateIpAddresses && expected {
                let put = (call.interface.as_str(), execution.moment);
                self.put.insert(*address, put);
            } else {
                self.put.remove(address);
            }
        }
    }

    /// Whether both pods belong to one Deployment, with different templates.
    pub(super) fn of_one_deployment(&self, one: &Value, other: &Value) -> bool {
        let set = |pod| text(pod, "/metadata/ownerReferences/0/uid");
        let deployment = |pod| self.deployments.get(set(pod));
        set(one) != set(other) && deployment(one).is_some() && deployment(one) == deployment(other)
    }
}
