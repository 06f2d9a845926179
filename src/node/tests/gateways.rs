//! The gateways of several addresses on one ENI, which has one route table.

use std::net::Ipv4Addr;

use super::kernel::settle;
use super::scenes::{kernel, objects, with};
use crate::node::desired::{Desired, State, desired};
use crate::node::objects::{Objects, Route};
use crate::node::settings::NodeSettings;
use crate::node::state::{KernelState, NextHop};

const SUBNET_GATEWAY: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 200);

/// Two pods with addresses on one ENI.
fn two() -> Objects {
    with(with(objects(), 1, 1, false), 2, 1, false)
}

/// Adds a route to the IP.
fn route(mut objects: Objects, ip: &str, to: &str, via: Option<Ipv4Addr>) -> Objects {
    let to = to.parse().unwrap();
    let optional = false;
    let routes = &mut objects.ips.get_mut(ip).unwrap().routes;
    routes.push(Route { to, via, optional });
    objects
}

fn desire(objects: &Objects, kernel: &KernelState) -> Desired {
    desired(objects, kernel, &NodeSettings::default())
}

fn states(objects: &Objects, kernel: &KernelState) -> [State; 2] {
    let desired = desire(objects, kernel);
    ["ip-1", "ip-2"].map(|ip| desired.reports[ip].state)
}

const BOTH: [State; 2] = [State::Programmed; 2];
const ONLY_FIRST: [State; 2] = [State::Programmed, State::Failed];
const ONLY_SECOND: [State; 2] = [State::Failed, State::Programmed];

#[test]
fn another_gateway_for_an_overlapping_network_is_refused() {
    let first = route(two(), "ip-1", "192.0.2.0/24", Some(GATEWAY));
    for to in ["192.0.2.0/24", "192.0.2.128/25", "0.0.0.0/0"] {
        let objects = route(first.clone(), "ip-2", to, None);
        assert_eq!(states(&objects, &kernel()), ONLY_FIRST, "{to}");
        let message = &desire(&objects, &kernel()).reports["ip-2"].message;
        for part in [
            "by 203.0.113.1 here",
            "by 203.0.113.200 for the IP ip-1",
            "via",
        ] {
            assert!(message.contains(part), "{part}: {message}");
        }
    }
    let elsewhere = route(first.clone(), "ip-2", "192.0.3.0/24", None);
    assert_eq!(states(&elsewhere, &kernel()), BOTH);
    // The most specific route of each IP counts.
    let same = route(first, "ip-2", "0.0.0.0/0", None);
    let same = route(same, "ip-2", "192.0.2.0/24", Some(GATEWAY));
    assert_eq!(states(&same, &kernel()), BOTH);
    // On two interfaces there are two tables.
    let apart = with(with(objects(), 1, 1, false), 2, 2, false);
    let apart = route(apart, "ip-1", "192.0.2.0/24", Some(GATEWAY));
    let apart = route(apart, "ip-2", "192.0.2.0/24", None);
    assert_eq!(states(&apart, &kernel()), BOTH);
}

#[test]
fn another_gateway_for_everything_is_refused_beside_an_ip_that_names_none() {
    let everything = route(two(), "ip-1", "0.0.0.0/0", Some(GATEWAY));
    assert_eq!(states(&everything, &kernel()), ONLY_FIRST);
    let subnet = route(two(), "ip-1", "0.0.0.0/0", Some(SUBNET_GATEWAY));
    assert_eq!(states(&subnet, &kernel()), BOTH);
}

#[test]
fn a_refused_route_concerns_only_the_addresses_that_use_it() {
    let objects = route(two(), "ip-1", "192.0.2.0/24", Some(GATEWAY));
    let desired = desire(&objects, &kernel());
    let uses = |ip: &str, to: &str, via| {
        let mut addresses = desired.addresses.values();
        let address = addresses.find(|address| address.ip == ip).unwrap();
        address.uses(to.parse().unwrap(), via)
    };
    assert!(uses("ip-1", "192.0.2.0/24", GATEWAY));
    assert!(!uses("ip-2", "192.0.2.0/24", GATEWAY));
    for ip in ["ip-1", "ip-2"] {
        assert!(uses(ip, "0.0.0.0/0", SUBNET_GATEWAY), "{ip}");
        assert!(!uses(ip, "0.0.0.0/0", GATEWAY), "{ip}");
    }
}

#[test]
fn an_address_that_works_is_not_taken_down_by_another_one() {
    let mut kernel = kernel();
    let second = route(with(objects(), 2, 1, false), "ip-2", "192.0.2.0/24", None);
    settle(&second, &mut kernel);
    let both = with(second, 1, 1, false);
    let both = route(both, "ip-1", "192.0.2.0/24", Some(GATEWAY));
    assert_eq!(states(&both, &kernel), ONLY_SECOND);
    // Also when another program deletes the table.
    let mut flushed = KernelState {
        table: None,
        ..kernel.clone()
    };
    flushed.read_stored();
    assert_eq!(states(&both, &flushed), ONLY_FIRST);
    flushed.keep_stored(&kernel);
    assert_eq!(states(&both, &flushed), ONLY_SECOND);
}

#[test]
fn a_route_without_a_gateway_goes_by_that_of_the_subnet() {
    let mut kernel = kernel();
    let nested = route(
        with(objects(), 1, 1, false),
        "ip-1",
        "192.0.2.0/24",
        Some(GATEWAY),
    );
    settle(&route(nested, "ip-1", "192.0.2.128/25", None), &mut kernel);
    let via = |to: &str| {
        let to = to.parse().unwrap();
        let found = kernel.routes.iter().find(|route| route.to == to);
        found.unwrap().via
    };
    assert_eq!(via("192.0.2.0/24"), NextHop::Gateway(GATEWAY));
    assert_eq!(via("192.0.2.128/25"), NextHop::Gateway(SUBNET_GATEWAY));
}
