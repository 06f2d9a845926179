//! At rest, what is has to be what is wished: written down once more, from the users' side.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use mooring_plan::names::{InterfaceId, PodKey};
use mooring_plan::objects::{Claim, Ip, Pod};
use mooring_plan::reason::Reason;

use crate::rules::{explains, says_attached};
use crate::state::State;

fn must(so: bool, what: &str) -> Result<(), String> {
    if so {
        Ok(())
    } else {
        Err(format!("at rest, {what}"))
    }
}

/// Is every IP where it should be, told so, and nothing left over?
pub fn holds(state: &State) -> Result<(), String> {
    let mut ours = BTreeSet::new();
    for ip in state.kube.ips.values() {
        must(!ip.deleting, "an IP is not gone")?;
        let said = ip.status.conditions.reserved.as_ref();
        must(said.is_some(), "an IP says nothing")?;
        let wished = ip.wish.as_ref().ok().and_then(|wish| wish.address);
        let reserved = |address: &Ipv4Addr| {
            let held = state.kube.reservations.get(address);
            held.map(|held| held.owner.as_ref() == Some(&ip.uid))
        };
        let Some(address) = ip.status.address else {
            let taken = wished.as_ref().and_then(reserved) == Some(false);
            must(taken, "an address that is free is not reserved")?;
            continue;
        };
        // One that somebody has on an interface is not changed to while a pod has the address.
        let in_use = |wished: &Ipv4Addr| {
            let on = state.cloud.holder_of(*wished);
            ip.status.claim.is_some() && on.is_some_and(|on| !explains(&ip.status, *wished, &on))
        };
        let available = wished.filter(|wished| reserved(wished) != Some(false) && !in_use(wished));
        must(
            available.is_none_or(|wished| wished == address),
            "an edit is not carried out",
        )?;
        if reserved(&address) == Some(true) {
            ours.extend(its_place(state, ip, address)?);
        } else {
            let in_use = said.is_some_and(|said| said.reason == Reason::AddressInUse);
            must(
                in_use && ip.status.claim.is_none(),
                "an address is not reserved",
            )?;
        }
    }
    for controller in &state.controllers {
        let facts = controller.facts();
        let gone = facts.ip_names().find(|name| {
            let there = state.kube.ips.get(*name).map(|ip| &ip.uid);
            facts
                .ip(name)
                .is_some_and(|known| Some(&known.uid) != there)
        });
        must(gone.is_none(), "a controller keeps an IP that is gone")?;
    }
    nothing_left(state, &ours)
}

/// One IP; the place that its address may be at.
fn its_place(
    state: &State,
    ip: &Ip,
    address: Ipv4Addr,
) -> Result<Option<(Ipv4Addr, InterfaceId)>, String> {
    let on = state.cloud.holder_of(address);
    let foreign = on
        .as_ref()
        .is_some_and(|on| !explains(&ip.status, address, on));
    let saying: Vec<_> = says_attached(&state.kube, ip).map(|pod| &pod.uid).collect();
    let pods = &state.kube.pods;
    let Some(claim) = &ip.status.claim else {
        must(saying.is_empty(), "a pod says True of nothing")?;
        must(
            on.is_none() || foreign,
            "an address is left on an interface",
        )?;
        let waiting = pods.values().find(|pod| could_hold(state, pod, ip));
        must(waiting.is_none() || foreign, "a pod waits in vain")?;
        return Ok(None);
    };
    let holder = holder_of(state, claim).ok_or("at rest, the holder does not want it")?;
    let next = pods
        .values()
        .find(|pod| pod.uid != claim.uid && could_hold(state, pod, ip));
    let lost = holder.deleting.is_some() && away(state, holder);
    must(
        next.is_none() || !lost || foreign,
        "a dead node's pod keeps it",
    )?;
    let newer = pods.values().find(|pod| {
        could_hold(state, pod, ip)
            && pod.ready_to_take_over()
            && revision(state, pod) > revision(state, holder)
    });
    must(newer.is_none() || foreign, "the rollout does not go on")?;
    let Some(target) = claim.target() else {
        return Err("at rest, it is never off".to_owned());
    };
    if claim.recorded() {
        must(
            on.as_ref() == Some(&target.place.interface),
            "it is not there",
        )?;
        must(
            saying == [&claim.uid],
            "its holder does not say so, or another does",
        )?;
    } else {
        must(saying.is_empty(), "a pod says True too early")?;
        must(
            foreign || place_of(state, &claim.pod).is_none_or(|place| full(state, &place, address)),
            "it never gets there",
        )?;
    }
    Ok(Some((address, target.place.interface.clone())))
}

fn holder_of<'a>(state: &'a State, claim: &Claim) -> Option<&'a Pod> {
    let holder = state.kube.pod(&claim.pod, &claim.uid);
    holder.filter(|pod| pod.annotated && !pod.ended)
}

fn revision(state: &State, pod: &Pod) -> Option<u64> {
    let (name, _) = pod.replica_set()?;
    Some(state.kube.replica_sets.get(name)?.revision)
}

fn nothing_left(state: &State, ours: &BTreeSet<(Ipv4Addr, InterfaceId)>) -> Result<(), String> {
    for held in state.kube.reservations.values() {
        let owner = state
            .kube
            .ips
            .values()
            .find(|ip| Some(&ip.uid) == held.owner.as_ref());
        let needed = owner.is_some_and(|ip| {
            let wished = ip.wish.as_ref().ok().and_then(|wish| wish.address);
            // While the holder cannot be attached, the old address stays reserved too.
            let waits = ip
                .status
                .claim
                .as_ref()
                .is_some_and(|claim| !claim.recorded());
            ip.status.address == Some(held.address) || wished == Some(held.address) || waits
        });
        must(needed, "an address stays reserved")?;
    }
    for place in state.cloud.assigned() {
        let known = ours.contains(&place) || state.past_of.by_hand.contains(&place);
        must(known, "an address is left on an interface")?;
    }
    for pod in state.kube.pods.values().filter(|pod| !pod.annotated) {
        let over = pod.deleting.is_some() || pod.ended;
        let known = pod
            .label
            .as_ref()
            .is_some_and(|name| state.kube.ips.contains_key(name));
        must(over || !known, "a pod is not let go")?;
    }
    Ok(())
}

fn away(state: &State, pod: &Pod) -> bool {
    let node = pod
        .node
        .as_ref()
        .and_then(|name| state.kube.nodes.get(name));
    node.is_none_or(|node| node.unreachable || node.out_of_service)
}

/// The interface on the machine that this pod is bound to.
fn place_of(state: &State, key: &PodKey) -> Option<InterfaceId> {
    let node = state
        .kube
        .nodes
        .get(state.kube.pods.get(key)?.node.as_ref()?)?;
    state.cloud.interface_on(node.instance.as_ref()?)
}

fn full(state: &State, interface: &InterfaceId, address: Ipv4Addr) -> bool {
    state
        .cloud
        .assigned()
        .iter()
        .any(|(other, on)| on == interface && *other != address)
}

/// Could this pod hold this IP's address now?
fn could_hold(state: &State, pod: &Pod, ip: &Ip) -> bool {
    let node = pod
        .node
        .as_ref()
        .and_then(|name| state.kube.nodes.get(name));
    let asks =
        pod.annotated && pod.ip.as_ref() == Some(&ip.uid) && pod.label.as_ref() == Some(&ip.name);
    let lives = !pod.ended && pod.deleting.is_none();
    let well = node.is_some_and(|node| node.ready && !node.unreachable && !node.out_of_service);
    let place = place_of(state, &pod.key);
    let room = place
        .zip(ip.status.address)
        .is_some_and(|(place, address)| !full(state, &place, address));
    asks && lives && well && room
}
