//! Histories for the tests of the judge: the writes of Nodes, pods and IPs, the calls of EC2, and the decisions.

use std::sync::Arc;
use std::time::Duration;

use ec2_emulator::wire::Action;
use serde_json::{Value, json};

use super::ADDRESS;
use crate::api_server::{Entry, Fate, Outcome, RequestInfo, Verb};
use crate::cloud::{Call, Execution};
use crate::decisions::Decided;
use crate::log::Moment;

pub(super) fn write(
    version: u64,
    resource: &str,
    name: &str,
    subresource: &str,
    body: Value,
    answer: Value,
) -> Entry {
    let request = RequestInfo {
        sequence: version,
        user: "mooring-0".to_owned(),
        verb: Verb::Patch,
        group: String::new(),
        resource: resource.to_owned(),
        namespace: String::new(),
        name: name.to_owned(),
        subresource: subresource.to_owned(),
        query: String::new(),
        body: Arc::new(body),
    };
    let at = Duration::from_secs(version);
    Entry {
        request,
        fate: Fate::Serve,
        outcome: Some(Outcome {
            code: 200,
            body: Arc::new(answer),
            at,
            version,
            order: version,
        }),
        arrived: at,
        answered: Some(at),
    }
}

/// Changes the answer of a write.
pub(super) fn with(mut entry: Entry, pointer: &str, value: Value) -> Entry {
    let outcome = entry.outcome.as_mut().unwrap();
    let mut body = Value::clone(&outcome.body);
    *body.pointer_mut(pointer).unwrap() = value;
    outcome.body = Arc::new(body);
    entry
}

pub(super) fn guarded() -> Value {
    json!({"metadata": {"uid": "u", "resourceVersion": "1"}})
}

pub(super) fn node() -> Entry {
    let node =
        json!({"metadata": {"name": "a", "uid": "n"}, "spec": {"providerID": "aws:///z/i-1"}});
    write(1, "nodes", "a", "", guarded(), node)
}

pub(super) fn pod(version: u64, uid: &str, attached: bool) -> Entry {
    let conditions = json!([{
        "type": "ip.wgtwo.com/attached", "status": if attached { "True" } else { "False" }, "reason": "Attached",
    }]);
    let metadata = json!({"name": uid, "uid": uid, "annotations": {"ip.wgtwo.com/ip-uid": "ip"}});
    let answer = json!({"metadata": metadata, "spec": {"nodeName": "a"}, "status": {"conditions": conditions}});
    let mut body = guarded();
    body["status"] = json!({"conditions": conditions});
    write(version, "pods", uid, "status", body, answer)
}

pub(super) fn claim(
    version: u64,
    pod: &str,
    interface: &str,
    assigned: bool,
    previous: Value,
) -> Entry {
    let status = json!({
        "address": ADDRESS, "claimed": true, "assigned": assigned, "podUID": pod, "node": "a", "instanceID": "i-1",
        "networkInterfaceID": interface, "previous": previous,
    });
    let answer = json!({
        "metadata": {"name": "web", "uid": "ip"}, "spec": {"reassign": true}, "status": status,
    });
    write(version, "ips", "web", "status", guarded(), answer)
}

pub(super) fn none() -> Value {
    json!([])
}

pub(super) fn moment(after: u64) -> Moment {
    Moment {
        after,
        count: after,
        at: Duration::from_secs(after),
    }
}

pub(super) fn assign(after: u64, interface: &str, found_on: Option<&str>) -> Call {
    Call {
        client: "mooring-0".to_owned(),
        action: Action::AssignPrivateIpAddresses,
        interface: interface.to_owned(),
        addresses: vec![ADDRESS.parse().unwrap()],
        reassign: true,
        sent: moment(after),
        executed: vec![Execution {
            moment: moment(after),
            awaited: true,
            found_on: found_on
                .map(|on| (ADDRESS.parse().unwrap(), on.to_owned()))
                .into_iter()
                .collect(),
            effective: true,
            refused: None,
        }],
        answered: Some(moment(after)),
    }
}

/// A decision for each write, from the version that guards the write.
pub(super) fn rightly(history: &[Entry]) -> Vec<Decided> {
    let decided = |entry: &Entry| Decided {
        user: entry.request.user.clone(),
        resource: entry.request.resource.clone(),
        namespace: entry.request.namespace.clone(),
        name: entry.request.name.clone(),
        version: "1".to_owned(),
        at: entry.arrived,
    };
    history.iter().map(decided).collect()
}
