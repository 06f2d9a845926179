//! Addresses that EC2 neither moves nor takes off an interface: its primary one, and those of its delegated
//! prefixes.
//! Rules: R4.24, R4.25.

use super::SubnetFacts;
use crate::address::{Address, Cidr};
use crate::names::InterfaceId;

/// Why an address stays on its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Immovable<'a> {
    /// The interface.
    pub(crate) on: &'a InterfaceId,
    /// The delegated prefix that it lies in; None: it is the primary address.
    pub(crate) prefix: Option<Cidr>,
}

impl SubnetFacts {
    /// The interface that keeps the address, as the last inventory shows it. An Assign makes neither a primary
    /// address nor a prefix: where it is one or lies in one, nothing of ours has put it.
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
