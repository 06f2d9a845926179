//! Addresses that EC2 neither moves nor takes off an interface, whatever it is asked: primary ones.

use core::net::Ipv4Addr;

use super::SubnetFacts;
use crate::names::InterfaceId;

/// Why an address stays on its interface for as long as that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Immovable<'a> {
    /// The interface.
    pub(crate) on: &'a InterfaceId,
}

impl SubnetFacts {
    /// The interface that keeps the address for good, as the last inventory shows it. An Assign never makes
    /// a primary address: where it is one, nothing of ours has put it.
    pub(crate) fn immovable(&self, address: Ipv4Addr) -> Option<Immovable<'_>> {
        let inventory = self.inventory()?;
        let on = inventory.holder_of(address)?;
        let interface = inventory.interfaces.get(on)?;
        (interface.primary == Some(address)).then_some(Immovable { on })
    }
}
