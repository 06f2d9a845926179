//! The location of an address, and the addresses and ENIs of a subnet that are relevant for IPs.
//! Rules: R1.9, R1.13, R1.17.

use alloc::collections::BTreeSet;

use crate::address::Address;
use crate::names::{InstanceId, InterfaceId};
use crate::objects::Ip;
use crate::time::Instant;

/// An own write that EC2 answered: when the answer came, and where the address is since.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OwnWrite {
    pub(crate) answered: Instant,
    /// The ENI that has the address. None: the address was detached.
    pub(crate) now_on: Option<InterfaceId>,
}

/// The addresses and ENIs of a subnet on which IPs depend. Only their changes cause a second inventory; others change
/// all the time.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfInterest<'a> {
    /// Addresses that an IP has, can still have on an ENI, or asks for.
    pub(super) addresses: BTreeSet<Address>,
    /// ENIs that have, or can have, the address of an IP.
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

/// The location of an address, as far as is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The ENI; None: nowhere.
    pub on: Option<InterfaceId>,
    /// The instance of the ENI, according to the last inventory.
    pub instance: Option<InstanceId>,
    /// True if it is new enough for a claim and for a destructive step.
    pub fresh: bool,
    /// When the older of two agreeing inventories was begun, both after the last own write; None: no two agree.
    pub agreed_since: Option<Instant>,
}

impl Location {
    /// True if two inventories agree that both began after the last own write.
    #[must_use]
    pub const fn agreed(&self) -> bool {
        self.agreed_since.is_some()
    }
}
