//! At rest, the state must be what the objects ask for. This is a second description of the goal, from the
//! point of view of the user.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use mooring_plan::names::{InterfaceId, PodKey};
use mooring_plan::objects::{Claim, Ip, Pod};
use mooring_plan::reason::Reason;

use crate::rules::{explains, says_attached};
use crate::state::State;

fn require(holds: bool, what: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!("at rest, {what}"))
    }
}

/// Is every address where it must be, does every status say so, and is nothing left over?
pub fn check(state: &State) -> Result<(), String> {
    let mut ours = BTreeSet::new();
    for ip in state.kube.ips.values() {
        require(!ip.deleting, "a deleted IP still exists")?;
        let reserved_condition = ip.status.conditions.reserved.as_ref();
        require(
            reserved_condition.is_some(),
            "an IP has no condition Reserved",
        )?;
        let wished = ip.wish.as_ref().ok().and_then(|wish| wish.address);
        let reserved = |address: &Ipv4Addr| {
            let held = state.kube.reservations.get(address);
            held.map(|held| held.owner.as_ref() == Some(&ip.uid))
        };
        let Some(address) = ip.status.address else {
            let taken = wished.as_ref().and_then(reserved) == Some(false);
            require(taken, "a free address is not reserved")?;
            continue;
        };
        // While a pod has the present address, the IP does not change to an address that is in use elsewhere.
        let in_use = |wished: &Ipv4Addr| {
            let on = state.cloud.holder_of(*wished);
            ip.status.claim.is_some() && on.is_some_and(|on| !explains(&ip.status, *wished, &on))
        };
        let available = wished.filter(|wished| reserved(wished) != Some(false) && !in_use(wished));
        require(
            available.is_none_or(|wished| wished == address),
            "an edit has no effect",
        )?;
        if reserved(&address) == Some(true) {
            ours.extend(its_place(state, ip, address)?);
        } else {
            let in_use = reserved_condition
                .is_some_and(|condition| condition.reason == Reason::AddressInUse);
            require(
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
        require(gone.is_none(), "a controller keeps an IP that is gone")?;
    }
    nothing_left(state, &ours)
}

/// Checks one IP; returns the place where its address may be.
fn its_place(
    state: &State,
    ip: &Ip,
    address: Ipv4Addr,
) -> Result<Option<(Ipv4Addr, InterfaceId)>, String> {
    let on = state.cloud.holder_of(address);
    let foreign = on
        .as_ref()
        .is_some_and(|on| !explains(&ip.status, address, on));
    let attached: Vec<_> = says_attached(&state.kube, ip).map(|pod| &pod.uid).collect();
    let pods = &state.kube.pods;
    let Some(claim) = &ip.status.claim else {
        require(
            attached.is_empty(),
            "a gate is True although there is no claim",
        )?;
        require(
            on.is_none() || foreign,
            "an address remains on an interface",
        )?;
        let waiting = pods.values().find(|pod| could_hold(state, pod, ip));
        require(
            waiting.is_none() || foreign,
            "a pod waits for an address that is free",
        )?;
        return Ok(None);
    };
    let holder =
        holder_of(state, claim).ok_or("at rest, the holder does not ask for the address")?;
    let next = pods
        .values()
        .find(|pod| pod.uid != claim.uid && could_hold(state, pod, ip));
    let lost = holder.deleting.is_some() && away(state, holder);
    require(
        next.is_none() || !lost || foreign,
        "a pod on a dead node keeps the address",
    )?;
    let newer = pods.values().find(|pod| {
        could_hold(state, pod, ip)
            && pod.ready_to_take_over()
            && revision(state, pod) > revision(state, holder)
    });
    require(newer.is_none() || foreign, "the rollout does not continue")?;
    let Some(target) = claim.target() else {
        return Err("at rest, the detach is not finished".to_owned());
    };
    if claim.recorded() {
        require(
            on.as_ref() == Some(&target.place.interface),
            "the address is not on the interface of the claim",
        )?;
        require(
            attached == [&claim.uid],
            "the gate of the holder is not True, or another gate is True",
        )?;
    } else {
        require(
            attached.is_empty(),
            "a gate is True before the claim is recorded",
        )?;
        require(
            foreign || place_of(state, &claim.pod).is_none_or(|place| full(state, &place, address)),
            "the address is never attached",
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
            // The old address also stays reserved while the holder cannot be attached.
            let waits = ip
                .status
                .claim
                .as_ref()
                .is_some_and(|claim| !claim.recorded());
            ip.status.address == Some(held.address) || wished == Some(held.address) || waits
        });
        require(needed, "an address stays reserved")?;
    }
    for place in state.cloud.assigned() {
        let known = ours.contains(&place) || state.history.manual.contains(&place);
        require(known, "an address is left on an interface")?;
    }
    for pod in state.kube.pods.values().filter(|pod| !pod.annotated) {
        let over = pod.deleting.is_some() || pod.ended;
        let known = pod
            .label
            .as_ref()
            .is_some_and(|name| state.kube.ips.contains_key(name));
        require(
            over || !known,
            "a pod without the annotation still has the label",
        )?;
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

/// The interface of the machine that this pod is bound to.
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

/// Could this pod hold the address of this IP now?
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
