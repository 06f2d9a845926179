//! The blocks, IPs and pods that the node part reads: the input of the desired state.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;
use std::time::Duration;

use ipnet::Ipv4Net;

/// All objects from which the desired state is computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    /// The name of this node.
    pub node: String,
    /// Blocks by name.
    pub blocks: BTreeMap<String, NodeBlock>,
    /// IPs by name: those of this node, and those that its pods ask for.
    pub ips: BTreeMap<String, Ip>,
    /// Annotated pods of this node by UID, without those that have ended.
    pub pods: BTreeMap<String, Pod>,
}

/// The fields of a block that the node part reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeBlock {
    /// The CIDRs of the block's subnet.
    pub subnets: Vec<Ipv4Net>,
    /// `spec.node`. Without it the node part does nothing for the block.
    pub node: Option<NodeSpec>,
}

/// `IPBlock.spec.node`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSpec {
    /// Networks of the partners, which pods reach with the static address.
    pub routes: Vec<Route>,
    /// Networks to which pods never send with the static address. None: [`crate::api::internal_by_default`].
    pub internal: Option<Vec<Ipv4Net>>,
    /// The target that the node part asks which source address it sees.
    pub probe: Option<Probe>,
}

/// The probe of a block: a program that answers with the source address that it sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Host and port.
    pub target: String,
    /// Time between two attempts, for each address.
    pub interval: Duration,
}

/// A network that is reached with the static address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The network.
    pub to: Ipv4Net,
    /// The gateway. None: the gateway of the subnet.
    pub via: Option<Ipv4Addr>,
    /// Whether packets to it may leave with another source while the address is not programmed.
    pub optional: bool,
}

/// The fields of an IP that the node part reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ip {
    /// The block that the address is reserved in.
    pub block: Option<String>,
    /// `spec.routes`, in addition to the routes of the block.
    pub routes: Vec<Route>,
    /// The claim in the status.
    pub claim: Option<Claim>,
}

/// Which pod has the address, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The claim id: it differs from the ids of all earlier claims of the same IP.
    pub id: String,
    /// The address.
    pub address: Ipv4Addr,
    /// The UID of the pod.
    pub pod: String,
    /// The name of the node.
    pub node: String,
    /// Whether EC2 has confirmed that the address is on the ENI.
    pub assigned: bool,
    /// The MAC of the ENI. None: the controller has not written it yet.
    pub mac: Option<Mac>,
}

/// An annotated pod of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// `namespace/name`, for messages.
    pub name: String,
    /// The name of the IP that the pod asks for.
    pub wants: String,
    /// The addresses of the pod. Empty: the CNI has not assigned any yet.
    pub addresses: Vec<IpAddr>,
    /// Whether it uses the network namespace of the node.
    pub host_network: bool,
}

impl Pod {
    /// The first IPv4 address.
    #[must_use]
    pub fn ipv4(&self) -> Option<Ipv4Addr> {
        self.addresses.iter().find_map(|address| match address {
            IpAddr::V4(address) => Some(*address),
            IpAddr::V6(_) => None,
        })
    }

    /// Whether it has addresses, and none is IPv4.
    #[must_use]
    pub fn has_only_ipv6(&self) -> bool {
        !self.addresses.is_empty() && self.ipv4().is_none()
    }
}

/// The MAC address of a network interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

/// The text is not a MAC address.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("\"{0}\" is not a MAC address, such as 02:00:5e:00:53:01")]
pub struct MacError(String);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, octet) in self.0.iter().enumerate() {
            let colon = if at == 0 { "" } else { ":" };
            write!(f, "{colon}{octet:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for Mac {
    type Err = MacError;

    fn from_str(text: &str) -> Result<Self, MacError> {
        let wrong = || MacError(text.to_owned());
        let octets: Vec<u8> = text
            .split(':')
            .map(|part| match part.len() {
                2 => u8::from_str_radix(part, 16).map_err(|_| wrong()),
                _ => Err(wrong()),
            })
            .collect::<Result<_, _>>()?;
        octets.try_into().map(Self).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_reads_as_it_prints() {
        let mac: Mac = "02:00:5E:00:53:01".parse().unwrap();
        assert_eq!(mac.to_string(), "02:00:5e:00:53:01");
        for text in [
            "",
            "02:00:5e:00:53",
            "02:00:5e:00:53:1",
            "02-00-5e-00-53-01",
            "+2:00:5e:00:53:01:00",
        ] {
            assert!(text.parse::<Mac>().is_err(), "{text}");
        }
    }
}
