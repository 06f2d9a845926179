//! Cilium with BPF host routing: the packets of pods bypass netfilter.

use std::net::Ipv4Addr;

use super::scenes::{kernel, mac, objects, with};
use crate::node::desired::{Desired, Endpoint, State, desired};
use crate::node::objects::Objects;
use crate::node::settings::NodeSettings;
use crate::node::state::KernelState;

/// A pod with its own address, and a pod with `hostNetwork`.
fn two_pods() -> Objects {
    with(with(objects(), 1, 1, false), 2, 1, true)
}

fn with_cilium() -> KernelState {
    let mut kernel = kernel();
    let mut link = kernel.links[&1].clone();
    link.name = "cilium_host".to_owned();
    link.mac = Some(mac(9));
    kernel.links.insert(9, link);
    kernel
}

fn state(desired: &Desired, ip: &str) -> State {
    desired.reports[ip].state
}

fn endpoints(desired: &Desired) -> Vec<Endpoint> {
    let addresses = desired.addresses.values();
    addresses.map(|address| address.endpoint).collect()
}

#[test]
fn only_host_network_is_programmed_with_cilium() {
    let desired = desired(&two_pods(), &with_cilium(), &NodeSettings::default());
    assert_eq!(state(&desired, "ip-1"), State::Unsupported);
    assert_eq!(state(&desired, "ip-2"), State::Programmed);
    assert_eq!(endpoints(&desired), [Endpoint::Host]);
    let message = &desired.reports["ip-1"].message;
    for part in [
        "default/pod-1",
        "bypasses netfilter",
        "hostNetwork",
        "bpf.hostLegacyRouting=true",
        "endpointRoutes.enabled=true",
        "--cilium-legacy-routing",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn the_guard_closes_the_pod_with_cilium_too() {
    let desired = desired(&two_pods(), &with_cilium(), &NodeSettings::default());
    let closed: Vec<_> = desired.closed.keys().copied().collect();
    assert_eq!(closed, [Ipv4Addr::new(10, 77, 9, 1)]);
}

#[test]
fn unsupported_is_reported_before_transient_reasons() {
    let mut objects = two_pods();
    objects.pods.get_mut("uid-1").unwrap().addresses.clear();
    let claim = objects.ips.get_mut("ip-1").unwrap().claim.as_mut();
    claim.unwrap().assigned = false;
    let desired = desired(&objects, &with_cilium(), &NodeSettings::default());
    assert_eq!(state(&desired, "ip-1"), State::Unsupported);
}

#[test]
fn pod_and_host_are_programmed_without_cilium_or_with_legacy_routing() {
    let both = [Endpoint::Pod(Ipv4Addr::new(10, 77, 9, 1)), Endpoint::Host];
    let mut cilium = with_cilium();
    cilium.single_routes.insert(Ipv4Addr::new(10, 77, 9, 1));
    for (kernel, settings) in [(kernel(), NodeSettings::default()), (cilium, legacy())] {
        assert_eq!(endpoints(&desired(&two_pods(), &kernel, &settings)), both);
    }
}

fn legacy() -> NodeSettings {
    let settings = NodeSettings::new(0x0000_3000, 600, 10_600).unwrap();
    settings.with_cilium_legacy_routing(true).unwrap()
}

/// What such a pod sends would be dropped, because the way back to it is an interface that all pods share.
#[test]
fn with_legacy_routing_a_pod_without_a_route_of_its_own_is_unsupported() {
    let mut kernel = with_cilium();
    kernel.single_routes.insert(Ipv4Addr::new(10, 77, 9, 7));
    let desired = desired(&two_pods(), &kernel, &legacy());
    assert_eq!(state(&desired, "ip-1"), State::Unsupported);
    assert_eq!(endpoints(&desired), [Endpoint::Host]);
    let message = &desired.reports["ip-1"].message;
    assert!(message.contains("endpointRoutes.enabled=true"), "{message}");
}

#[test]
fn with_legacy_routing_a_pod_without_an_address_yet_waits() {
    let mut objects = two_pods();
    objects.pods.get_mut("uid-1").unwrap().addresses.clear();
    let desired = desired(&objects, &with_cilium(), &legacy());
    assert_eq!(state(&desired, "ip-1"), State::Waiting);
}
