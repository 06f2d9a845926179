//! The taint of fast failover is set and removed only for a reason.

use std::collections::BTreeSet;

use ec2_emulator::state::id::InstanceId;
use ec2_emulator::state::request::Change;
use serde_json::json;

use super::*;

const INSTANCE: InstanceId = InstanceId(1);

/// A write of the Node: its condition `Ready`, and whether it has the taint of Mooring.
fn node(version: u64, ready: &str, tainted: bool) -> Entry {
    let taint = json!({"key": "node.kubernetes.io/out-of-service", "value": "mooring"});
    let taints = if tainted { json!([taint]) } else { json!([]) };
    let answer = json!({
        "metadata": {"name": "a", "uid": "n"},
        "spec": {"providerID": format!("aws:///z/{INSTANCE}"), "taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    });
    let mut body = guarded();
    body["spec"] = json!({"taints": taints});
    write(version, "nodes", "a", "", body, answer)
}

/// The report of the node part.
fn report(version: u64, beat: &str) -> Entry {
    let answer = json!({"metadata": {"name": "a"}, "status": {"heartbeatTime": beat}});
    let mut entry = write(version, "ipnodes", "a", "status", guarded(), answer);
    "a node part".clone_into(&mut entry.request.user);
    entry
}

/// A write of another client.
fn of_kubelet(mut entry: Entry) -> Entry {
    "a kubelet".clone_into(&mut entry.request.user);
    entry
}

/// The verdict, if the instance was stopped after one second, and started again at this time.
fn verdict(history: &[Entry], started: Option<u64>) -> String {
    let ids = || BTreeSet::from([INSTANCE]);
    let mut foreign = vec![(moment(1), Change::StopInstances(ids()))];
    foreign.extend(started.map(|at| (moment(at), Change::StartInstances(ids()))));
    let decided = rightly(history);
    let case = Case {
        foreign: &foreign,
        news_within: None,
        ..case(history, &[], &decided)
    };
    judge(&case).expect_err("no gate was opened").sentence
}

#[test]
fn a_taint_on_a_node_that_is_ready_and_reports_is_found() {
    let ready = of_kubelet(node(2, "True", false));
    let taints = |at| node(at, "True", true);
    let found = "Node a is taken out of service, and it is ready";
    assert!(verdict(&[ready.clone(), taints(3)], None).starts_with(found));
    let reports = [ready.clone(), report(3, "1"), report(13, "2")];
    let history = [&reports[..], &[taints(20)]].concat();
    assert!(verdict(&history, None).starts_with(found));
    // A node part that is late can be on a machine that has ended.
    let history = [&reports[..], &[taints(28)]].concat();
    assert!(verdict(&history, None).starts_with("nothing happened"));
    let unready = of_kubelet(node(2, "Unknown", false));
    let history = [unready, node(3, "Unknown", true)];
    assert!(verdict(&history, None).starts_with("nothing happened"));
}

#[test]
fn a_taint_that_is_removed_from_a_node_that_is_not_ready_is_found() {
    let before = of_kubelet(node(2, "Unknown", false));
    let removed = |ready: &str| {
        let set = node(3, "Unknown", true);
        let back = of_kubelet(node(100, ready, true));
        verdict(
            &[before.clone(), set, back, node(101, ready, false)],
            Some(90),
        )
    };
    assert!(removed("Unknown").starts_with("Node a is put back, and it is not ready"));
    assert!(removed("True").starts_with("nothing happened"));
}
