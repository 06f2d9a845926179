//! What the node part does for the addresses of a block.
#![allow(
    clippy::doc_markdown,
    reason = "kubectl explain shows these lines as they are"
)]

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

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
    /// private ranges of RFC 1918 and RFC 6598, and the CIDRs of the block's subnet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), inner(length(max = 18)))]
    #[x_kube(
        merge_strategy = ListMerge::Set,
        validation = Rule::new(
            "self.all(e, isCIDR(e) && cidr(e).ip().family() == 4 && cidr(e).masked() == cidr(e))"
        ).message("each must be a canonical IPv4 CIDR, such as 10.0.0.0/8")
    )]
    pub internal: Option<Vec<String>>,
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
    /// they are dropped until then.
    #[serde(default)]
    pub optional: bool,
}

/// A field that cannot be meant.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NodeSpecError {
    /// Not a canonical CIDR.
    #[error("{field} \"{text}\" is not a canonical IPv4 CIDR")]
    Cidr {
        /// The field.
        field: &'static str,
        /// What it says.
        text: String,
    },
    /// Not an address.
    #[error("routes.via \"{0}\" is not an IPv4 address")]
    Via(String),
    /// A route that has no effect.
    #[error(
        "the route to {to} lies within the internal network {internal}, which never sees the address"
    )]
    Internal {
        /// The route.
        to: Ipv4Net,
        /// The internal network.
        internal: Ipv4Net,
    },
    /// The same network twice.
    #[error("there are two routes to {0}")]
    Twice(Ipv4Net),
    /// Too many.
    #[error("{field} has {count} entries, and at most 64 are possible")]
    TooMany {
        /// The field.
        field: &'static str,
        /// How many there are.
        count: usize,
    },
}

/// The most routes, and the most internal networks.
const LIMIT: usize = 64;

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
    if count > LIMIT {
        return Err(NodeSpecError::TooMany { field, count });
    }
    Ok(())
}

impl Route {
    /// Network and gateway.
    ///
    /// # Errors
    /// One of them is not what it should be.
    pub fn parse(&self) -> Result<(Ipv4Net, Option<Ipv4Addr>), NodeSpecError> {
        let via = self
            .via
            .as_deref()
            .map(|via| via.parse().map_err(|_| NodeSpecError::Via(via.to_owned())));
        Ok((network("routes.to", &self.to)?, via.transpose()?))
    }
}

/// Checks routes: each can be read, and no network is there twice.
///
/// # Errors
/// The first that is wrong.
pub fn check_routes(routes: &[Route]) -> Result<(), NodeSpecError> {
    few("routes", routes.len())?;
    let mut networks = Vec::new();
    for route in routes {
        let (to, _) = route.parse()?;
        if networks.contains(&to) {
            return Err(NodeSpecError::Twice(to));
        }
        networks.push(to);
    }
    Ok(())
}

impl NodeSpec {
    /// The internal networks, if they are given.
    ///
    /// # Errors
    /// One is not a canonical CIDR.
    pub fn internal(&self) -> Result<Option<Vec<Ipv4Net>>, NodeSpecError> {
        let read = |list: &Vec<String>| list.iter().map(|text| network("internal", text)).collect();
        self.internal.as_ref().map(read).transpose()
    }

    /// Checks the fields by themselves and against each other.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn check(&self) -> Result<(), NodeSpecError> {
        check_routes(&self.routes)?;
        let internal = self.internal()?.unwrap_or_default();
        few("internal", internal.len())?;
        for route in &self.routes {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(routes: &[(&str, Option<&str>)], internal: &[&str]) -> NodeSpec {
        NodeSpec {
            routes: routes
                .iter()
                .map(|(to, via)| Route {
                    to: (*to).to_owned(),
                    via: via.map(str::to_owned),
                    optional: false,
                })
                .collect(),
            internal: Some(internal.iter().map(|text| (*text).to_owned()).collect()),
        }
    }

    #[test]
    fn internal_networks_are_holes_in_routes_and_not_the_other_way_around() {
        assert_eq!(
            spec(&[("0.0.0.0/0", None)], &["10.0.0.0/8"]).check(),
            Ok(())
        );
        let error = spec(&[("10.1.0.0/16", None)], &["10.0.0.0/8"]).check();
        assert!(
            matches!(error, Err(NodeSpecError::Internal { .. })),
            "{error:?}"
        );
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (to, via) in [
            ("198.51.100.1/24", None),
            ("2001:db8::/32", None),
            ("198.51.100.0", None),
            ("198.51.100.0/24", Some("gateway")),
            ("198.51.100.0/24", Some("2001:db8::1")),
        ] {
            assert!(spec(&[(to, via)], &[]).check().is_err(), "{to} {via:?}");
        }
        let twice = spec(
            &[("0.0.0.0/0", None), ("0.0.0.0/0", Some("203.0.113.200"))],
            &[],
        );
        assert!(matches!(twice.check(), Err(NodeSpecError::Twice(_))));
        let many: Vec<_> = (0..65).map(|at| format!("198.51.100.{at}/32")).collect();
        let many: Vec<_> = many.iter().map(|to| (to.as_str(), None)).collect();
        assert!(matches!(
            spec(&many, &[]).check(),
            Err(NodeSpecError::TooMany { .. })
        ));
    }
}
