//! An `IP`, its reservation and its claim.

use alloc::string::String;
use alloc::vec::Vec;

use super::condition::Condition;
use super::{Namespaces, Workload};
use crate::address::Address;
use crate::cloud::Reassign;
use crate::names::{
    BlockName, ClaimId, InstanceId, InterfaceId, InterfaceRef, IpName, IpUid, MacAddress, NodeName,
    PodKey, PodUid, ResourceVersion,
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
    pub desired: Result<DesiredIp, String>,
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
    pub fn desired_address(&self) -> Option<Address> {
        self.desired.as_ref().ok()?.address
    }

    /// The interfaces that its address is on or is meant for, or may still be on.
    pub fn interfaces(&self) -> impl Iterator<Item = &InterfaceId> {
        let target = self.status.claim.as_ref().and_then(Claim::target);
        let present = target.map(|target| &target.place.interface);
        let previous = self.status.previous.iter().map(|entry| &entry.interface);
        present.into_iter().chain(previous)
    }

    /// Does a pod hold it, and does the spec name another address than the reserved one?
    #[must_use]
    pub(crate) fn is_edited_while_held(&self) -> bool {
        let desired = self
            .desired
            .as_ref()
            .ok()
            .and_then(|desired| desired.address);
        self.status.claim.is_some() && desired.is_some() && desired != self.status.address
    }

    /// The interface that a claim is for which EC2 has not confirmed.
    #[must_use]
    pub fn unfinished_for(&self) -> Option<&InterfaceId> {
        match &self.status.claim.as_ref()?.phase {
            ClaimPhase::Claimed(target) => Some(&target.place.interface),
            ClaimPhase::Recorded(_) | ClaimPhase::Detaching => None,
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
    pub says: UnreadableReport,
}

/// What an object's condition says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnreadableReport {
    /// There is no place for a condition: a status that is no object would have to be replaced, and what it
    /// was would be lost.
    Mute,
    /// Nothing, or something else than that it cannot be read.
    Nothing,
    /// `False`, that it cannot be read, and why.
    Unreadable(String),
}

/// An `IP`'s spec.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DesiredIp {
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
    /// The reserved address. Once here it is final until the spec names another.
    pub address: Option<Address>,
    /// The block that it was reserved in.
    pub block: Option<BlockName>,
    /// Who holds it, and where.
    pub claim: Option<Claim>,
    /// The MAC address of the interface of the claim, for the node part.
    pub mac: Option<MacAddress>,
    /// The workload of the pod that holds it or held it last: its pods come first. None: no pod held it, or a pod
    /// without a controller.
    pub workload: Option<Workload>,
    /// Where we put it before: at most [`MAX_PREVIOUS`], oldest first.
    pub previous: Vec<Previous>,
    /// A target that EC2 refused for good.
    pub refused: Option<Refused>,
    /// `Reserved`, `Attached`, `Programmed`, `Verified`, `Ready`.
    pub conditions: Conditions,
}

/// How many places before this one the status remembers (R4.16).
pub const MAX_PREVIOUS: usize = 8;

/// A pod's claim on the address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    /// The holder's namespace and name.
    pub pod: PodKey,
    /// The holder.
    pub uid: PodUid,
    /// What tells it from other claims of this IP. Record keeps it.
    pub id: ClaimId,
    /// How far the claim has come.
    pub phase: ClaimPhase,
}

/// How far a claim has come. Each is durable before what follows it is done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimPhase {
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
    pub place: InterfaceRef,
}

impl Claim {
    /// Where the address is or is meant to go; None while it is being detached.
    #[must_use]
    pub fn target(&self) -> Option<&Target> {
        match &self.phase {
            ClaimPhase::Claimed(target) | ClaimPhase::Recorded(target) => Some(target),
            ClaimPhase::Detaching => None,
        }
    }

    /// Has EC2 confirmed it?
    #[must_use]
    pub fn recorded(&self) -> bool {
        matches!(self.phase, ClaimPhase::Recorded(_))
    }
}

/// A place where Mooring put an address, and the pod that it was for.
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

/// The conditions of an `IP`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Conditions {
    /// Is the address reserved?
    pub reserved: Option<Condition>,
    /// Is it on its holder's interface?
    pub attached: Option<Condition>,
    /// Has the node part programmed it? None: it is not attached, or the block does not ask for the node part.
    pub programmed: Option<Condition>,
    /// Does the target of the probe see it? None: it is not attached, the block has no probe, or nothing was found yet.
    pub verified: Option<Condition>,
    /// Reserved, and unclaimed or attached; and programmed, where the block asks for that.
    pub ready: Option<Condition>,
}
