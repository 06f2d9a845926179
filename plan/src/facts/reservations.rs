//! The known reservations, and the creates in flight.
//! Rules: R2.13, R2.14.

use alloc::collections::{BTreeMap, BTreeSet};

use super::address_rows::AddressRows;
use super::sets::Sets;
use crate::address::{Address, Cidr, first, last};
use crate::names::{IpName, IpUid};
use crate::objects::Reservation;

/// The known reservations, by address and by the IPs that they name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Reservations {
    at: BTreeMap<Address, Reservation>,
    of: Sets<IpUid, Address>,
    of_parent: Sets<IpName, Address>,
    rows: AddressRows,
    /// The address for which each of these IPs has a create in flight, or a create with unknown outcome. Only the
    /// allocation of other IPs skips it. Safety does not depend on it, only on the API server.
    begun: BTreeMap<IpName, Address>,
}

impl Reservations {
    pub(crate) fn get(&self, address: Address) -> Option<&Reservation> {
        self.at.get(&address)
    }

    /// The reservations that name this IP, by label or by owner.
    pub(crate) fn of(&self, ip: &IpUid) -> impl Iterator<Item = &Reservation> {
        self.of.of(ip).filter_map(|address| self.at.get(address))
    }

    /// The addresses that are reserved for the IP of this name, according to `spec.parentRef`.
    pub(crate) fn of_parent(&self, ip: &IpName) -> impl Iterator<Item = Address> {
        self.of_parent.of(ip).copied()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Reservation> {
        self.at.values()
    }

    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut Reservation> {
        self.at.values_mut()
    }

    pub(crate) fn within(&self, cidr: Cidr) -> impl Iterator<Item = &Reservation> {
        self.at
            .range(first(cidr)..=last(cidr))
            .map(|(_, reservation)| reservation)
    }

    /// The last address of the row of reserved addresses from this one on; None: this address is not reserved.
    pub(crate) fn reserved_to(&self, address: Address) -> Option<Address> {
        self.rows.last_from(address)
    }

    /// The addresses for which other IPs have a create in flight.
    pub(crate) fn begun_by_others(&self, ip: &IpName) -> BTreeSet<Address> {
        let others = self.begun.iter().filter(|(name, _)| *name != ip);
        others.map(|(_, address)| *address).collect()
    }

    pub(super) fn insert(&mut self, reservation: Reservation) {
        let address = reservation.address;
        self.remove(address);
        for uid in reservation.label.iter().chain(&reservation.owner) {
            self.of.insert(uid.clone(), address);
        }
        if let Some(parent) = &reservation.parent {
            self.of_parent.insert(parent.clone(), address);
        }
        self.rows.insert(address);
        self.at.insert(address, reservation);
    }

    pub(super) fn remove(&mut self, address: Address) -> Option<Reservation> {
        let gone = self.at.remove(&address)?;
        for uid in gone.label.iter().chain(&gone.owner) {
            self.of.remove(uid, &address);
        }
        if let Some(parent) = &gone.parent {
            self.of_parent.remove(parent, &address);
        }
        self.rows.remove(address);
        Some(gone)
    }

    pub(super) fn begin(&mut self, ip: IpName, address: Address) {
        self.begun.insert(ip, address);
    }

    /// The create of this IP is over. Returns its address if it is free now.
    pub(super) fn end(&mut self, ip: &IpName) -> Option<Address> {
        let address = self.begun.remove(ip)?;
        self.get(address).is_none().then_some(address)
    }

    /// This process begins to lead: earlier creates are removed.
    pub(super) fn end_all(mut self) -> Self {
        self.begun.clear();
        self
    }
}
