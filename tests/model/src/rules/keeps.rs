//! Who holds an address keeps it, and who gets it is chosen as docs/design/protocol.md, section 3, says.

use mooring_plan::facts::Kind;
use mooring_plan::names::PodKey;
use mooring_plan::objects::{Claim, Controller, Hold, Ip, IpStatus, Pod, ReplicaSet};
use mooring_plan::step::{StatusWrite, Write};

use super::{Broken, Rule, must};
use crate::cast::Cast;
use crate::shared::Shared;
use crate::state::{PATIENCE, State};
use crate::world::kube::Kube;

fn set_of<'a>(kube: &'a Kube, pod: &Pod) -> Option<&'a ReplicaSet> {
    kube.replica_sets.get(pod.replica_set()?.0)
}

/// A claim for another pod, as it leaves: nothing that its sender was told speaks against that pod.
pub fn chosen(
    state: &State,
    which: usize,
    ip: &Ip,
    what: StatusWrite,
    status: &IpStatus,
) -> Result<(), Broken> {
    let holder = ip.status.claim.as_ref();
    let Some(next) = status.claim.as_ref().filter(|next| {
        what == StatusWrite::Claim && holder.is_none_or(|claim| claim.uid != next.uid)
    }) else {
        return Ok(());
    };
    let kube = &state.kube;
    let told = |kind| !state.controllers[which].pending.contains_key(&kind);
    let Some(winner) = kube.pod(&next.pod, &next.uid) else {
        return Ok(());
    };
    if told(Kind::Pod) {
        let wants = winner.deleting.is_none() && !winner.ended && winner.annotated;
        must(wants, Rule::Kept, || {
            format!("{} does not want it", next.pod)
        })?;
    }
    if told(Kind::Node) {
        let node = winner.node.as_ref().and_then(|name| kube.nodes.get(name));
        let well = node.is_some_and(|node| node.ready && !node.unreachable && !node.out_of_service);
        must(well, Rule::Kept, || {
            format!("{} is on a node that is away", next.pod)
        })?;
    }
    if told(Kind::Pod) && told(Kind::Node) {
        own_workload_first(kube, ip, winner)?;
    }
    let Some(set) = set_of(kube, winner).filter(|_| !state.past_of.sets_unread.contains(&which))
    else {
        return Ok(());
    };
    let older = kube.replica_sets.values().any(|other| {
        other.deployment == set.deployment && other.replicas > 0 && other.revision < set.revision
    });
    let broken = older && !winner.ready_to_take_over() && state.past_of.missing_for < PATIENCE;
    must(!broken, Rule::Kept, || {
        format!("{} is of a revision that is not ready", next.pod)
    })
}

/// No pod of the workload that had it last could have it instead of this one.
fn own_workload_first(kube: &Kube, ip: &Ip, winner: &Pod) -> Result<(), Broken> {
    let Some(last) = &ip.status.workload else {
        return Ok(());
    };
    let is_own = |pod: &Pod| {
        let deployment = set_of(kube, pod).and_then(|set| set.deployment.as_ref());
        let uid = match (&pod.controller, deployment) {
            (_, Some(deployment)) => deployment.as_str(),
            (Some(Controller::Other(uid)), None) => uid.as_str(),
            _ => return false,
        };
        pod.key.namespace == last.namespace && uid == last.uid.as_str()
    };
    let node = |pod: &Pod| kube.nodes.get(pod.node.as_ref()?);
    let could = kube.pods.values().find(|pod| {
        let wants = pod.deleting.is_none() && !pod.ended && pod.annotated;
        let well = node(pod).is_some_and(|node| node.ready && !node.unreachable);
        wants && well && pod.label.as_ref() == Some(&ip.name) && is_own(pod)
    });
    let passed_over = could.filter(|_| !is_own(winner));
    must(passed_over.is_none(), Rule::Kept, || {
        format!(
            "{} gets it before a pod of the workload that had it",
            winner.key
        )
    })
}

/// A status that was written: did somebody lose the address?
pub fn written(
    state: &State,
    cast: &Cast,
    before: &Shared<Kube>,
    write: &Write,
    by: Option<usize>,
) -> Result<(), Broken> {
    let Write::Status(name, _, what, after) = write else {
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
        let bound = cast.bound_to(&claim.uid, &target.place.instance);
        must(bound, Rule::S2, || {
            format!("{} was never bound to {target:?}", claim.uid)
        })?;
    }
    let Some(claim) = ip
        .status
        .claim
        .as_ref()
        .filter(|claim| claim.hold != Hold::Detaching)
    else {
        return Ok(());
    };
    not_needlessly(state, ip, claim, after)?;
    let stays = |next: &Claim| next.uid == claim.uid && next.hold != Hold::Detaching;
    // What EC2 refused nobody had there.
    let refused =
        *what == StatusWrite::Return || after.refused != ip.status.refused && !claim.recorded();
    if ip.deleting || refused || after.claim.as_ref().is_some_and(stays) {
        return Ok(());
    }
    let living = before.pod(&claim.pod, &claim.uid);
    let Some(living) = living.filter(|pod| pod.annotated && !pod.ended) else {
        return Ok(());
    };
    let loser: &PodKey = &claim.pod;
    let Some(next) = after.claim.as_ref().filter(|next| next.uid != claim.uid) else {
        let how = format!("{loser} lives and loses it to nobody");
        return Err(Broken {
            rule: Rule::Kept,
            how,
        });
    };
    let Some(winner) = before.pod(&next.pod, &next.uid) else {
        return Ok(());
    };
    let unread = by.is_none_or(|by| state.past_of.sets_unread.contains(&by));
    let newer = set_of(before, living)
        .zip(set_of(before, winner))
        .is_some_and(|(ours, theirs)| {
            ours.deployment == theirs.deployment && (theirs.revision > ours.revision || unread)
        });
    let rolled_out = newer && winner.ready_to_take_over();
    let failed_over = living.deleting.is_some() && away(state, before, claim);
    let lawful = rolled_out || failed_over;
    must(lawful, Rule::Kept, || {
        format!("{loser} lives and loses it to {}", next.pod)
    })
}

/// A Record that is taken back costs the holder its readiness: the address has to be elsewhere, or go
/// elsewhere. One Describe that does not show it is no reason.
fn not_needlessly(state: &State, ip: &Ip, claim: &Claim, after: &IpStatus) -> Result<(), Broken> {
    let address = ip.status.address;
    let next = after.claim.as_ref().filter(|_| claim.recorded());
    let again = next.filter(|next| next.uid == claim.uid && !next.recorded());
    let places = again.and_then(|next| next.target().zip(claim.target()));
    let Some((to, at)) = places.filter(|_| after.address == address) else {
        return Ok(());
    };
    let on = address.and_then(|address| state.cloud.holder_of(address));
    let needless = to.place == at.place && on.as_ref() == Some(&at.place.interface);
    must(!needless, Rule::Kept, || {
        format!(
            "{} has it where it should be, and has to wait for it",
            claim.pod
        )
    })
}

/// Is the machine of this claim gone, unreachable or ending?
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
