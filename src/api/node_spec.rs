//! What the node part does for the addresses of a block.
#![allow(
    clippy::doc_markdown,
    reason = "kubectl explain shows these lines as they are"
)]

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::probe::{Probe, ProbeError};

/// What the node part (mooring node) does for the addresses of a block.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSpec {
    /// The networks of the partners. What pods send there leaves with their static address, over the network
    /// interface that has it; everything else is untouched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub routes: Vec<Route>,

    /// Networks that pods never reach with their static address, although a route contains them. Left out: the
    /// private ranges of RFC 1918 and RFC 6598, the link-local range 169.254.0.0/16 (instance metadata, DNS and time of
    /// EC2), and the CIDRs of the block's subnet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), inner(length(max = 18)))]
    #[x_kube(
        merge_strategy = ListMerge::Set,
        validation = Rule::new(
            "self.all(e, isCIDR(e) && cidr(e).ip().family() == 4 && cidr(e).masked() == cidr(e))"
        ).message("each must be a canonical IPv4 CIDR, such as 10.0.0.0/8")
    )]
    pub internal: Option<Vec<String>>,

    /// A program outside of the VPC that says which source address it sees (mooring echo). The condition Verified of
    /// each IP shows it. Left out: there is no probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
}

/// A network that is reached with the static address.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// The network, a canonical IPv4 CIDR. 0.0.0.0/0: everything but the internal networks.
    #[schemars(length(max = 18))]
    #[x_kube(
        validation = Rule::new("isCIDR(self) && cidr(self).ip().family() == 4 && cidr(self).masked() == cidr(self)")
            .message("must be a canonical IPv4 CIDR, such as 198.51.100.0/24")
    )]
    pub to: String,

    /// The gateway, an address in the subnet. Left out: the gateway of the subnet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 15))]
    #[x_kube(
        validation = Rule::new("isIP(self) && ip(self).family() == 4 && ip.isCanonical(self)")
            .message("must be an IPv4 address in canonical form, such as 203.0.113.200")
    )]
    pub via: Option<String>,

    /// With true, packets to the network leave with another source while the address is not programmed. With false
    /// they are dropped until then. Of overlapping routes the most specific one decides.
    #[serde(default)]
    pub optional: bool,
}

/// A field has an impossible value.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NodeSpecError {
    /// The value is not a canonical CIDR.
    #[error("{field} \"{text}\" is not a canonical IPv4 CIDR")]
    Cidr {
        /// The field.
        field: &'static str,
        /// The value.
        text: String,
    },
    /// The value is not an address.
    #[error("routes.via \"{0}\" is not an IPv4 address")]
    Via(String),
    /// No interface can have the address.
    #[error(
        "routes.via {0} cannot be a gateway: give the address of one in the subnet, or leave via out"
    )]
    NoGateway(Ipv4Addr),
    /// A route that has no effect.
    #[error(
        "the route to {to} is within the internal network {internal}, which never sees the address"
    )]
    Internal {
        /// The route.
        to: Ipv4Net,
        /// The internal network.
        internal: Ipv4Net,
    },
    /// The same network occurs twice.
    #[error("there are two routes to {0}")]
    Twice(Ipv4Net),
    /// The list is too long.
    #[error("{field} has {count} entries, and at most 64 are possible")]
    TooMany {
        /// The field.
        field: &'static str,
        /// The number of entries.
        count: usize,
    },
    /// The probe is not valid.
    #[error(transparent)]
    Probe(#[from] ProbeError),
}

/// The most routes, and the most internal networks.
const MAX_NETWORKS: usize = 64;

fn network(field: &'static str, text: &str) -> Result<Ipv4Net, NodeSpecError> {
    text.parse::<Ipv4Net>()
        .ok()
        .filter(|network| network.trunc() == *network)
        .ok_or_else(|| NodeSpecError::Cidr {
            field,
            text: text.to_owned(),
        })
}

fn few(field: &'static str, count: usize) -> Result<(), NodeSpecError> {
    if count > MAX_NETWORKS {
        return Err(NodeSpecError::TooMany { field, count });
    }
    Ok(())
}

impl Route {
    /// Parses network and gateway.
    ///
    /// # Errors
    /// One of them cannot be parsed.
    pub fn parse(&self) -> Result<(Ipv4Net, Option<Ipv4Addr>), NodeSpecError> {
        let via = self
            .via
            .as_deref()
            .map(|via| via.parse().map_err(|_| NodeSpecError::Via(via.to_owned())));
        Ok((network("routes.to", &self.to)?, via.transpose()?))
    }
}

/// Whether an interface can have the address. The kernel refuses others as a gateway.
const fn is_gateway(address: Ipv4Addr) -> bool {
    let [first, ..] = address.octets();
    !(first == 0 || address.is_loopback() || first >= 224)
}

/// Checks that each route can be parsed and has a possible gateway, and no network occurs twice.
///
/// # Errors
/// The first error.
pub fn check_routes(routes: &[Route]) -> Result<(), NodeSpecError> {
    few("routes", routes.len())?;
    let mut networks = Vec::new();
    for route in routes {
        let (to, via) = route.parse()?;
        if let Some(via) = via.filter(|via| !is_gateway(*via)) {
            return Err(NodeSpecError::NoGateway(via));
        }
        if networks.contains(&to) {
            return Err(NodeSpecError::Twice(to));
        }
        networks.push(to);
    }
    Ok(())
}

impl NodeSpec {
    /// The internal networks. None: the field is left out.
    ///
    /// # Errors
    /// One is not a canonical CIDR.
    pub fn internal(&self) -> Result<Option<Vec<Ipv4Net>>, NodeSpecError> {
        let read = |list: &Vec<String>| list.iter().map(|text| network("internal", text)).collect();
        self.internal.as_ref().map(read).transpose()
    }

    /// Checks each field, and the fields against each other. `subnets` are the known CIDRs of the block's subnet.
    ///
    /// # Errors
    /// The first error.
    pub fn check(&self, subnets: &[Ipv4Net]) -> Result<(), NodeSpecError> {
        check_routes(&self.routes)?;
        few("internal", self.internal.as_ref().map_or(0, Vec::len))?;
        self.check_effective(&self.routes, subnets)?;
        self.probe.as_ref().map_or(Ok(()), |probe| {
            Ok(probe.check(&self.networks()?, &self.internal_or_default(subnets)?)?)
        })
    }

    fn networks(&self) -> Result<Vec<Ipv4Net>, NodeSpecError> {
        let read = |route: &Route| route.parse().map(|(to, _)| to);
        self.routes.iter().map(read).collect()
    }

    fn internal_or_default(&self, subnets: &[Ipv4Net]) -> Result<Vec<Ipv4Net>, NodeSpecError> {
        Ok(self
            .internal()?
            .unwrap_or_else(|| internal_by_default(subnets)))
    }

    /// Checks that routes, of the block or of an IP, do not lie within an internal network. Such a route has no effect.
    /// `subnets` are the known CIDRs of the block's subnet.
    ///
    /// # Errors
    /// The first route that does, or that cannot be parsed.
    pub fn check_effective(
        &self,
        routes: &[Route],
        subnets: &[Ipv4Net],
    ) -> Result<(), NodeSpecError> {
        outside(routes, &self.internal_or_default(subnets)?)
    }
}

/// Checks that no route lies within an internal network.
fn outside(routes: &[Route], internal: &[Ipv4Net]) -> Result<(), NodeSpecError> {
    for route in routes {
        let (to, _) = route.parse()?;
        if let Some(internal) = internal.iter().find(|internal| internal.contains(&to)) {
            return Err(NodeSpecError::Internal {
                to,
                internal: *internal,
            });
        }
    }
    Ok(())
}

/// The private ranges of RFC 1918 and RFC 6598, the link-local range of RFC 3927 (instance metadata, DNS and time of
/// EC2), and the CIDRs of the subnet of the block.
#[must_use]
pub fn internal_by_default(subnets: &[Ipv4Net]) -> Vec<Ipv4Net> {
    [
        (Ipv4Addr::new(10, 0, 0, 0), 8),
        (Ipv4Addr::new(172, 16, 0, 0), 12),
        (Ipv4Addr::new(192, 168, 0, 0), 16),
        (Ipv4Addr::new(100, 64, 0, 0), 10),
        (Ipv4Addr::new(169, 254, 0, 0), 16),
    ]
    .into_iter()
    .filter_map(|(address, prefix)| Ipv4Net::new(address, prefix).ok())
    .chain(subnets.iter().copied())
    .collect()
}

#[cfg(test)]
mod tests;
