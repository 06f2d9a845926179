//! Foreign clients of EC2: they assign addresses and delegate prefixes to interfaces, and remove them again.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use ec2_emulator::state::id::NetworkInterfaceId;
use ec2_emulator::state::request::{Change, Changed, Wanted};
use ipnet::Ipv4Net;

use super::World;

impl World {
    /// A foreign client assigns an address to its interface, if no interface has it.
    pub fn occupy(&mut self, address: Ipv4Addr) {
        let subnet = self.subnets[&address.octets()[2]];
        if self.cloud.look(|ec2| ec2.holder(subnet, address).is_some()) {
            return;
        }
        let create = Change::CreateNetworkInterface {
            subnet,
            address: None,
            description: "of another client".to_owned(),
            tags: BTreeMap::new(),
        };
        let Ok(Changed::NetworkInterface(interface)) = self.cloud.change(create) else {
            return;
        };
        self.put(interface.id, &[address]);
        self.foreign.push((interface.id.to_string(), address));
        self.log.fault(format!(
            "world    a foreign client puts {address} on {}",
            interface.id
        ));
    }

    /// A prefix of sixteen addresses is delegated to a foreign interface, if no interface has one of them.
    pub fn delegate(&mut self, first: Ipv4Addr, for_good: bool) {
        let create = Change::CreateNetworkInterface {
            subnet: self.subnets[&first.octets()[2]],
            address: None,
            description: "of another client".to_owned(),
            tags: BTreeMap::new(),
        };
        let Ok(Changed::NetworkInterface(interface)) = self.cloud.change(create) else {
            return;
        };
        let prefix: Ipv4Net = format!("{first}/28").parse().expect("a prefix");
        let delegated = self.cloud.change(Change::AssignPrivateIpAddresses {
            interface: interface.id,
            wanted: Wanted::Prefixes([prefix].into()),
            allow_reassignment: false,
        });
        if delegated.is_err() {
            return;
        }
        if !for_good {
            self.delegated.push((interface.id, prefix));
        }
        self.log.fault(format!(
            "world    {prefix} is delegated to {}",
            interface.id
        ));
    }

    /// A foreign client fills the interface of a machine with other addresses.
    pub fn fill(&mut self, name: &str) {
        let machine = self.machines.get(name);
        let interfaces = machine
            .map(|machine| machine.interfaces.clone())
            .unwrap_or_default();
        let interfaces: Vec<_> = interfaces.into_iter().collect();
        let Some(&(third, (interface, _))) = self.chance.pick(&interfaces) else {
            return;
        };
        let limit = self.shape.machine.addresses_per_interface();
        let room = self.cloud.look(|ec2| {
            let used = ec2
                .interface(interface)
                .map_or(limit, |one| one.addresses().count());
            limit.saturating_sub(used)
        });
        let free: Vec<Ipv4Addr> = self.free(third, 192..=250).take(room).collect();
        self.put(interface, &free);
        let filled = free
            .into_iter()
            .map(|address| (interface.to_string(), address));
        self.foreign.extend(filled);
        self.log.fault(format!(
            "world    a foreign client fills {interface} of node {name}"
        ));
    }

    pub(super) fn put(&self, interface: NetworkInterfaceId, addresses: &[Ipv4Addr]) {
        let _ = self.cloud.change(Change::AssignPrivateIpAddresses {
            interface,
            wanted: Wanted::Addresses(addresses.iter().copied().collect()),
            allow_reassignment: false,
        });
    }

    /// Foreign clients remove all their addresses.
    pub fn foreign_clients_leave(&mut self) {
        for (interface, address) in std::mem::take(&mut self.foreign) {
            if let Ok(interface) = interface.parse() {
                let _ = self.cloud.change(Change::UnassignPrivateIpAddresses {
                    interface,
                    addresses: [address].into(),
                });
            }
        }
        for (interface, prefix) in std::mem::take(&mut self.delegated) {
            let _ = self.cloud.change(Change::UnassignPrefixes {
                interface,
                prefixes: [prefix].into(),
            });
        }
        self.note("foreign clients leave");
    }
}
