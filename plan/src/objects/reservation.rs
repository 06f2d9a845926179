//! Reservations: `IPAddress` objects.

use alloc::string::String;

use crate::address::Address;
use crate::names::{IpName, IpUid, ResourceVersion};

/// An `IPAddress` object: the owner of an address in this cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reservation {
    /// The address, which is the name of the object.
    pub address: Address,
    /// The UID, which guards a delete.
    pub uid: String,
    /// The `resourceVersion`, which guards writes.
    pub version: ResourceVersion,
    /// True if it is being deleted.
    pub deleting: bool,
    /// True if it has our finalizer.
    pub finalizer: bool,
    /// `spec.parentRef`, if that is an `IP` of Mooring.
    pub parent: Option<IpName>,
    /// `spec.parentRef` as text: "IP partner-a", "Service default/kubernetes".
    pub parent_text: String,
    /// The label `ip.wgtwo.com/ip-uid`.
    pub label: Option<IpUid>,
    /// The UID in the owner reference, if the owner is an `IP`.
    pub owner: Option<IpUid>,
    /// True if its label says that Mooring manages it.
    pub managed: bool,
}
