//! `AssignPrivateIpAddresses` and `UnassignPrivateIpAddresses`.
//!
//! EC2 API reference: a batch is all or nothing. Without `AllowReassignment` an address on another interface is
//! refused. This refusal is the only protection between two callers.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use super::Ec2;
use super::allocation::check_range;
use super::error::{Code, Ec2Error};
use super::id::NetworkInterfaceId;
use super::instance_type::InstanceType;
use super::objects::{ADDRESSES_UNATTACHED, NetworkInterface};
use super::request::{Changed, Wanted};

impl Ec2 {
    pub(super) fn assign(
        &mut self,
        id: NetworkInterfaceId,
        wanted: Wanted,
        allow_reassignment: bool,
    ) -> Result<Changed, Ec2Error> {
        let interface = self.interface(id)?;
        let subnet = self.subnet(interface.subnet)?;
        let addresses = match wanted {
            Wanted::Addresses(addresses) => addresses,
            Wanted::Count(count) => self.free_addresses(subnet, count)?,
            Wanted::Prefixes(prefixes) => return self.assign_prefixes(id, prefixes),
        };
        let mut losers = BTreeSet::new();
        for address in &addresses {
            check_range(subnet, *address)?;
            self.outside_prefixes(subnet.id, *address)?;
            let Some(holder) = self.holder(subnet.id, *address) else {
                continue;
            };
            if holder.primary == *address {
                return Err(primary(*address, holder.id));
            }
            if holder.id != id && !allow_reassignment {
                return Err(Ec2Error::new(
                    Code::InvalidParameterValue,
                    format!("[{address}] assigned, but move is not allowed."),
                ));
            }
            if holder.id != id {
                losers.insert(holder.id);
            }
        }
        // Addresses that the interface already has need no room, so a repeated call succeeds on a full interface.
        let added = addresses.difference(&interface.secondary).count();
        if interface.slots() + added > self.address_limit(interface)? {
            return Err(no_room());
        }

        for loser in losers {
            self.interface_mut(loser)?
                .secondary
                .retain(|address| !addresses.contains(address));
        }
        self.interface_mut(id)?.secondary.extend(&addresses);
        Ok(Changed::Assigned {
            interface: id,
            addresses,
        })
    }

    /// The error messages are not confirmed on a real account.
    pub(super) fn unassign(
        &mut self,
        id: NetworkInterfaceId,
        addresses: &BTreeSet<Ipv4Addr>,
    ) -> Result<Changed, Ec2Error> {
        let interface = self.interface_mut(id)?;
        if addresses.contains(&interface.primary) {
            return Err(primary(interface.primary, id));
        }
        let absent: Vec<_> = addresses
            .difference(&interface.secondary)
            .map(Ipv4Addr::to_string)
            .collect();
        if !absent.is_empty() {
            return Err(Ec2Error::new(
                Code::InvalidParameterValue,
                format!(
                    "Some of [{}] are not assigned to interface {id}",
                    absent.join(", ")
                ),
            ));
        }
        interface
            .secondary
            .retain(|address| !addresses.contains(address));
        Ok(Changed::Done)
    }

    /// The maximum number of addresses of the interface, by the type of the instance that it is attached to.
    ///
    /// # Errors
    /// `InvalidInstanceID.NotFound`
    pub fn address_limit(&self, interface: &NetworkInterface) -> Result<usize, Ec2Error> {
        match &interface.attachment {
            Some(attachment) => Ok(self.limit_of(self.instance(attachment.instance)?.kind)),
            None => Ok(ADDRESSES_UNATTACHED),
        }
    }

    pub(super) fn limit_of(&self, kind: InstanceType) -> usize {
        self.limit.unwrap_or(kind.addresses_per_interface())
    }
}

fn primary(address: Ipv4Addr, interface: NetworkInterfaceId) -> Ec2Error {
    Ec2Error::new(
        Code::InvalidParameterValue,
        format!(
            "[{address}] is the primary address of {interface}; only secondary-addresses can be \
             assigned, moved or unassigned."
        ),
    )
}

pub(super) fn no_room() -> Ec2Error {
    Ec2Error::new(
        Code::PrivateIpAddressLimitExceeded,
        "Number of private addresses will exceed limit.",
    )
}
