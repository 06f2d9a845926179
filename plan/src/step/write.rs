//! A write to the API server for an IP.

use alloc::string::String;

use crate::address::Address;
use crate::names::{ClaimId, IpName, IpUid, PodKey, PodUid, ResourceVersion};
use crate::objects::{IpStatus, Pod, Reservation};
use crate::reason::Reason;

/// A write to the API server. It is guarded by the state that it was decided from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Write {
    /// Add our finalizer to the `IP` (guarded by its version).
    AddFinalizer {
        /// The `IP`.
        ip: IpName,
        /// The `resourceVersion` that guards the write.
        version: ResourceVersion,
    },
    /// Remove our finalizer: the last write of an `IP`.
    RemoveFinalizer {
        /// The `IP`.
        ip: IpName,
        /// The `resourceVersion` that guards the write.
        version: ResourceVersion,
    },
    /// Remove the annotation `take-from` after it was used, or when it has no effect.
    DropTakeFrom {
        /// The `IP`.
        ip: IpName,
        /// The `resourceVersion` that guards the write.
        version: ResourceVersion,
    },
    /// Replace the status (guarded by the version).
    Status {
        /// The `IP`.
        ip: IpName,
        /// The `resourceVersion` that guards the write.
        version: ResourceVersion,
        /// What the write means.
        change: StatusWrite,
        /// The complete new status.
        status: IpStatus,
    },
    /// Write the condition that the `IP` cannot be read, and change nothing else (guarded by the version).
    ReportUnreadable {
        /// The `IP`.
        ip: IpName,
        /// The `resourceVersion` that guards the write.
        version: ResourceVersion,
        /// Why the `IP` cannot be read.
        message: String,
    },
    /// Create the `IPAddress` of this address for this IP, as the spec of the IP at this version asks for it.
    Reserve {
        /// The `IP`.
        ip: IpName,
        /// The UID of the `IP`.
        uid: IpUid,
        /// The `resourceVersion` of the `IP` that this was decided from.
        version: ResourceVersion,
        /// The address that its spec asks for.
        address: Address,
    },
    /// Repair owner reference, labels and finalizer of the `IPAddress` (guarded by its version). The version of the IP
    /// is written too (annotation `wanted-at`), so that the write always changes the object.
    RepairReservation {
        /// The `IP`.
        ip: IpName,
        /// The UID of the `IP`.
        uid: IpUid,
        /// The `resourceVersion` of the `IP`, which is written to the `IPAddress` (annotation `wanted-at`).
        wanted_at: ResourceVersion,
        /// The `IPAddress` as it was read.
        reservation: Reservation,
    },
    /// Delete the `IPAddress` (guarded by UID and version), and remove its finalizer.
    Release(Reservation),
    /// Write our condition on a pod (guarded by UID, and by version where one is given).
    Gate(GateWrite),
    /// Add our label to the pod again, or remove the label and `ip-uid` (guarded by UID).
    Label {
        /// Namespace and name of the pod.
        pod: PodKey,
        /// The UID of the pod.
        uid: PodUid,
        /// The IP that the label names; None: the label is removed.
        ip: Option<IpName>,
    },
}

impl Write {
    /// The same write of another version of the object.
    pub(crate) fn without_versions(mut self) -> Self {
        let none = ResourceVersion(0);
        match &mut self {
            Self::AddFinalizer { version, .. }
            | Self::RemoveFinalizer { version, .. }
            | Self::DropTakeFrom { version, .. }
            | Self::ReportUnreadable { version, .. }
            | Self::Reserve { version, .. } => *version = none,
            Self::Status {
                version, status, ..
            } => {
                *version = none;
                if let Some(claim) = &mut status.claim {
                    claim.id = ClaimId::default();
                }
            }
            Self::RepairReservation {
                wanted_at,
                reservation,
                ..
            } => (*wanted_at, reservation.version) = (none, none),
            Self::Release(reservation) => reservation.version = none,
            Self::Gate(gate) => (gate.version, gate.denied_at) = (None, None),
            Self::Label { .. } => {}
        }
        self
    }
}

/// The meaning of a status write, for the trace, metrics and Events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatusWrite {
    /// The address was reserved.
    Reserved,
    /// A pod claims it, or a claim goes to another pod or place.
    Claim,
    /// A claim goes back to the former holder.
    Revert,
    /// EC2 confirmed the claim.
    Record,
    /// The detach of the address begins.
    Detach,
    /// The detach is confirmed: no pod holds the address.
    Clear,
    /// Only conditions change, and places that are proven empty are removed from `previous`.
    Conditions,
}

/// Whether a status write brings the address to another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moved {
    /// Yes: `lastMoveTime` is set to the current time.
    Yes,
    /// No: `lastMoveTime` does not change.
    No,
}

/// A write of our condition on a pod (the readiness gate).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GateWrite {
    /// Namespace and name of the pod.
    pub pod: PodKey,
    /// The UID of the pod.
    pub uid: PodUid,
    /// The `resourceVersion` that guards the write; None: any version (the `False` of a loser).
    pub version: Option<ResourceVersion>,
    /// The status of the condition.
    pub status: bool,
    /// The present status of the condition, as far as a watch or an answer has shown it; None: the condition is not
    /// known to exist. `lastTransitionTime` changes only if the status changes.
    pub shown: Option<bool>,
    /// Reason of the condition.
    pub reason: Reason,
    /// Message of the condition.
    pub message: String,
    /// For a loser: the version of the IP that this was decided from. It is written to the pod too, so that this write
    /// changes the version of the pod even if nothing else changes.
    pub denied_at: Option<ResourceVersion>,
}

impl GateWrite {
    /// The write that gives a waiting pod the reason. The version guards it: a process with a lagging watch must not
    /// overwrite a newer gate.
    pub(crate) fn explaining(pod: &Pod, reason: Reason, message: String) -> Self {
        Self {
            pod: pod.key.clone(),
            uid: pod.uid.clone(),
            version: Some(pod.version),
            status: false,
            shown: pod.gate_status(),
            reason,
            message,
            denied_at: None,
        }
    }

    /// True if the write only gives a waiting pod the reason. No decision depends on such a write.
    #[must_use]
    pub const fn only_explains(&self) -> bool {
        !self.status && self.denied_at.is_none()
    }
}
