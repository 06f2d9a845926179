//! Pods, and the workloads that they are of.

use alloc::collections::BTreeSet;
use alloc::string::String;

use crate::names::{
    DeploymentUid, IpName, IpUid, Namespace, NodeName, PodKey, PodUid, ReplicaSetUid,
    ResourceVersion, WorkloadUid,
};
use crate::reason::Reason;

/// A pod that carries our label.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the pod"
)]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pod {
    /// The pod.
    pub uid: PodUid,
    /// Where its object is.
    pub key: PodKey,
    /// Its version.
    pub version: ResourceVersion,
    /// `creationTimestamp`, in seconds since 1970: for order only, never compared with a clock.
    pub created: i64,
    /// The node it is bound to.
    pub node: Option<NodeName>,
    /// `Succeeded` or `Failed`.
    pub ended: bool,
    /// Is it being deleted? With the grace period in seconds.
    pub deleting: Option<u64>,
    /// Does the user's annotation stand there?
    pub annotated: bool,
    /// Our label.
    pub label: Option<IpName>,
    /// The IP that admission resolved the annotation to.
    pub ip: Option<IpUid>,
    /// Does its spec have our readiness gate?
    pub gated: bool,
    /// Our condition.
    pub gate: Option<Gate>,
    /// Its other readiness gates whose conditions are not `True`.
    pub unready_gates: BTreeSet<String>,
    /// Its `ContainersReady` condition.
    pub containers_ready: bool,
    /// Is every container running?
    pub containers_running: bool,
    /// When it may take over in a rollout.
    pub handover: Handover,
    /// Its controller: the owner reference with `controller: true`.
    pub controller: Option<Controller>,
}

/// The controller of a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Controller {
    /// A `ReplicaSet`, which may be of a Deployment: name and UID.
    ReplicaSet(String, ReplicaSetUid),
    /// Another one.
    Other(WorkloadUid),
}

/// What makes the pods of one kind: their Deployment, or else their controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workload {
    /// The pods' namespace: an owner reference names none, and may name what is in another.
    pub namespace: Namespace,
    /// The Deployment's UID, or the controller's.
    pub uid: WorkloadUid,
}

/// Our condition on a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gate {
    /// `True`: the address is there.
    pub status: bool,
    /// Why, as it stands in the object.
    pub reason: String,
}

/// When a rollout's new pod may take the address over (annotation `ip.wgtwo.com/handover`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Handover {
    /// Once its containers and its other readiness gates are ready.
    #[default]
    ContainersReady,
    /// Once they run: for programs that need the address to become ready.
    Running,
}

impl Pod {
    /// Its controller, if that is a `ReplicaSet`: name and UID.
    #[must_use]
    pub fn replica_set(&self) -> Option<(&String, &ReplicaSetUid)> {
        match self.controller.as_ref()? {
            Controller::ReplicaSet(name, uid) => Some((name, uid)),
            Controller::Other(_) => None,
        }
    }

    /// Has it come so far that it may take the address from an older revision's pod?
    #[must_use]
    pub fn ready_to_take_over(&self) -> bool {
        match self.handover {
            Handover::ContainersReady => self.containers_ready && self.unready_gates.is_empty(),
            Handover::Running => self.containers_running,
        }
    }

    /// The status of our condition; None: it has none.
    #[must_use]
    pub fn gate_status(&self) -> Option<bool> {
        self.gate.as_ref().map(|gate| gate.status)
    }

    /// Does our condition say that it has the address? (`NotRequested` says that it wants none.)
    #[must_use]
    pub fn says_attached(&self) -> bool {
        self.gate
            .as_ref()
            .is_some_and(|gate| gate.status && gate.reason != Reason::NotRequested.as_str())
    }
}

/// A `ReplicaSet`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicaSet {
    /// Its UID.
    pub uid: ReplicaSetUid,
    /// The Deployment that controls it.
    pub deployment: Option<DeploymentUid>,
    /// `deployment.kubernetes.io/revision`.
    pub revision: u64,
    /// `spec.replicas`.
    pub replicas: u64,
}
