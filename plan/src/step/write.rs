//! A write to the API server for an IP.

use alloc::string::String;

use crate::address::Address;
use crate::names::{IpName, IpUid, PodKey, PodUid, ResourceVersion};
use crate::objects::{IpStatus, Reservation};
use crate::reason::Reason;

/// A write to the API server, guarded by what it was decided from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Write {
    /// Put our finalizer on the `IP` (guarded by its version).
    AddFinalizer {
        /// The `IP`.
        ip: IpName,
        /// Its version.
        version: ResourceVersion,
    },
    /// Take it off: the last thing of an `IP`.
    RemoveFinalizer {
        /// The `IP`.
        ip: IpName,
        /// Its version.
        version: ResourceVersion,
    },
    /// Remove the annotation `take-from`, used.
    DropTakeFrom {
        /// The `IP`.
        ip: IpName,
        /// Its version.
        version: ResourceVersion,
    },
    /// Replace the status (guarded by the version).
    Status {
        /// The `IP`.
        ip: IpName,
        /// Its version.
        version: ResourceVersion,
        /// What it changes.
        change: StatusWrite,
        /// All of the status, as it is to be.
        status: IpStatus,
    },
    /// Say on an `IP` that it cannot be read, and nothing else (guarded by the version).
    ReportUnreadable {
        /// The `IP`.
        ip: IpName,
        /// Its version.
        version: ResourceVersion,
        /// Why it cannot be read.
        message: String,
    },
    /// Create the `IPAddress` of this address for this IP, as its spec at that version says.
    Reserve {
        /// The `IP`.
        ip: IpName,
        /// Its UID.
        uid: IpUid,
        /// Its version.
        version: ResourceVersion,
        /// The address that its spec asks for.
        address: Address,
    },
    /// Put owner reference, labels and finalizer of the `IPAddress` right, and note the version of the IP
    /// that wants it, so that this is a change (guarded by the version of the `IPAddress`).
    RepairReservation {
        /// The `IP`.
        ip: IpName,
        /// Its UID.
        uid: IpUid,
        /// Its version.
        wanted_at: ResourceVersion,
        /// The `IPAddress` as it was read.
        reservation: Reservation,
    },
    /// Delete the `IPAddress` (by UID and version) and take its finalizer off.
    Release(Reservation),
    /// Write our condition on a pod (guarded by UID, and by version where one is given).
    Gate(GateWrite),
    /// Put our label on the pod again, or take label and `ip-uid` off (guarded by UID).
    Label {
        /// The pod's object.
        pod: PodKey,
        /// The pod.
        uid: PodUid,
        /// The IP that the label names; None: it is taken off.
        ip: Option<IpName>,
    },
}

/// What a status write is: for the trace, the metrics and the Events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatusWrite {
    /// The address was reserved.
    Reserved,
    /// A pod claims it, or a claim goes to another pod or place.
    Claim,
    /// A claim goes back to the holder before.
    Revert,
    /// EC2 confirmed the claim.
    Record,
    /// It is to be taken off.
    Detach,
    /// It was taken off: no pod holds it.
    Clear,
    /// Only conditions change, and places that are proven empty leave `previous`.
    Conditions,
}

/// Does a status write bring the address to another place?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moved {
    /// Yes: `lastMoveTime` becomes the present.
    Yes,
    /// No: it stays.
    No,
}

/// Our condition on a pod, as it is to be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GateWrite {
    /// The pod's object.
    pub pod: PodKey,
    /// The pod.
    pub uid: PodUid,
    /// The version that was read; None: whatever it is by now (a loser's `False`).
    pub version: Option<ResourceVersion>,
    /// `True` or `False`.
    pub status: bool,
    /// The status of the condition now, as far as a watch or an answer has shown it; None: it is not known to exist. Its
    /// time changes with its status.
    pub shown: Option<bool>,
    /// Why.
    pub reason: Reason,
    /// Why.
    pub message: String,
    /// For a loser: the version of the IP that this was decided from. It is kept on the pod, so that this
    /// write changes the pod's version although nothing else in it may.
    pub denied_at: Option<ResourceVersion>,
}

impl GateWrite {
    /// Does it tell a pod that waits why it waits? Nothing depends on it.
    #[must_use]
    pub const fn tells_why(&self) -> bool {
        !self.status && self.denied_at.is_none()
    }
}
