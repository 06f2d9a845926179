//! Addresses that cannot be programmed together.

use std::collections::BTreeMap;
use std::iter::successors;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::address::{Address, Endpoint};
use super::obstacle::{Obstacle, failed};

/// The first conflict of an address with those that are programmed. One ENI has one route table, so two IPs cannot reach
/// the same network by different gateways. One pod has at most one static address.
pub(super) fn conflict<'a>(
    address: &Address,
    others: impl IntoIterator<Item = &'a Address>,
) -> Option<Obstacle> {
    others.into_iter().find_map(|other| {
        if matches!(address.endpoint, Endpoint::Pod(_)) && other.endpoint == address.endpoint {
            return Some(failed(format!(
                "the pod has the address of the IP {} already",
                other.ip
            )));
        }
        if other.mac != address.mac {
            return None;
        }
        let (to, here, there) = difference(address, other)?;
        Some(failed(format!(
            "{to} goes by {here} here and by {there} for the IP {} on the same network interface: give both the same \
             gateway (via)",
            other.ip
        )))
    })
}

/// The first network that both reach, by different gateways.
fn difference(one: &Address, other: &Address) -> Option<(Ipv4Net, Ipv4Addr, Ipv4Addr)> {
    let (one_default, other_default) = (one.default_gateway(), other.default_gateway());
    let (one, other) = (&one.gateways, &other.gateways);
    // The IPs of a block mostly have the same routes.
    if one == other {
        return None;
    }
    // Answers leave by the default route, also those of an IP that does not name it.
    let everything = Ipv4Net::default();
    let named = one.contains_key(&everything) || other.contains_key(&everything);
    if named && one_default != other_default {
        return Some((everything, one_default, other_default));
    }
    one.keys().chain(other.keys()).find_map(|network| {
        let (here, there) = (gateway(one, *network)?, gateway(other, *network)?);
        (here != there).then_some((*network, here, there))
    })
}

/// The gateway of the most specific route that has the whole network.
fn gateway(gateways: &BTreeMap<Ipv4Net, Ipv4Addr>, network: Ipv4Net) -> Option<Ipv4Addr> {
    let mut wider = successors(Some(network), Ipv4Net::supernet);
    wider.find_map(|wider| gateways.get(&wider).copied())
}
