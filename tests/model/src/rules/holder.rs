//! A holder keeps its address, and the next holder is chosen as docs/design/protocol.md, section 3, says.
//! Rules: R3.19 to R3.23.

use mooring_plan::facts::Kind;
use mooring_plan::names::PodKey;
use mooring_plan::objects::{Claim, ClaimPhase, Controller, Ip, IpStatus, Pod};
use mooring_plan::step::{StatusWrite, Write};
use mooring_world::kube::Kube;
use mooring_world::queries::is_well;

use super::{Broken, Rule, require};
use crate::fixtures::Fixtures;
use crate::shared::Shared;
use crate::state::{CHOICE_TIMEOUT, State};

/// A claim for another pod, when it is sent: the facts that its sender has received allow this pod.
pub fn chosen(
    state: &State,
    which: usize,
    ip: &Ip,
    change: StatusWrite,
    status: &IpStatus,
) -> Result<(), Broken> {
    let holder = ip.status.claim.as_ref();
    let Some(next) = status.claim.as_ref().filter(|next| {
        change == StatusWrite::Claim && holder.is_none_or(|claim| claim.uid != next.uid)
    }) else {
        return Ok(());
    };
    let kube = &state.kube;
    let received_all = |kind| !state.controllers[which].pending.contains_key(&kind);
    let Some(winner) = kube.pod(&next.pod, &next.uid) else {
        return Ok(());
    };
    if received_all(Kind::Pod) {
        let wants = winner.deleting.is_none() && !winner.ended && winner.annotated;
        require(wants, Rule::Holder, || {
            format!("{} does not ask for it", next.pod)
        })?;
    }
    if received_all(Kind::Node) {
        let well = kube.node_of(winner).is_some_and(is_well);
        require(well, Rule::Holder, || {
            format!("{} is on a node that is away", next.pod)
        })?;
    }
    if received_all(Kind::Pod) && received_all(Kind::Node) {
        own_workload_first(kube, ip, winner)?;
    }
    let Some(set) = kube
        .set_of(winner)
        .filter(|_| !state.history.sets_unread.contains(&which))
    else {
        return Ok(());
    };
    let older = kube.replica_sets.values().any(|other| {
        other.deployment == set.deployment && other.replicas > 0 && other.revision < set.revision
    });
    let broken =
        older && !winner.ready_to_take_over() && state.history.missing_for < CHOICE_TIMEOUT;
    require(!broken, Rule::Holder, || {
        format!("{} is of a revision that is not ready", next.pod)
    })
}

/// No pod of the last workload could have the address instead of this pod.
fn own_workload_first(kube: &Kube, ip: &Ip, winner: &Pod) -> Result<(), Broken> {
    let Some(last) = &ip.status.workload else {
        return Ok(());
    };
    let is_own = |pod: &Pod| {
        let deployment = kube.set_of(pod).and_then(|set| set.deployment.as_ref());
        let uid = match (&pod.controller, deployment) {
            (_, Some(deployment)) => deployment.as_str(),
            (Some(Controller::Other(uid)), None) => uid.as_str(),
            _ => return false,
        };
        pod.key.namespace == last.namespace && uid == last.uid.as_str()
    };
    let could = kube.pods.values().find(|pod| {
        let wants = pod.deleting.is_none() && !pod.ended && pod.annotated;
        let well = kube
            .node_of(pod)
            .is_some_and(|node| node.ready && !node.unreachable);
        wants && well && pod.label.as_ref() == Some(&ip.name) && is_own(pod)
    });
    let passed_over = could.filter(|_| !is_own(winner));
    require(passed_over.is_none(), Rule::Holder, || {
        format!(
            "{} gets the address before a pod of the workload that had it",
            winner.key
        )
    })
}

/// A status that was written: the holder may lose the address only for a reason.
pub fn written(
    state: &State,
    fixtures: &Fixtures,
    before: &Shared<Kube>,
    write: &Write,
    by: Option<usize>,
) -> Result<(), Broken> {
    let Write::Status {
        ip: name,
        change,
        status: after,
        ..
    } = write
    else {
        return Ok(());
    };
    let Some(ip) = before.ips.get(name) else {
        return Ok(());
    };
    if let Some(target) = after
        .claim
        .as_ref()
        .and_then(|claim| Some((claim, claim.target()?)))
    {
        let (claim, target) = target;
        let bound = fixtures.bound_to(&claim.uid, &target.place.instance);
        require(bound, Rule::S2, || {
            format!("{} was never bound to {target:?}", claim.uid)
        })?;
    }
    let Some(claim) = ip
        .status
        .claim
        .as_ref()
        .filter(|claim| claim.phase != ClaimPhase::Detaching)
    else {
        return Ok(());
    };
    not_needlessly(state, ip, claim, after)?;
    let stays = |next: &Claim| next.uid == claim.uid && next.phase != ClaimPhase::Detaching;
    // After a refusal of EC2 the pod did not have the address.
    let refused =
        *change == StatusWrite::Revert || after.refused != ip.status.refused && !claim.recorded();
    if ip.deleting || refused || after.claim.as_ref().is_some_and(stays) {
        return Ok(());
    }
    let living = before.pod(&claim.pod, &claim.uid);
    let Some(living) = living.filter(|pod| pod.annotated && !pod.ended) else {
        return Ok(());
    };
    let loser: &PodKey = &claim.pod;
    let Some(next) = after.claim.as_ref().filter(|next| next.uid != claim.uid) else {
        let how = format!("{loser} runs and loses the address, and no pod gets it");
        return Err(Broken {
            rule: Rule::Holder,
            how,
        });
    };
    let Some(winner) = before.pod(&next.pod, &next.uid) else {
        return Ok(());
    };
    let unread = by.is_none_or(|by| state.history.sets_unread.contains(&by));
    let sets = before.set_of(living).zip(before.set_of(winner));
    let same = sets.is_some_and(|(ours, theirs)| ours.deployment == theirs.deployment);
    let newer = before.is_newer(winner, living) || unread && same;
    let rolled_out = newer && winner.ready_to_take_over();
    let failed_over = living.deleting.is_some() && away(state, before, claim);
    let lawful = rolled_out || failed_over;
    require(lawful, Rule::Holder, || {
        format!("{loser} runs and loses the address to {}", next.pod)
    })
}

/// If a Record is undone, the holder is not ready any more. This is allowed only if the address is at another
/// place, or must move. One Describe without the address is no reason.
fn not_needlessly(state: &State, ip: &Ip, claim: &Claim, after: &IpStatus) -> Result<(), Broken> {
    let address = ip.status.address;
    let next = after.claim.as_ref().filter(|_| claim.recorded());
    let again = next.filter(|next| next.uid == claim.uid && !next.recorded());
    let places = again.and_then(|next| next.target().zip(claim.target()));
    let Some((to, at)) = places.filter(|_| after.address == address) else {
        return Ok(());
    };
    let on = address.and_then(|address| state.cloud.holder_of(address));
    let stayed = !state.history.detached.contains(&at.place.interface);
    let needless = stayed && to.place == at.place && on.as_ref() == Some(&at.place.interface);
    require(!needless, Rule::Holder, || {
        format!(
            "{} has the address at the right place, and has to wait for it",
            claim.pod
        )
    })
}

/// Is the machine of this claim gone, unreachable or being terminated?
fn away(state: &State, kube: &Kube, claim: &Claim) -> bool {
    let Some(target) = claim.target() else {
        return false;
    };
    let node = kube.nodes.get(&target.node);
    let here = node.is_some_and(|node| {
        let same = node.instance.as_ref() == Some(&target.place.instance);
        same && !node.unreachable && !node.out_of_service
    });
    let machine = state.cloud.state_of(&target.place.instance);
    !here || machine.is_some_and(mooring_plan::cloud::InstanceState::is_ending)
}
