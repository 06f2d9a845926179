//! S5: a holder keeps its address, a node that is away does not get one, and no assigned address is released.
//! Rule: R3.19.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;

use ec2_emulator::state::request::{Change, Wanted};
use ipnet::Ipv4Net;
use serde_json::Value;

use super::Case;
use super::objects::{address, is_end, text};
use super::replay::Replay;
use crate::api_server::{Entry, Outcome};
use crate::log::Moment;
use crate::replicas::is_ours;

type Verdict = Result<(), String>;

/// A decision may be based on a Node state of this age: a read is at most five seconds old, and a write is in flight at
/// most as long as a process is paused.
const LATELY: Duration = Duration::from_mins(1);

/// A Describe that lags, or that started when an edit was seen, can show a state of this age.
const SEEN: Duration = Duration::from_secs(30);

/// The holder and the place in the status of an IP.
struct ClaimPhase<'a> {
    claimed: bool,
    recorded: bool,
    pod: &'a str,
    node: &'a str,
    instance: &'a str,
    interface: &'a str,
}

impl<'a> ClaimPhase<'a> {
    fn of(ip: &'a Value) -> Self {
        Self {
            claimed: ip["status"]["claimed"] == true,
            recorded: ip["status"]["assigned"] == true,
            pod: text(ip, "/status/podUID"),
            node: text(ip, "/status/node"),
            instance: text(ip, "/status/instanceID"),
            interface: text(ip, "/status/networkInterfaceID"),
        }
    }

    /// Whether the claim names a pod and a place.
    fn placed(&self) -> bool {
        self.claimed && !self.interface.is_empty()
    }
}

/// A write of Mooring, and the object before it.
pub(super) fn written(
    case: &Case<'_>,
    replay: &Replay<'_>,
    entry: &Entry,
    outcome: &Outcome,
) -> Verdict {
    let request = &entry.request;
    if !is_ours(&request.user) {
        return Ok(());
    }
    match request.resource.as_str() {
        "ips" => {
            let after: &Value = &outcome.body;
            let Some(before) = replay.ips.get(text(after, "/metadata/uid")) else {
                return Ok(());
            };
            left(replay, before, after, outcome.at)?;
            edited(case, before, after, outcome.at)?;
            given(case, replay, before, after, outcome.at)?;
            let freed = before["status"]["claimed"] == true && after["status"]["claimed"] != true;
            if freed {
                let name = || format!("IP {}", request.name);
                nowhere(case, replay, address(before), name)?;
            }
            Ok(())
        }
        "ipaddresses" if is_end(request, &outcome.body) => {
            nowhere(case, replay, &request.name, || "its reservation".to_owned())
        }
        _ => Ok(()),
    }
}

/// Checks that a recorded claim is taken from its pod only for a valid reason.
fn left(replay: &Replay<'_>, before: &Value, after: &Value, now: Duration) -> Verdict {
    let (had, has) = (ClaimPhase::of(before), ClaimPhase::of(after));
    let stays = has.placed() && has.pod == had.pod;
    if !had.recorded || stays || !after["metadata"]["deletionTimestamp"].is_null() {
        return Ok(());
    }
    let Some(holder) = replay.pods.get(had.pod) else {
        return Ok(());
    };
    let ended = matches!(text(holder, "/status/phase"), "Succeeded" | "Failed");
    if ended || holder["metadata"]["annotations"]["ip.wgtwo.com/ip"].is_null() {
        return Ok(());
    }
    let to = replay.pods.get(has.pod).filter(|_| has.placed());
    if to.is_some_and(|to| replay.of_one_deployment(holder, to)) {
        return Ok(());
    }
    let deleting = !holder["metadata"]["deletionTimestamp"].is_null();
    let since = now.saturating_sub(LATELY);
    if deleting && replay.nodes.was_away_since(had.node, had.instance, since) {
        return Ok(());
    }
    let name = text(before, "/metadata/name");
    let how = if deleting {
        "is being deleted on a node that is well"
    } else {
        "lives and asks for it"
    };
    Err(format!(
        "S5: IP {name} leaves pod {}, which {how}: {}",
        had.pod, after["status"]
    ))
}

/// Checks that the address of a holder is not changed to one that a foreign client has, if Mooring could see this.
fn edited(case: &Case<'_>, before: &Value, after: &Value, now: Duration) -> Verdict {
    let (had, has) = (ClaimPhase::of(before), ClaimPhase::of(after));
    let edited = had.recorded && has.claimed && address(before) != address(after);
    let Some(new) = address(after).parse::<Ipv4Addr>().ok().filter(|_| edited) else {
        return Ok(());
    };
    let foreign = case.foreign.iter().filter(|(at, _)| at.at < now);
    let last = foreign.rev().find_map(|(at, change)| match change {
        Change::AssignPrivateIpAddresses { wanted, .. } => match wanted {
            Wanted::Addresses(of) => of.contains(&new).then_some((at.at, true)),
            Wanted::Prefixes(of) => lies_in(of, new).then_some((at.at, true)),
            Wanted::Count(_) => None,
        },
        Change::UnassignPrefixes { prefixes, .. } => {
            lies_in(prefixes, new).then_some((at.at, false))
        }
        Change::UnassignPrivateIpAddresses { addresses, .. } => {
            addresses.contains(&new).then_some((at.at, false))
        }
        _ => None,
    });
    match last {
        Some((at, true)) if case.within_bounds && now > at + SEEN => Err(format!(
            "S5: IP {} gives {} up for {new}, which a foreign client has had since {at:?}",
            text(after, "/metadata/name"),
            address(before)
        )),
        _ => Ok(()),
    }
}

fn lies_in(prefixes: &BTreeSet<Ipv4Net>, address: Ipv4Addr) -> bool {
    prefixes.iter().any(|prefix| prefix.contains(&address))
}

/// Checks that no pod gets an address while its node is known to be away.
fn given(
    case: &Case<'_>,
    replay: &Replay<'_>,
    before: &Value,
    after: &Value,
    now: Duration,
) -> Verdict {
    let (had, has) = (ClaimPhase::of(before), ClaimPhase::of(after));
    if !has.placed() || had.claimed && had.pod == has.pod {
        return Ok(());
    }
    let away = replay.nodes.away_for(has.node, now);
    match case.news_within.zip(away) {
        Some((within, away)) if away > within => Err(format!(
            "S5: IP {} is given to pod {} on {}, which has been away for {away:?}",
            text(after, "/metadata/name"),
            has.pod,
            has.node
        )),
        _ => Ok(()),
    }
}

/// Checks that an address is released only after Describes showed it at no place of the IP.
fn nowhere(
    case: &Case<'_>,
    replay: &Replay<'_>,
    address: &str,
    who: impl Fn() -> String,
) -> Verdict {
    let Ok(address) = address.parse::<Ipv4Addr>() else {
        return Ok(());
    };
    match replay.put.get(&address) {
        Some((interface, put))
            if case.one_at_a_time
                && case.within_bounds
                && !was_changed_since(case, address, interface, put) =>
        {
            Err(format!(
                "S5: {} lets {address} go, which was put on {interface} and never taken off",
                who()
            ))
        }
        _ => Ok(()),
    }
}

/// Whether a foreign client has changed the address since then.
fn was_changed_since(case: &Case<'_>, address: Ipv4Addr, interface: &str, put: &Moment) -> bool {
    let mut later = case.foreign.iter().filter(|(at, _)| at.at >= put.at);
    later.any(|(_, change)| match change {
        Change::AssignPrivateIpAddresses { wanted, .. } => {
            matches!(wanted, Wanted::Addresses(addresses) if addresses.contains(&address))
        }
        Change::UnassignPrivateIpAddresses { addresses, .. } => addresses.contains(&address),
        Change::DeleteNetworkInterface { interface: gone } => gone.to_string() == interface,
        Change::TerminateInstances(_) => true,
        _ => false,
    })
}
