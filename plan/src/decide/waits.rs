//! The Events for a pod that waits while another pod holds the address or comes first.
//! Rules: R3.25, R3.29.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::world::on_pod;
use crate::objects::Pod;
use crate::reason::Reason;
use crate::step::Notice;

/// Another pod holds the address, and no handover to this pod is possible.
pub(crate) fn other_holds(holder: &Pod, waiting: &Pod) -> Notice {
    on_pod(
        waiting,
        Reason::ClaimedByOther,
        format!(
            "pod {} holds the address and keeps it until it is deleted: this pod waits. Two pods cannot share an IP; \
             give this one its own",
            holder.key
        ),
    )
}

/// Another pod holds the address, and the `ReplicaSet` of this pod belongs to no Deployment: whatever replaces the pods
/// there, no rollout of it hands the address over.
pub(crate) fn no_deployment(holder: &Pod, waiting: &Pod) -> Notice {
    on_pod(
        waiting,
        Reason::ClaimedByOther,
        format!(
            "pod {} holds the address and keeps it until it is deleted: this pod waits. Only the rollout of a \
             Deployment hands an address over, and the ReplicaSet of this pod belongs to none: let its controller \
             stop the old pod before it starts the new one, or give this pod an IP of its own",
            holder.key
        ),
    )
}

/// The new pod of a rollout is not ready to take the address over.
pub(crate) fn handover_waits(holder: &Pod, waiting: &Pod) -> [Notice; 2] {
    let missing = waiting.unready_gates.iter().map(String::as_str);
    let missing: Vec<&str> = missing.collect();
    let message = if waiting.containers_ready && !missing.is_empty() {
        format!(
            "the rollout waits: {} gets the address from {} when its other readiness gates are True ({} is not). If \
             they cannot be without the address, annotate the pod template with ip.wgtwo.com/handover: running, or use \
             strategy Recreate or maxSurge: 0",
            waiting.key,
            holder.key,
            missing.join(", ")
        )
    } else {
        format!(
            "the rollout waits: {} gets the address from {} when its containers are ready. If it cannot become ready \
             without the address, annotate the pod template with ip.wgtwo.com/handover: running, or use strategy \
             Recreate or maxSurge: 0",
            waiting.key, holder.key
        )
    };
    [
        on_pod(waiting, Reason::HandoverWaiting, message.clone()),
        on_pod(holder, Reason::HandoverWaiting, message),
    ]
}

/// No pod holds the address, and a pod of the workload that had it last can still get it.
pub(crate) fn own_workload_first(pod: &Pod) -> Notice {
    on_pod(
        pod,
        Reason::HandoverWaiting,
        format!(
            "a pod of another workload held the address last, and the next pod of that workload comes first: {} gets \
             the address if there is none within a minute",
            pod.key
        ),
    )
}

/// No pod holds the address, and a ready pod of an older revision can still get it.
pub(crate) fn older_revision_first(pod: &Pod) -> Notice {
    on_pod(
        pod,
        Reason::HandoverWaiting,
        format!(
            "the address waits for a minute for a pod of an older revision of the Deployment, since {} is not ready: \
             it goes to the first that is",
            pod.key
        ),
    )
}
