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

/// The parts of an `IP` that decisions need.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ip {
    /// `metadata.name`, which the label of its pods has as the value.
    pub name: IpName,
    /// `metadata.uid`: an IP that was deleted and created again is another IP (R2.9).
    pub uid: IpUid,
    /// The `resourceVersion`, which guards status writes.
    pub version: ResourceVersion,
    /// `metadata.generation`.
    pub generation: i64,
    /// True if it is being deleted.
    pub deleting: bool,
    /// True if it has our finalizer.
    pub finalizer: bool,
    /// The spec; `Err` is a message why it cannot be read.
    pub desired: Result<DesiredIp, String>,
    /// The annotation `ip.wgtwo.com/take-from`.
    pub take_from: Option<InterfaceId>,
    /// The status.
    pub status: IpStatus,
}

impl Ip {
    /// The address in its status, and former addresses that can still be on an ENI (`previous`).
    pub fn addresses(&self) -> impl Iterator<Item = Address> {
        let previous = self.status.previous.iter().map(|entry| entry.address);
        self.status.address.into_iter().chain(previous)
    }

    /// How its address is moved. A spec that cannot be read allows no reassignment.
    pub(crate) fn reassign(&self) -> Reassign {
        let desired = self.desired.as_ref();
        desired.map_or(Reassign::Refuse, |desired| desired.reassign)
    }

    /// True if this IP can be the reason why an address is on an ENI.
    #[must_use]
    pub fn explains(&self, address: Address) -> bool {
        self.addresses().any(|of| of == address)
    }

    /// The address in its spec.
    #[must_use]
    pub fn desired_address(&self) -> Option<Address> {
        self.desired.as_ref().ok()?.address
    }

    /// The ENI of its claim, and the ENIs that can still have the address (`previous`).
    pub fn interfaces(&self) -> impl Iterator<Item = &InterfaceId> {
        let target = self.status.claim.as_ref().and_then(Claim::target);
        let present = target.map(|target| &target.place.interface);
        let previous = self.status.previous.iter().map(|entry| &entry.interface);
        present.into_iter().chain(previous)
    }

    /// The pods that the status names: the holders of the places in `previous`, and the present one.
    pub(crate) fn named_pods(&self) -> impl Iterator<Item = (&PodKey, &PodUid)> {
        let previous = self.status.previous.iter();
        let before = previous.filter_map(|entry| entry.holder.as_ref());
        let claim = self.status.claim.as_ref();
        let present = claim.map(|claim| (&claim.pod, &claim.uid));
        before.map(|(key, uid)| (key, uid)).chain(present)
    }

    /// True if the status names this pod.
    #[must_use]
    pub(crate) fn names_pod(&self, uid: &PodUid) -> bool {
        self.named_pods().any(|(_, of)| of == uid)
    }

    /// True if a pod holds the IP and its spec has another address than the reserved one.
    #[must_use]
    pub(crate) fn is_edited_while_held(&self) -> bool {
        let desired = self.desired_address();
        self.status.claim.is_some() && desired.is_some() && desired != self.status.address
    }

    /// The ENI of a claim that EC2 has not confirmed; None if there is no such claim.
    #[must_use]
    pub fn unfinished_for(&self) -> Option<&InterfaceId> {
        self.status.unfinished_for()
    }
}

impl IpStatus {
    /// As [`Ip::unfinished_for`].
    #[must_use]
    pub fn unfinished_for(&self) -> Option<&InterfaceId> {
        match &self.claim.as_ref()?.phase {
            ClaimPhase::Claimed(target) => Some(&target.place.interface),
            ClaimPhase::Recorded(_) | ClaimPhase::Detaching => None,
        }
    }
}

/// An `IP` whose status cannot be read: the place of its address is not known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnreadableIp {
    /// The name of the IP.
    pub name: IpName,
    /// `metadata.uid`.
    pub uid: IpUid,
    /// `metadata.resourceVersion`.
    pub version: ResourceVersion,
    /// What is wrong, as a sentence without a full stop.
    pub problem: String,
    /// What its condition `Ready` already reports.
    pub report: UnreadableReport,
}

/// What the condition of an unreadable object already reports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnreadableReport {
    /// No condition can be written: the status is not a JSON object, and a write would replace it and lose its content.
    NotWritable,
    /// It does not report that the object cannot be read.
    Nothing,
    /// It is `False` and reports that the object cannot be read, with this message.
    Unreadable(String),
}

/// The spec of an `IP`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DesiredIp {
    /// The address; None: the lowest free address of the block is allocated.
    pub address: Option<Address>,
    /// The block; None: the block that contains the address.
    pub block: Option<BlockName>,
    /// How the address is moved.
    pub reassign: Reassign,
    /// Namespaces whose pods may hold it, if the block allows them too.
    pub allowed_namespaces: Namespaces,
}

/// The status of an `IP`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpStatus {
    /// The reserved address. It is final until the spec names another one.
    pub address: Option<Address>,
    /// The block in which it was reserved.
    pub block: Option<BlockName>,
    /// The claim: which pod gets the address, and where.
    pub claim: Option<Claim>,
    /// The MAC address of the ENI of the claim, for the node part.
    pub mac: Option<MacAddress>,
    /// The workload of the last holder: its pods come first. None: there was no holder, or it had no controller.
    pub workload: Option<Workload>,
    /// Places where Mooring put the address before: at most [`MAX_PREVIOUS`], oldest first.
    pub previous: Vec<Previous>,
    /// A target that EC2 refused for good.
    pub refused: Option<Refused>,
    /// The conditions `Reserved`, `Attached`, `Programmed`, `Verified` and `Ready`.
    pub conditions: Conditions,
}

/// Maximum number of previous places in the status (R4.16).
pub const MAX_PREVIOUS: usize = 8;

/// The claim of a pod on the address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    /// Namespace and name of the holder.
    pub pod: PodKey,
    /// UID of the holder.
    pub uid: PodUid,
    /// The unique id of the claim within the IP. A Record does not change it.
    pub id: ClaimId,
    /// The state of the claim.
    pub phase: ClaimPhase,
}

/// The state of a claim. Each state is durable before the next step is done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimPhase {
    /// The address is to go there; EC2 may or may not have been called (`assigned: false`).
    Claimed(Target),
    /// EC2 confirmed that the address is there (`assigned: true`).
    Recorded(Target),
    /// The address is being detached; `previous` has the places where it can be.
    Detaching,
}

/// Where a claimed address is, or is to go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The Node that the holder is bound to.
    pub node: NodeName,
    /// The ENI and the instance.
    pub place: InterfaceRef,
}

impl Claim {
    /// Where the address is or is to go; None while it is being detached.
    #[must_use]
    pub fn target(&self) -> Option<&Target> {
        match &self.phase {
            ClaimPhase::Claimed(target) | ClaimPhase::Recorded(target) => Some(target),
            ClaimPhase::Detaching => None,
        }
    }

    /// Where the address is, if EC2 has confirmed the claim.
    #[must_use]
    pub fn recorded_target(&self) -> Option<&Target> {
        self.target().filter(|_| self.recorded())
    }

    /// True if EC2 has confirmed the claim.
    #[must_use]
    pub fn recorded(&self) -> bool {
        matches!(self.phase, ClaimPhase::Recorded(_))
    }
}

/// A place where Mooring put an address, and the holder at that time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Previous {
    /// The address. After an edit it differs from the present one.
    pub address: Address,
    /// The ENI that can still have it.
    pub interface: InterfaceId,
    /// The instance of the ENI, if known.
    pub instance: Option<InstanceId>,
    /// The holder there; None if the address was taken over with `take-from`.
    pub holder: Option<(PodKey, PodUid)>,
}

/// A target that EC2 refused for good.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Refused {
    /// The pod of the claim.
    pub pod: PodUid,
    /// The refused ENI.
    pub interface: InterfaceId,
    /// Why EC2 refused it.
    pub reason: Reason,
}

/// The conditions of an `IP`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Conditions {
    /// Whether the address is reserved.
    pub reserved: Option<Condition>,
    /// Whether it is on the ENI of its holder.
    pub attached: Option<Condition>,
    /// Whether the node part has programmed it. None: it is not attached, or the block does not use the node part.
    pub programmed: Option<Condition>,
    /// Whether the target of the probe sees it. None: it is not attached, the block has no probe, or there is no result
    /// yet.
    pub verified: Option<Condition>,
    /// Reserved, and either unclaimed or attached; and programmed, if the block uses the node part.
    pub ready: Option<Condition>,
}
