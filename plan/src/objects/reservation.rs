//! Reservations: `IPAddress` objects.

use alloc::string::String;

use crate::address::Address;
use crate::names::{IpName, IpUid, ResourceVersion};

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
