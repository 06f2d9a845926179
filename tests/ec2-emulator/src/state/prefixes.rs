//! Prefixes that are delegated to an interface as a whole (`Ipv4Prefix` of `AssignPrivateIpAddresses`).
//!
//! EC2 user guide, "Prefix delegation": a prefix is a /28 of the subnet and uses one slot of the interface. The error
//! messages, and the refusal of an Assign of a single address in a prefix, are not confirmed on a real account.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::Ec2;
use super::addresses::no_room;
use super::allocation::check_range;
use super::error::{Code, Ec2Error};
use super::id::{NetworkInterfaceId, SubnetId};
use super::request::Changed;

/// The length of every IPv4 prefix of an interface.
const LENGTH: u8 = 28;

impl Ec2 {
    pub(super) fn assign_prefixes(
        &mut self,
        id: NetworkInterfaceId,
        prefixes: BTreeSet<Ipv4Net>,
    ) -> Result<Changed, Ec2Error> {
        let interface = self.interface(id)?;
        let subnet = self.subnet(interface.subnet)?;
        for prefix in prefixes.difference(&interface.prefixes) {
            if prefix.prefix_len() != LENGTH || prefix.trunc() != *prefix {
                return Err(Ec2Error::new(
                    Code::InvalidParameterValue,
                    format!("{prefix} is not a valid /{LENGTH} prefix."),
                ));
            }
            for address in addresses_of(*prefix) {
                check_range(subnet, address)?;
                if self.holder(subnet.id, address).is_some() {
                    return Err(in_use(address));
                }
                self.outside_prefixes(subnet.id, address)?;
            }
        }
        let added = prefixes.difference(&interface.prefixes).count();
        if interface.slots() + added > self.address_limit(interface)? {
            return Err(no_room());
        }
        self.interface_mut(id)?.prefixes.extend(&prefixes);
        Ok(Changed::AssignedPrefixes {
            interface: id,
            prefixes,
        })
    }

    pub(super) fn unassign_prefixes(
        &mut self,
        id: NetworkInterfaceId,
        prefixes: &BTreeSet<Ipv4Net>,
    ) -> Result<Changed, Ec2Error> {
        let interface = self.interface_mut(id)?;
        if let Some(absent) = prefixes.difference(&interface.prefixes).next() {
            return Err(Ec2Error::new(
                Code::InvalidParameterValue,
                format!("Prefix {absent} is not assigned to interface {id}"),
            ));
        }
        interface
            .prefixes
            .retain(|prefix| !prefixes.contains(prefix));
        Ok(Changed::Done)
    }

    /// An address in a delegated prefix cannot be assigned separately.
    pub(super) fn outside_prefixes(
        &self,
        subnet: SubnetId,
        address: Ipv4Addr,
    ) -> Result<(), Ec2Error> {
        let mut of_subnet = self
            .interfaces
            .values()
            .filter(|interface| interface.subnet == subnet);
        if of_subnet.any(|interface| interface.has_in_prefix(address)) {
            return Err(in_use(address));
        }
        Ok(())
    }
}

/// Every address of a prefix.
pub(super) fn addresses_of(prefix: Ipv4Net) -> impl Iterator<Item = Ipv4Addr> {
    let (first, last) = (u32::from(prefix.network()), u32::from(prefix.broadcast()));
    (first..=last).map(Ipv4Addr::from)
}

fn in_use(address: Ipv4Addr) -> Ec2Error {
    Ec2Error::new(Code::AddressInUse, format!("Address {address} is in use."))
}
