//! An address that is programmed.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::destinations::Destinations;
use super::objects::{Mac, Probe};

/// One programmed address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The name of the IP.
    pub ip: String,
    /// The MAC of the ENI that carries the address.
    pub mac: Mac,
    /// Where the program that uses the address runs.
    pub endpoint: Endpoint,
    /// The destinations to which the pod sends with the address as the source.
    pub destinations: Destinations,
    /// The CIDR of the subnet that contains the address.
    pub subnet: Ipv4Net,
    /// The gateway of the subnet.
    pub gateway: Ipv4Addr,
    /// The gateway of each route: its `via`, or the gateway of the subnet.
    pub gateways: BTreeMap<Ipv4Net, Ipv4Addr>,
    /// The probe of the block, if it has one.
    pub probe: Option<Probe>,
}

impl Address {
    /// Whether the address belongs to a pod and has a probe.
    #[must_use]
    pub const fn is_probed(&self) -> bool {
        matches!(self.endpoint, Endpoint::Pod(_)) && self.probe.is_some()
    }

    /// The gateway of everything that has no route of its own.
    #[must_use]
    pub fn default_gateway(&self) -> Ipv4Addr {
        let own = self.gateways.get(&Ipv4Net::default());
        own.copied().unwrap_or(self.gateway)
    }

    /// Whether packets of the address use this route of the table of its ENI.
    #[must_use]
    pub fn uses(&self, to: Ipv4Net, via: Ipv4Addr) -> bool {
        let gateway = if to == Ipv4Net::default() {
            Some(self.default_gateway())
        } else {
            self.gateways.get(&to).copied()
        };
        gateway == Some(via)
    }
}

/// Where the program that uses the address runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// In the network namespace of the node: the program binds the address itself.
    Host,
    /// In a pod with its own address: the node translates between the two addresses (NAT).
    Pod(Ipv4Addr),
}
