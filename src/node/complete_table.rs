//! A table that contains every kind of rule. The node part uses it to check what nft and the kernel support.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use ipnet::Ipv4Net;

use super::desired::{Address, Desired, Endpoint};
use super::destinations::Destinations;
use super::objects::{Mac, Probe};
use super::ruleset::table;
use super::settings::NodeSettings;
use super::slots::slots;
use super::state::{KernelState, Link};
use super::table::Table;

/// Returns a table that contains every kind of rule.
#[must_use]
pub(super) fn complete(settings: &NodeSettings) -> Table {
    let one = Ipv4Addr::LOCALHOST;
    let mac = Mac([2, 0, 0, 0, 0, 0]);
    let networks = vec![Ipv4Net::default()];
    let destinations = Destinations {
        internal: vec![Ipv4Net::from(one)],
        routes: networks.clone(),
        required: networks,
    };
    let to = |endpoint| Address {
        ip: String::new(),
        mac,
        endpoint,
        destinations: destinations.clone(),
        subnet: Ipv4Net::from(one),
        gateway: one,
        gateways: BTreeMap::new(),
        probe: Some(Probe {
            target: String::new(),
            interval: Duration::MAX,
        }),
    };
    let desired = Desired {
        enabled: true,
        addresses: BTreeMap::from([
            (one, to(Endpoint::Pod(one))),
            (Ipv4Addr::BROADCAST, to(Endpoint::Host)),
        ]),
        closed: BTreeMap::from([(Ipv4Addr::UNSPECIFIED, destinations.clone())]),
        ..Desired::default()
    };
    let link = Link {
        name: "eth0".to_owned(),
        mac: Some(mac),
        own_mac: true,
        up: true,
        forwarding: true,
        rp_filter: 2,
    };
    let kernel = KernelState {
        links: BTreeMap::from([(1, link)]),
        ..KernelState::default()
    };
    let reverse_path = BTreeMap::from([("eth0".to_owned(), 1)]);
    table(
        &desired,
        &kernel,
        &slots(&desired, &kernel, settings),
        &reverse_path,
        settings,
    )
}
