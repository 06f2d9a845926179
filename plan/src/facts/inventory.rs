//! A complete list of the interfaces of a subnet, and what is found in it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::sets::Sets;
use crate::address::{Address, Cidr, addresses, span};
use crate::cloud::Interface;
use crate::names::{InstanceId, InterfaceId};
use crate::time::Instant;

/// A complete list of a subnet's interfaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inventory {
    /// When the first page was asked for: what was true later may be missing.
    pub begun: Instant,
    /// The interfaces.
    pub interfaces: BTreeMap<InterfaceId, Interface>,
    at: BTreeMap<Address, InterfaceId>,
    /// Delegated prefixes by their first address. They have no address in common.
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
                let of = |prefix: &Cidr| (prefix.network(), (*prefix, interface.id.clone()));
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

    /// The interfaces that are attached to an instance, or on their way there or away.
    pub(crate) fn of_instance(&self, instance: &InstanceId) -> impl Iterator<Item = &Interface> {
        let ids = self.of_instance.of(instance);
        ids.filter_map(|id| self.interfaces.get(id))
    }

    /// The interface that it shows the address on, by itself or in a delegated prefix.
    #[must_use]
    pub fn holder_of(&self, address: Address) -> Option<&InterfaceId> {
        let in_prefix = || self.prefix_of(address).map(|(_, on)| on);
        self.at.get(&address).or_else(in_prefix)
    }

    /// The last of the addresses in sequence that it shows on one interface from this one on, as far as that is known
    /// without a search; None: it does not show this one.
    pub(crate) fn taken_to(&self, address: Address) -> Option<Address> {
        let in_prefix = self.prefix_of(address);
        let last = in_prefix.map(|(prefix, _)| prefix.broadcast());
        last.or_else(|| self.at.contains_key(&address).then_some(address))
    }

    /// The delegated prefix that the address lies in, and the interface that has it.
    pub(crate) fn prefix_of(&self, address: Address) -> Option<(Cidr, &InterfaceId)> {
        let (_, (prefix, on)) = self.prefixes.range(..=address).next_back()?;
        prefix.contains(&address).then_some((*prefix, on))
    }

    /// Every address of the delegated prefixes.
    pub(crate) fn delegated(&self) -> impl Iterator<Item = Address> {
        let prefixes = self.prefixes.values();
        prefixes.flat_map(|(prefix, _)| addresses(span(*prefix)))
    }

    /// Every address that it shows by itself, with its interface.
    pub fn addresses(&self) -> impl Iterator<Item = (&Address, &InterfaceId)> {
        self.at.iter()
    }

    pub(super) fn instance_of(&self, interface: &InterfaceId) -> Option<&InstanceId> {
        self.interfaces.get(interface)?.instance.as_ref()
    }
}
