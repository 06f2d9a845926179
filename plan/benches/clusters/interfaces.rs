//! The interfaces of one cluster, as EC2 has them: each cluster has a subnet of its own.

use std::collections::BTreeMap;

use mooring_plan::address::Address;
use mooring_plan::cloud::{Interface, Reassign};
use mooring_plan::facts::CallError;
use mooring_plan::names::InterfaceId;
use mooring_plan::outcome::Outcome;
use mooring_plan::step::CallGroup;

/// Addresses of an interface at most, the primary one among them.
pub const MAX_ADDRESSES: usize = 50;

/// The interfaces, and where each address is.
#[derive(Clone, Debug, Default)]
pub struct Interfaces {
    all: BTreeMap<InterfaceId, Interface>,
    on: BTreeMap<Address, InterfaceId>,
}

pub fn refused(outcome: Outcome, code: &str) -> CallError {
    CallError::new(outcome, code)
}

impl Interfaces {
    pub fn create(&mut self, interface: Interface) {
        for address in &interface.addresses {
            self.on.insert(*address, interface.id.clone());
        }
        self.all.insert(interface.id.clone(), interface);
    }

    /// The address is on that interface already.
    pub fn put(&mut self, address: Address, on: &InterfaceId) {
        let interface = self.all.get_mut(on).unwrap();
        interface.addresses.insert(address);
        assert!(interface.addresses.len() <= MAX_ADDRESSES);
        self.on.insert(address, on.clone());
    }

    /// `DescribeNetworkInterfaces`.
    pub fn describe(&self) -> Vec<Interface> {
        self.all.values().cloned().collect()
    }

    /// The interface that has the address.
    pub fn holder_of(&self, address: Address) -> Option<&InterfaceId> {
        self.on.get(&address)
    }

    /// Carries out a request: all of it or nothing.
    pub fn execute(&mut self, group: &CallGroup, addresses: &[Address]) -> Result<(), CallError> {
        let id = group.interface();
        let interface = self.all.get_mut(id).unwrap();
        match group {
            CallGroup::Assign(_, reassign) => {
                // No scenario asks for it, so it is not modelled.
                assert_eq!(*reassign, Reassign::Refuse);
                let elsewhere = |address| self.on.get(address).is_some_and(|on| on != id);
                if addresses.iter().any(elsewhere) {
                    let code = "InvalidParameterValue";
                    return Err(refused(Outcome::AssignedElsewhere, code));
                }
                let mut with = interface.addresses.clone();
                with.extend(addresses);
                if with.len() > MAX_ADDRESSES {
                    let code = "PrivateIpAddressLimitExceeded";
                    return Err(refused(Outcome::NoRoom, code));
                }
                interface.addresses = with;
                for address in addresses {
                    self.on.insert(*address, id.clone());
                }
            }
            CallGroup::Unassign(_) => {
                let missing = |address| !interface.addresses.contains(address);
                if addresses.iter().any(missing) {
                    return Err(refused(Outcome::Done, "InvalidParameterValue"));
                }
                for address in addresses {
                    interface.addresses.remove(address);
                    self.on.remove(address);
                }
            }
        }
        Ok(())
    }
}
