//! Fast failover: checks on which Nodes Mooring sets the taint `out-of-service`, and from which it removes it.
//! Rules: R3.35 to R3.38.

use std::time::Duration;

use ec2_emulator::state::request::Change;
use serde_json::Value;

use super::Case;
use super::replay::Replay;
use crate::api_server::{Entry, Outcome, Verb};
use crate::replicas::is_ours;

/// The longest time between a state of EC2 and the write that follows from it: an answer is used for 10 s and can lag
/// by 9 s, and the write can be in flight while its process is paused (40 s).
const BEFORE: Duration = Duration::from_mins(1);

/// Whether Mooring has set the taint.
fn is_ours_of(taint: &Value) -> bool {
    taint["key"] == "node.kubernetes.io/out-of-service" && taint["value"] == "mooring"
}

/// The taints of others, and whether there is the taint of Mooring.
fn parts(taints: &Value) -> (Vec<&Value>, bool) {
    let all = taints.as_array().into_iter().flatten();
    let (ours, others): (Vec<&Value>, Vec<&Value>) = all.partition(|taint| is_ours_of(taint));
    (others, !ours.is_empty())
}

/// Checks that the taint is set only on a Node that is away and whose instance has ended, and removed only from a Node
/// that is ready and whose instance runs. Taints of others must stay.
pub(super) fn written(
    case: &Case<'_>,
    replay: &Replay<'_>,
    entry: &Entry,
    outcome: &Outcome,
) -> Result<(), String> {
    let request = &entry.request;
    let writes = !request.body["spec"]["taints"].is_null();
    if request.resource != "nodes" || !is_ours(&request.user) || !writes {
        return Ok(());
    }
    let name = &request.name;
    if request.body["metadata"]["resourceVersion"].is_null() {
        return Err(format!(
            "the taints of Node {name} are written without a version to compare with"
        ));
    }
    let (instance, before) = replay.nodes.shown(name);
    let (others_before, was) = parts(before);
    let (others, is) = parts(&outcome.body["spec"]["taints"]);
    if others != others_before {
        return Err(format!(
            "the taints of others on Node {name} are changed from {others_before:?} to {others:?}"
        ));
    }
    // The guard by version makes the Node at the write the Node that was decided from (R3.37).
    let (since, nodes) = (outcome.at.saturating_sub(BEFORE), &replay.nodes);
    let away = || {
        nodes.is_unready_or_was_late(name, since, outcome.at)
            || misses_reports(case, &request.user, since, outcome.at)
    };
    if is && !was && !away() {
        return Err(format!(
            "Node {name} is taken out of service, and it is ready and its node part reports"
        ));
    }
    if was && !is && !nodes.is_ready(name) {
        return Err(format!("Node {name} is put back, and it is not ready"));
    }
    let states = states(case, instance, outcome.at);
    if is && !was && !states.contains(&true) {
        return Err(format!(
            "Node {name} is taken out of service, and its instance {instance} has not ended"
        ));
    }
    if was && !is && !states.contains(&false) {
        return Err(format!(
            "Node {name} is put back, and its instance {instance} does not run"
        ));
    }
    Ok(())
}

/// Whether the process may not have seen reports of node parts: a request for their watch was not answered.
fn misses_reports(case: &Case<'_>, user: &str, since: Duration, now: Duration) -> bool {
    case.history.iter().any(|entry| {
        let request = &entry.request;
        request.user == user
            && (request.resource.as_str(), request.verb) == ("ipnodes", Verb::Watch)
            && entry.outcome.is_none()
            && (since..=now).contains(&entry.arrived)
    })
}

/// The recent states of an instance. True: it has ended.
fn states(case: &Case<'_>, instance: &str, at: Duration) -> Vec<bool> {
    let named = |ids: &std::collections::BTreeSet<ec2_emulator::state::id::InstanceId>| {
        ids.iter().any(|id| id.to_string() == instance)
    };
    let changes = case.foreign.iter().filter_map(|(moment, change)| {
        let (ids, ended) = match change {
            Change::StopInstances(ids) | Change::TerminateInstances(ids) => (ids, true),
            Change::StartInstances(ids) => (ids, false),
            _ => return None,
        };
        named(ids).then_some((moment.at, ended))
    });
    let mut states = vec![false];
    for (when, ended) in changes.filter(|(when, _)| *when <= at) {
        if when + BEFORE < at {
            states.clear();
        }
        states.push(ended);
    }
    states
}
