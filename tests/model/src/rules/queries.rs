//! Queries that several rules use.

use std::net::Ipv4Addr;

use mooring_plan::names::InterfaceId;
use mooring_plan::objects::{Claim, Ip, IpStatus, Pod};

use crate::world::kube::Kube;

/// Does the status explain the address on that interface?
pub fn explains(status: &IpStatus, address: Ipv4Addr, interface: &InterfaceId) -> bool {
    let target = status.claim.as_ref().and_then(Claim::target);
    status.address == Some(address)
        && target.is_some_and(|target| &target.place.interface == interface)
        || status
            .previous
            .iter()
            .any(|entry| entry.address == address && &entry.interface == interface)
}

/// The pods whose condition says that they have the address of this IP.
pub fn says_attached<'a>(kube: &'a Kube, ip: &'a Ip) -> impl Iterator<Item = &'a Pod> {
    let of = |pod: &&Pod| pod.ip.as_ref() == Some(&ip.uid) && pod.says_attached();
    kube.pods.values().filter(of)
}
