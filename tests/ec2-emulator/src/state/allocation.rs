//! Chooses the address of a new interface.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use super::Ec2;
use super::error::{Code, Ec2Error};
use super::id::SubnetId;
use super::objects::{NetworkInterface, Subnet};
use super::prefixes::addresses_of;

impl Ec2 {
    /// The interface that has the address in this subnet. Addresses are unique within a subnet, because they are unique
    /// within a VPC and its subnets do not overlap.
    #[must_use]
    pub fn holder(&self, subnet: SubnetId, address: Ipv4Addr) -> Option<&NetworkInterface> {
        self.interfaces
            .values()
            .find(|interface| interface.subnet == subnet && interface.has(address))
    }

    /// The primary address of a new interface: the requested one, or else the lowest free one. EC2 chooses at random.
    /// The lowest one is deterministic.
    pub(super) fn primary_for(
        &self,
        subnet: &Subnet,
        wanted: Option<Ipv4Addr>,
    ) -> Result<Ipv4Addr, Ec2Error> {
        let Some(address) = wanted else {
            return self
                .free_addresses(subnet, 1)?
                .first()
                .copied()
                .ok_or_else(full);
        };
        check_range(subnet, address)?;
        self.outside_prefixes(subnet.id, address)?;
        if self.holder(subnet.id, address).is_some() {
            return Err(Ec2Error::new(
                Code::AddressInUse,
                format!("Address {address} is in use."),
            ));
        }
        Ok(address)
    }

    /// The lowest free addresses of a subnet.
    pub(super) fn free_addresses(
        &self,
        subnet: &Subnet,
        count: usize,
    ) -> Result<BTreeSet<Ipv4Addr>, Ec2Error> {
        let taken: BTreeSet<_> = self.taken(subnet.id).collect();
        let free: BTreeSet<_> = subnet
            .usable()
            .filter(|address| !taken.contains(address))
            .take(count)
            .collect();
        if free.len() < count {
            return Err(full());
        }
        Ok(free)
    }

    /// The number of free addresses of a subnet.
    #[must_use]
    pub fn free_count(&self, subnet: &Subnet) -> usize {
        subnet
            .usable()
            .count()
            .saturating_sub(self.taken(subnet.id).count())
    }

    fn taken(&self, subnet: SubnetId) -> impl Iterator<Item = Ipv4Addr> {
        self.interfaces
            .values()
            .filter(move |interface| interface.subnet == subnet)
            .flat_map(|interface| {
                let in_prefixes = interface.prefixes.iter().copied().flat_map(addresses_of);
                interface.addresses().chain(in_prefixes)
            })
    }
}

/// Checks that an address is in the subnet of the interface and not reserved by AWS. The message about the reserved
/// range is not confirmed on a real account.
pub(super) fn check_range(subnet: &Subnet, address: Ipv4Addr) -> Result<(), Ec2Error> {
    let refuse = |why: &str| {
        Err(Ec2Error::new(
            Code::InvalidParameterValue,
            format!("Address {address} {why}"),
        ))
    };
    if !subnet.cidr.contains(&address) {
        return refuse("does not fall within the subnet's address range");
    }
    if subnet.reserves(address) {
        return refuse("is in subnet's reserved range");
    }
    Ok(())
}

fn full() -> Ec2Error {
    Ec2Error::new(
        Code::InsufficientFreeAddressesInSubnet,
        "The specified subnet does not have enough free addresses to satisfy the request.",
    )
}
