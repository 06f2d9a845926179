//! The safety rules.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use ec2_emulator::state::request::{Change, Wanted};
use ec2_emulator::wire::Action;

use super::Case;
use super::objects::{explains, ip_of, reports_attached, text};
use super::replay::Replay;
use crate::api_server::{Entry, Outcome, Verb};
use crate::cloud::{BEYOND, Call, Execution};
use crate::replicas::is_ours;

type Verdict = Result<(), String>;

/// S1: at most one gate is `True` for each address, and for each IP.
pub(super) fn one_holder(replay: &Replay<'_>) -> Verdict {
    let mut by_ip: BTreeMap<&str, &str> = BTreeMap::new();
    let mut by_address: BTreeMap<&str, &str> = BTreeMap::new();
    for (uid, pod) in replay.pods.iter().filter(|(_, pod)| reports_attached(pod)) {
        let ip = ip_of(pod);
        if let Some(other) = by_ip.insert(ip, uid) {
            return Err(format!(
                "S1: pods {other} and {uid} both say True for the IP {ip}"
            ));
        }
        let Some(address) = replay.addresses.get(ip).copied() else {
            continue;
        };
        if let Some(other) = by_address
            .insert(address, uid)
            .filter(|_| !address.is_empty())
        {
            return Err(format!(
                "S1: pods {other} and {uid} both say True for {address}"
            ));
        }
    }
    Ok(())
}

/// Whether Mooring sets a gate to `True` by this write.
pub(super) fn opens(entry: &Entry) -> bool {
    let request = &entry.request;
    is_ours(&request.user)
        && request.resource == "pods"
        && request.subresource == "status"
        && reports_attached(&request.body)
}

/// S3 and S1: status writes of Mooring, and its writes of a gate to `True`, are compare-and-swap.
pub(super) fn guarded(entry: &Entry) -> Verdict {
    let request = &entry.request;
    if !is_ours(&request.user) {
        return Ok(());
    }
    let meta = match request.verb {
        Verb::Patch => &request.body["metadata"],
        Verb::Delete => &request.body["preconditions"],
        _ => return Ok(()),
    };
    let (uid, version) = (!meta["uid"].is_null(), !meta["resourceVersion"].is_null());
    match (request.resource.as_str(), request.subresource.as_str()) {
        ("ips", _) if !version => Err(format!(
            "S3: IP {} was written without a version to compare with: {}",
            request.name, request.body
        )),
        ("ipaddresses" | "ipblocks", _) if !version => Err(format!(
            "S3: {} {} was written or deleted without a version to compare with: {}",
            request.resource, request.name, request.body
        )),
        ("pods", _) if !uid => Err(format!(
            "S1: pod {} was written without its UID",
            request.name
        )),
        ("pods", "status") if opens(entry) && !version => Err(format!(
            "S1: the gate of pod {} was opened without a version to compare with",
            request.name
        )),
        _ => Ok(()),
    }
}

/// S1: Mooring sets a gate to `True` only for a pod whose UID a Record has named.
pub(super) fn named(replay: &Replay<'_>, entry: &Entry, outcome: &Outcome) -> Verdict {
    let uid = text(&outcome.body, "/metadata/uid");
    if !opens(entry) || replay.recorded.contains(uid) {
        return Ok(());
    }
    Err(format!(
        "S1: the gate of pod {} ({uid}) is opened, and no IP was ever recorded for it",
        entry.request.name
    ))
}

/// If the block asks for the node part, Mooring sets a gate to `True` only after the node has programmed the address
/// for the present claim.
pub(super) fn programmed(replay: &Replay<'_>, entry: &Entry, outcome: &Outcome) -> Verdict {
    if !opens(entry) {
        return Ok(());
    }
    let uid = text(&outcome.body, "/metadata/uid");
    let Some(ip) = replay.ips.get(ip_of(&outcome.body)) else {
        return Ok(());
    };
    // S1 checks whether the gate may be `True` under another claim.
    let holds = ip["status"]["assigned"] == true && text(ip, "/status/podUID") == uid;
    let claim = text(ip, "/status/claimID");
    if !holds
        || !replay.asking.contains(text(ip, "/status/block"))
        || replay.programmed.contains(&(uid, claim))
    {
        return Ok(());
    }
    Err(format!(
        "the gate of pod {} ({uid}) is opened, and its node never programmed claim {claim}",
        entry.request.name
    ))
}

/// S2: a Node that names the instance of an older Node does not get the label of a block.
pub(super) fn labelled(replay: &Replay<'_>, entry: &Entry) -> Verdict {
    let request = &entry.request;
    let labels = request.body["metadata"]["labels"].as_object();
    let puts = labels.is_some_and(|labels| {
        let of_a_block = |key: &String| key.starts_with("ip.wgtwo.com.node-restriction");
        labels
            .iter()
            .any(|(key, value)| of_a_block(key) && !value.is_null())
    });
    if request.resource != "nodes" || !is_ours(&request.user) || !puts {
        return Ok(());
    }
    match replay.nodes.older_of_its_instance(&request.name) {
        Some(other) => Err(format!(
            "S2: Node {} is labelled for a block, and its instance is that of Node {other}",
            request.name
        )),
        None => Ok(()),
    }
}

/// The present IPs that explain the address on that interface.
fn explained(replay: &Replay<'_>, address: Ipv4Addr, interface: &str) -> bool {
    replay
        .ips
        .values()
        .any(|ip| explains(ip, address, interface))
}

/// Whether one of the IPs that explain the address on that interface ever had `reassign: true`. (If no IP explains it,
/// another rule is violated.)
fn may_take(replay: &Replay<'_>, address: Ipv4Addr, interface: &str) -> bool {
    let mut explain = replay
        .ips
        .iter()
        .filter(|(_, ip)| explains(ip, address, interface))
        .peekable();
    explain.peek().is_none() || explain.any(|(uid, _)| replay.reassignable.contains(uid))
}

/// S1: no gate is `True` for the address.
fn silent(replay: &Replay<'_>, of: Ipv4Addr, call: &Call, when: &str) -> Verdict {
    let of = of.to_string();
    let speaks = replay.pods.iter().find(|(_, pod)| {
        reports_attached(pod) && replay.addresses.get(ip_of(pod)) == Some(&of.as_str())
    });
    match speaks {
        Some((uid, _)) => Err(format!(
            "S1: pod {uid} says True for {of} when {} is {when}",
            describe(call)
        )),
        None => Ok(()),
    }
}

fn describe(call: &Call) -> String {
    let (client, action, addresses) = (&call.client, call.action, &call.addresses);
    format!(
        "{client}'s {action} of {addresses:?} for {}",
        call.interface
    )
}

/// S1, S2 and S3 when a call is sent.
pub(super) fn sent(case: &Case<'_>, replay: &Replay<'_>, call: &Call) -> Verdict {
    for address in &call.addresses {
        let text = address.to_string();
        if call.action == Action::AssignPrivateIpAddresses {
            let mut claims = replay
                .claims
                .iter()
                .filter(|claim| claim.address == text && claim.interface == call.interface)
                .peekable();
            if claims.peek().is_none() {
                return Err(format!(
                    "S3: {} is sent, and no claim names it",
                    describe(call)
                ));
            }
            if !claims.any(|claim| replay.is_where_its_pod_is(claim)) {
                return Err(format!(
                    "S2: {} is sent, and its claim's pod was never there",
                    describe(call)
                ));
            }
        }
        if call.reassign && !may_take(replay, *address, &call.interface) {
            return Err(format!(
                "S4: {} is sent with AllowReassignment, and its IP never said so",
                describe(call)
            ));
        }
        if case.one_at_a_time {
            if !explained(replay, *address, &call.interface) {
                return Err(format!(
                    "S3: {} is sent, and no status explains it",
                    describe(call)
                ));
            }
            silent(replay, *address, call, "sent")?;
        }
    }
    Ok(())
}

/// S1, S2 and S4 when a call is executed.
pub(super) fn executed(
    case: &Case<'_>,
    replay: &Replay<'_>,
    call: &Call,
    execution: &Execution,
) -> Verdict {
    if execution.refused.is_some() {
        return Ok(());
    }
    let paused = call.was_paused(execution);
    for address in &call.addresses {
        if !paused && !explained(replay, *address, &call.interface) {
            return Err(format!(
                "S2: {} is executed, and no status explains it",
                describe(call)
            ));
        }
        if case.one_at_a_time && execution.awaited && !paused {
            silent(replay, *address, call, "executed")?;
        }
        if let Some(from) = execution.found_on.get(address)
            && !explained(replay, *address, from)
            && !was_put_there(case, *address, from, call)
        {
            return Err(format!(
                "S4: {} takes it from {from}, which no status explains",
                describe(call)
            ));
        }
    }
    Ok(())
}

/// Whether the address was assigned there so recently that no inventory can show it.
fn was_put_there(case: &Case<'_>, address: Ipv4Addr, interface: &str, call: &Call) -> bool {
    let beyond = if case.within_bounds {
        Duration::ZERO
    } else {
        BEYOND
    };
    let unseen = case.interval * 2 + Duration::from_secs(20) + beyond;
    case.foreign.iter().any(|(moment, change)| match change {
        Change::AssignPrivateIpAddresses {
            interface: to,
            wanted: Wanted::Addresses(addresses),
            ..
        } => {
            to.to_string() == interface
                && addresses.contains(&address)
                && moment.at + unseen >= call.sent.at
        }
        _ => false,
    })
}
