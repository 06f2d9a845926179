//! Addresses that EC2 never moves from an ENI: its primary address, and the addresses of its delegated prefixes.
//! Rules: R4.24, R4.25.

use super::SubnetFacts;
use crate::address::{Address, Cidr};
use crate::names::InterfaceId;

/// Why an address stays on its ENI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Immovable<'a> {
    /// The ENI that has the address.
    pub(crate) on: &'a InterfaceId,
    /// The delegated prefix that contains it; None: it is the primary address.
    pub(crate) prefix: Option<Cidr>,
}

impl SubnetFacts {
    /// The ENI from which the address cannot be moved, according to the last inventory. An Assign creates neither
    /// primary addresses nor prefixes, so Mooring did not put the address there.
    pub(crate) fn immovable(&self, address: Address) -> Option<Immovable<'_>> {
        let inventory = self.inventory()?;
        let on = inventory.holder_of(address)?;
        let interface = inventory.interfaces.get(on)?;
        if interface.addresses.contains(&address) {
            let primary = interface.primary == Some(address);
            return primary.then_some(Immovable { on, prefix: None });
        }
        let (prefix, on) = inventory.prefix_of(address)?;
        let prefix = Some(prefix);
        Some(Immovable { on, prefix })
    }
}
