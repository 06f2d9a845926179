//! Where an address is, and which addresses and interfaces of a subnet are looked at for that.
//! Rules: R1.9, R1.13, R1.17.

use alloc::collections::BTreeSet;

use crate::address::Address;
use crate::names::{InstanceId, InterfaceId};
use crate::objects::Ip;
use crate::time::Instant;

/// An own write that EC2 answered: where the address is by it, and when the answer came.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OwnWrite {
    pub(crate) answered: Instant,
    /// None: taken off the interface that had it.
    pub(crate) now_on: Option<InterfaceId>,
}

/// Of what a subnet shows, what IPs depend on: only this is looked at twice when it changes. Addresses and
/// interfaces of others come and go all the time.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfInterest<'a> {
    /// Addresses that an IP has, may still have somewhere, or asks for.
    pub(super) addresses: BTreeSet<Address>,
    /// Interfaces that an IP's address is on, or may be.
    pub(super) interfaces: BTreeSet<&'a InterfaceId>,
}

impl<'a> OfInterest<'a> {
    pub(crate) fn to(ips: impl Iterator<Item = &'a Ip>) -> Self {
        let mut to = Self::default();
        for ip in ips {
            to.addresses.extend(ip.addresses());
            to.addresses.extend(ip.desired_address());
            to.interfaces.extend(ip.interfaces());
        }
        to
    }
}

/// Where an address is, as far as is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The interface; None: nowhere.
    pub on: Option<InterfaceId>,
    /// The instance that the interface is attached to, by the last inventory.
    pub instance: Option<InstanceId>,
    /// Good enough for a claim and for a destructive step.
    pub fresh: bool,
    /// When the older of two inventories was begun that say the same, both begun after our last write; None: no two do.
    pub agreed_since: Option<Instant>,
}

impl Location {
    /// Do two inventories, both begun after our last write, say the same?
    #[must_use]
    pub const fn agreed(&self) -> bool {
        self.agreed_since.is_some()
    }
}
