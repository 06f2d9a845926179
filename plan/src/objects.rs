//! What decisions need to know of Kubernetes objects. `api` reads the objects into these; they are
//! small and ordered, so that a model checker can hold many worlds of them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::address::Address;
use crate::block::BlockRange;
use crate::cloud::Reassign;
use crate::names::{
    BlockName, DeploymentUid, InstanceId, InstanceType, InterfaceId, IpName, IpUid, Millis,
    Namespace, NodeName, Place, PodKey, PodUid, ReplicaSetUid, ResourceVersion, SubnetId,
    WorkloadUid,
};
use crate::reason::Reason;

/// An `IP`, as far as it matters to a decision.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ip {
    /// Its name.
    pub name: IpName,
    /// Its UID.
    pub uid: IpUid,
    /// The version that a status write is guarded by.
    pub version: ResourceVersion,
    /// `metadata.generation`.
    pub generation: i64,
    /// Is it being deleted?
    pub deleting: bool,
    /// Does it carry our finalizer?
    pub finalizer: bool,
    /// The spec; `Err` says in a sentence why it cannot be read.
    pub wish: Result<Wish, String>,
    /// The annotation `ip.wgtwo.com/take-from`.
    pub take_from: Option<InterfaceId>,
    /// The status.
    pub status: IpStatus,
}

impl Ip {
    /// The addresses that its status has, or had and may still have somewhere.
    pub fn addresses(&self) -> impl Iterator<Item = Address> {
        let previous = self.status.previous.iter().map(|entry| entry.address);
        self.status.address.into_iter().chain(previous)
    }

    /// Is it this IP for which an address may be on an interface?
    #[must_use]
    pub fn explains(&self, address: Address) -> bool {
        self.addresses().any(|of| of == address)
    }

    /// The address that its spec names.
    #[must_use]
    pub fn wished_address(&self) -> Option<Address> {
        self.wish.as_ref().ok()?.address
    }

    /// The interfaces that its address is on or is meant for, or may still be on.
    pub fn interfaces(&self) -> impl Iterator<Item = &InterfaceId> {
        let target = self.status.claim.as_ref().and_then(Claim::target);
        let present = target.map(|target| &target.place.interface);
        let previous = self.status.previous.iter().map(|entry| &entry.interface);
        present.into_iter().chain(previous)
    }

    /// Does a pod hold it, and is another address wished than the reserved one?
    #[must_use]
    pub(crate) fn is_edited_while_held(&self) -> bool {
        let wished = self.wish.as_ref().ok().and_then(|wish| wish.address);
        self.status.claim.is_some() && wished.is_some() && wished != self.status.address
    }

    /// The interface that a claim is for which EC2 has not confirmed.
    #[must_use]
    pub fn unfinished_for(&self) -> Option<&InterfaceId> {
        match &self.status.claim.as_ref()?.hold {
            Hold::Claimed(target) => Some(&target.place.interface),
            Hold::Recorded(_) | Hold::Detaching => None,
        }
    }
}

/// An `IP` whose status cannot be read: where its address is, is not known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnreadableIp {
    /// Its name.
    pub name: IpName,
    /// `metadata.uid`.
    pub uid: IpUid,
    /// `metadata.resourceVersion`.
    pub version: ResourceVersion,
    /// What is wrong with it, as a sentence without a full stop.
    pub problem: String,
    /// What its condition `Ready` says of it.
    pub says: Says,
}

/// What an object's condition says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Says {
    /// There is no place for a condition: a status that is no object would have to be replaced, and what it
    /// was would be lost.
    Mute,
    /// Nothing, or something else than that it cannot be read.
    Nothing,
    /// `False`, that it cannot be read, and why.
    Unreadable(String),
}

/// Which namespaces may use an address (`spec.allowedNamespaces`). By default none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Namespaces {
    /// `["*"]`
    All,
    /// These.
    Only(BTreeSet<Namespace>),
}

impl Default for Namespaces {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

impl Namespaces {
    /// As the field lists them.
    pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: BTreeSet<&str> = names.into_iter().collect();
        if names.contains("*") {
            return Self::All;
        }
        Self::Only(names.into_iter().map(Namespace::from).collect())
    }

    /// May pods of this namespace use it?
    #[must_use]
    pub fn allow(&self, namespace: &Namespace) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(namespace),
        }
    }

    /// Does `after` leave out a namespace that was allowed?
    #[must_use]
    pub fn narrows_to(&self, after: &Self) -> bool {
        match (self, after) {
            (_, Self::All) => false,
            (Self::All, Self::Only(_)) => true,
            (Self::Only(before), Self::Only(after)) => !before.is_subset(after),
        }
    }
}

/// An `IP`'s spec.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wish {
    /// The address; None: the lowest free one of the block.
    pub address: Option<Address>,
    /// The block; None: the one that the address lies in.
    pub block: Option<BlockName>,
    /// How a move is made.
    pub reassign: Reassign,
    /// Namespaces whose pods may hold it, if the block allows them too.
    pub allowed_namespaces: Namespaces,
}

/// An `IP`'s status.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpStatus {
    /// The reserved address. Once here it is final until the wish names another.
    pub address: Option<Address>,
    /// The block that it was reserved in.
    pub block: Option<BlockName>,
    /// Who holds it, and where.
    pub claim: Option<Claim>,
    /// The workload of the pod that holds it or held it last: its pods come first. None: nobody held it, or a pod
    /// without a controller.
    pub workload: Option<Workload>,
    /// Where we put it before: at most [`MAX_PREVIOUS`], oldest first.
    pub previous: Vec<Previous>,
    /// A target that EC2 refused for good.
    pub refused: Option<Refused>,
    /// `Reserved`, `Attached`, `Ready`.
    pub conditions: Conditions,
}

/// How many places before this one the status remembers.
pub const MAX_PREVIOUS: usize = 8;

/// A pod's claim on the address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    /// The holder's namespace and name.
    pub pod: PodKey,
    /// The holder.
    pub uid: PodUid,
    /// How far the claim has come.
    pub hold: Hold,
}

/// How far a claim has come. Each is durable before what follows it is done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hold {
    /// Meant to go there; EC2 may or may not have been told (`assigned: false`).
    Claimed(Target),
    /// Is there, as EC2 confirmed (`assigned: true`).
    Recorded(Target),
    /// Is being taken off; where it may be stands in `previous`.
    Detaching,
}

/// Where a claimed address is, or is meant to go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The Node that the holder is bound to.
    pub node: NodeName,
    /// The interface and the instance.
    pub place: Place,
}

impl Claim {
    /// Where the address is or is meant to go; None while it is being detached.
    #[must_use]
    pub fn target(&self) -> Option<&Target> {
        match &self.hold {
            Hold::Claimed(target) | Hold::Recorded(target) => Some(target),
            Hold::Detaching => None,
        }
    }

    /// Has EC2 confirmed it?
    #[must_use]
    pub fn recorded(&self) -> bool {
        matches!(self.hold, Hold::Recorded(_))
    }
}

/// A place where we put an address, and for whom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Previous {
    /// The address (another than the present one after an edit).
    pub address: Address,
    /// The interface that may still have it.
    pub interface: InterfaceId,
    /// The instance that it was on, as far as known.
    pub instance: Option<InstanceId>,
    /// Who held it there; None where it was taken over with `take-from`.
    pub holder: Option<(PodKey, PodUid)>,
}

/// A target that EC2 refused for good.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Refused {
    /// For which pod it was.
    pub pod: PodUid,
    /// The interface that was refused.
    pub interface: InterfaceId,
    /// Why.
    pub reason: Reason,
}

/// The three conditions of an `IP`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Conditions {
    /// Is the address reserved?
    pub reserved: Option<Condition>,
    /// Is it on its holder's interface?
    pub attached: Option<Condition>,
    /// Reserved, and unclaimed or attached.
    pub ready: Option<Condition>,
}

/// A condition without its times: the effect that writes it keeps those.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Condition {
    /// `True` or `False`.
    pub status: bool,
    /// Why, as a word.
    pub reason: Reason,
    /// Why, and what to do next.
    pub message: String,
    /// The generation that this was said of.
    pub generation: i64,
}

/// An `IPBlock`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block {
    /// Its name.
    pub name: BlockName,
    /// `metadata.uid`.
    pub uid: String,
    /// Its version.
    pub version: ResourceVersion,
    /// `metadata.generation`.
    pub generation: i64,
    /// Is it being deleted?
    pub deleting: bool,
    /// Does it carry our finalizer?
    pub finalizer: bool,
    /// The spec; `Err` says in a sentence why it cannot be read.
    pub spec: Result<BlockSpec, String>,
    /// A person's word that the brake may go (annotation `ip.wgtwo.com/release-brake`).
    pub release_brake: bool,
    /// What was last said of it.
    pub status: BlockStatus,
}

/// An `IPBlock`'s spec.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockSpec {
    /// CIDR and excluded addresses.
    pub range: BlockRange,
    /// The subnet whose interfaces can carry the addresses.
    pub subnet: SubnetId,
    /// The administrator's labels; None: the controller labels the nodes.
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Only interfaces with all these tags.
    pub interface_tags: BTreeMap<String, String>,
    /// Namespaces that may use it.
    pub allowed_namespaces: Namespaces,
    /// How long a Node may be away before the address may leave a pod that is being deleted.
    pub failover_after: Millis,
}

/// An `IPBlock`'s status.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockStatus {
    /// The subnet's CIDRs, canonical text.
    pub subnet_cidrs: Vec<String>,
    /// Addresses that can be reserved at all.
    pub capacity: u64,
    /// Addresses reserved by IPs.
    pub reserved: u64,
    /// Of these, on an interface.
    pub attached: u64,
    /// Addresses that others have: on an interface, and reserved by no IP.
    pub foreign: u64,
    /// Addresses that can still be reserved.
    pub free: u64,
    /// Nodes with a usable interface.
    pub nodes: u64,
    /// Conditions by type.
    pub conditions: BTreeMap<String, Condition>,
}

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

/// A Node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// Its creation, in seconds since 1970.
    pub created: i64,
    /// The machine behind it, as its kubelet said when it registered. This is not proven.
    pub instance: Option<InstanceId>,
    /// Its label `node.kubernetes.io/instance-type`.
    pub instance_type: Option<InstanceType>,
    /// Its `Ready` condition is `True`.
    pub ready: bool,
    /// `node.kubernetes.io/unreachable:NoExecute`.
    pub unreachable: bool,
    /// `node.kubernetes.io/out-of-service`.
    pub out_of_service: bool,
    /// Labels; only those that block selectors can name matter.
    pub labels: BTreeMap<String, String>,
}

/// An `IPAddress` object: who has the address in this cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reservation {
    /// The address: the object's name.
    pub address: Address,
    /// Its UID, for a guarded delete.
    pub uid: String,
    /// Its version.
    pub version: ResourceVersion,
    /// Is it being deleted?
    pub deleting: bool,
    /// Does it carry our finalizer?
    pub finalizer: bool,
    /// `spec.parentRef`, where that is an `IP` of ours.
    pub parent: Option<IpName>,
    /// `spec.parentRef` in words: "IP partner-a", "Service default/kubernetes".
    pub parent_text: String,
    /// The label `ip.wgtwo.com/ip-uid`.
    pub label: Option<IpUid>,
    /// The owner reference's UID, where the owner is an `IP`.
    pub owner: Option<IpUid>,
    /// Is it labelled as managed by us?
    pub managed: bool,
}
