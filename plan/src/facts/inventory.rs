//! Inventory: a complete list of the ENIs of a subnet, with indexes.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::sets::Sets;
use crate::address::{Address, Cidr, addresses, contains, first, last, span};
use crate::cloud::Interface;
use crate::names::{InstanceId, InterfaceId};
use crate::time::Instant;

/// A complete list of the ENIs of a subnet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inventory {
    /// When the first page was requested: later changes may be missing.
    pub begun: Instant,
    /// The ENIs by id.
    pub interfaces: BTreeMap<InterfaceId, Interface>,
    at: BTreeMap<Address, InterfaceId>,
    /// Delegated prefixes by their first address. They do not overlap.
    prefixes: BTreeMap<Address, (Cidr, InterfaceId)>,
    of_instance: Sets<InstanceId, InterfaceId>,
}

impl Inventory {
    pub(crate) fn new(begun: Instant, list: Vec<Interface>) -> Self {
        let at = list
            .iter()
            .flat_map(|interface| {
                interface
                    .addresses
                    .iter()
                    .map(|address| (*address, interface.id.clone()))
            })
            .collect();
        let prefixes = list
            .iter()
            .flat_map(|interface| {
                let of = |prefix: &Cidr| (first(*prefix), (*prefix, interface.id.clone()));
                interface.prefixes.iter().map(of)
            })
            .collect();
        let mut of_instance = Sets::default();
        for interface in &list {
            if let Some(instance) = &interface.instance {
                of_instance.insert(instance.clone(), interface.id.clone());
            }
        }
        let interfaces = list
            .into_iter()
            .map(|interface| (interface.id.clone(), interface))
            .collect();
        Self {
            begun,
            interfaces,
            at,
            prefixes,
            of_instance,
        }
    }

    /// The ENIs of an instance: attached, being attached, or being detached.
    pub(crate) fn of_instance(&self, instance: &InstanceId) -> impl Iterator<Item = &Interface> {
        let ids = self.of_instance.of(instance);
        ids.filter_map(|id| self.interfaces.get(id))
    }

    /// The ENI that has the address, directly or in a delegated prefix.
    #[must_use]
    pub fn holder_of(&self, address: Address) -> Option<&InterfaceId> {
        let in_prefix = || self.prefix_of(address).map(|(_, on)| on);
        self.at.get(&address).or_else(in_prefix)
    }

    /// The last address of a taken row that begins at this address, as far as is known without a search: the end of its
    /// delegated prefix, or the address itself. None: the inventory does not show this address.
    pub(crate) fn taken_until(&self, address: Address) -> Option<Address> {
        let in_prefix = self.prefix_of(address);
        let last = in_prefix.map(|(prefix, _)| last(prefix));
        last.or_else(|| self.at.contains_key(&address).then_some(address))
    }

    /// The delegated prefix that contains the address, and its ENI.
    pub(crate) fn prefix_of(&self, address: Address) -> Option<(Cidr, &InterfaceId)> {
        let (_, (prefix, on)) = self.prefixes.range(..=address).next_back()?;
        contains(*prefix, address).then_some((*prefix, on))
    }

    /// All addresses of the delegated prefixes.
    pub(crate) fn delegated(&self) -> impl Iterator<Item = Address> {
        let prefixes = self.prefixes.values();
        prefixes.flat_map(|(prefix, _)| addresses(span(*prefix)))
    }

    /// All addresses that are directly on an ENI, with the ENI.
    pub fn addresses(&self) -> impl Iterator<Item = (&Address, &InterfaceId)> {
        self.at.iter()
    }

    pub(super) fn instance_of(&self, interface: &InterfaceId) -> Option<&InstanceId> {
        self.interfaces.get(interface)?.instance.as_ref()
    }
}
