//! Pods and their workloads.

use alloc::collections::BTreeSet;
use alloc::string::String;

use crate::names::{
    DeploymentUid, IpName, IpUid, Namespace, NodeName, PodKey, PodUid, ReplicaSetUid,
    ResourceVersion, WorkloadUid,
};
use crate::reason::Reason;

/// A pod with our label.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the pod"
)]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pod {
    /// The UID of the pod.
    pub uid: PodUid,
    /// Namespace and name.
    pub key: PodKey,
    /// The `resourceVersion`, which guards writes.
    pub version: ResourceVersion,
    /// `creationTimestamp`, in seconds since 1970. It is used only for ordering, never compared with a clock.
    pub created: i64,
    /// The node that it is bound to.
    pub node: Option<NodeName>,
    /// True if its phase is `Succeeded` or `Failed`.
    pub ended: bool,
    /// The grace period in seconds if it is being deleted, else None.
    pub deleting: Option<u64>,
    /// True if it has the annotation `ip.wgtwo.com/ip`.
    pub annotated: bool,
    /// The value of our label.
    pub label: Option<IpName>,
    /// The UID of the IP to which admission resolved the annotation.
    pub ip: Option<IpUid>,
    /// True if its spec has our readiness gate.
    pub gated: bool,
    /// The condition of our readiness gate.
    pub gate: Option<Gate>,
    /// Its other readiness gates whose conditions are not `True`.
    pub unready_gates: BTreeSet<String>,
    /// True if its condition `ContainersReady` is `True`.
    pub containers_ready: bool,
    /// True if every container is running.
    pub containers_running: bool,
    /// When it may take over the address in a rollout.
    pub handover: Handover,
    /// Its controller: the owner reference with `controller: true`.
    pub controller: Option<Controller>,
}

/// The controller of a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Controller {
    /// A `ReplicaSet`, which can belong to a Deployment: name and UID.
    ReplicaSet(String, ReplicaSetUid),
    /// Another controller.
    Other(WorkloadUid),
}

/// The workload of pods: their Deployment, or else their controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workload {
    /// The namespace of the pods. An owner reference has no namespace, and can name an object of another namespace.
    pub namespace: Namespace,
    /// The UID of the Deployment or of the controller.
    pub uid: WorkloadUid,
}

/// The condition of our readiness gate on a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gate {
    /// The status of the condition. `True`: the address is attached.
    pub status: bool,
    /// The reason, as in the object.
    pub reason: String,
}

/// When the new pod of a rollout may take the address over (annotation `ip.wgtwo.com/handover`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Handover {
    /// When its containers and its other readiness gates are ready.
    #[default]
    ContainersReady,
    /// When its containers run: for programs that need the address to become ready.
    Running,
}

impl Pod {
    /// True if it asks for an address and can still become ready with one.
    pub(crate) const fn wants_address(&self) -> bool {
        self.annotated && self.gated && !self.ended && self.deleting.is_none()
    }

    /// The name and UID of its controller, if that is a `ReplicaSet`.
    #[must_use]
    pub fn replica_set(&self) -> Option<(&String, &ReplicaSetUid)> {
        match self.controller.as_ref()? {
            Controller::ReplicaSet(name, uid) => Some((name, uid)),
            Controller::Other(_) => None,
        }
    }

    /// True if it may take the address from a pod of an older revision now.
    #[must_use]
    pub fn ready_to_take_over(&self) -> bool {
        match self.handover {
            Handover::ContainersReady => self.containers_ready && self.unready_gates.is_empty(),
            Handover::Running => self.containers_running,
        }
    }

    /// The status of our condition; None: the condition does not exist.
    #[must_use]
    pub fn gate_status(&self) -> Option<bool> {
        self.gate.as_ref().map(|gate| gate.status)
    }

    /// True if our condition says that the pod has the address. (`True` with reason `NotRequested` does not.)
    #[must_use]
    pub fn reports_attached(&self) -> bool {
        self.gate
            .as_ref()
            .is_some_and(|gate| gate.status && gate.reason != Reason::NotRequested.as_str())
    }
}

/// A `ReplicaSet`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicaSet {
    /// The UID of the `ReplicaSet`.
    pub uid: ReplicaSetUid,
    /// The Deployment that controls it.
    pub deployment: Option<DeploymentUid>,
    /// `deployment.kubernetes.io/revision`.
    pub revision: u64,
    /// `spec.replicas`.
    pub replicas: u64,
}
