//! The desired state: which addresses are programmed, for which pod and on which interface, and which pods have
//! their packets dropped until then. A pure function of objects and interfaces.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use mooring_plan::address::Cidr;
use mooring_plan::ec2::router;

pub use super::address::{Address, Endpoint};
use super::conflict::conflict;
use super::destinations::Destinations;
use super::link_checks::{check, check_reverse_path};
use super::objects::{Claim, Ip, NodeBlock, NodeSpec, Objects, Pod, Route};
pub use super::obstacle::State;
use super::obstacle::{
    Bypass, Obstacle, bypass, diverted, failed, no_slot, only_ipv6, waiting, without_route,
};
use super::settings::NodeSettings;
use super::state::KernelState;
use crate::api::internal_by_default;

/// The desired state of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Desired {
    /// Whether any block uses the node part. If not, everything that Mooring added is removed from the kernel.
    pub enabled: bool,
    /// Programmed addresses, by static address.
    pub addresses: BTreeMap<Ipv4Addr, Address>,
    /// Closed pods, by pod address, with the destinations that decide which packets are dropped.
    pub closed: BTreeMap<Ipv4Addr, Destinations>,
    /// The report for each IP, by name. It is valid if the kernel accepts all changes.
    pub reports: BTreeMap<String, Report>,
}

impl Desired {
    /// The pod addresses from which the node part opens probe connections.
    pub fn probed_pods(&self) -> impl Iterator<Item = (&Ipv4Addr, &Address)> {
        self.addresses.iter().filter(|(_, to)| to.is_probed())
    }
}

/// What the status of the `IPNode` reports about one IP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The static address.
    pub address: Ipv4Addr,
    /// The UID of the pod that the claim names.
    pub pod: String,
    /// The id of the claim.
    pub claim: String,
    /// How far the programming is.
    pub state: State,
    /// What is missing and what to do. Empty if nothing is missing.
    pub message: String,
}

impl Report {
    fn of(claim: &Claim, state: State, message: String) -> Self {
        Self {
            address: claim.address,
            pod: claim.pod.clone(),
            claim: claim.id.clone(),
            state,
            message,
        }
    }
}

/// Computes the desired state.
#[must_use]
pub fn desired(objects: &Objects, kernel: &KernelState, settings: &NodeSettings) -> Desired {
    let opted: Vec<(&NodeBlock, &NodeSpec)> = objects
        .blocks
        .values()
        .filter_map(|block| Some((block, block.node.as_ref()?)))
        .collect();
    let mut desired = Desired {
        enabled: !opted.is_empty(),
        ..Desired::default()
    };
    let bypass = bypass(kernel, settings);
    let mut candidates = Vec::new();
    for (name, ip, claim, (block, node)) in claims(objects) {
        let address = is_supported(claim, objects, kernel, bypass)
            .and_then(|()| program(name, ip, claim, (block, node), objects, kernel));
        match address {
            Ok(address) => candidates.push((claim, address)),
            Err(obstacle) => {
                let report = Report::of(claim, obstacle.state, obstacle.message);
                desired.reports.insert(name.clone(), report);
            }
        }
    }
    // An address that works stays, also if an IP with an earlier name conflicts with it.
    candidates
        .sort_by_cached_key(|(claim, address)| !kernel.is_programmed(claim.address, address.mac));
    let mut interfaces = BTreeSet::new();
    let slots = settings.slots().count();
    for (claim, address) in candidates {
        let obstacle = conflict(&address, desired.addresses.values()).or_else(|| {
            let full = interfaces.len() >= slots && !interfaces.contains(&address.mac);
            full.then(|| no_slot(slots))
        });
        let (state, message) = match obstacle {
            None => (State::Programmed, String::new()),
            Some(obstacle) => (obstacle.state, obstacle.message),
        };
        let report = Report::of(claim, state, message);
        desired.reports.insert(address.ip.clone(), report);
        if state == State::Programmed {
            interfaces.insert(address.mac);
            desired.addresses.insert(claim.address, address);
        }
    }
    close(objects, &opted, kernel, &mut desired);
    desired
}

/// The reports while the state of the kernel cannot be read: nothing is known about any address.
#[must_use]
pub fn unreadable(objects: &Objects, reason: &str) -> BTreeMap<String, Report> {
    claims(objects)
        .map(|(name, _, claim, _)| {
            let message = format!("the kernel of the node cannot be read: {reason}");
            (name.clone(), Report::of(claim, State::Failed, message))
        })
        .collect()
}

/// The IPs of blocks with `spec.node` that are claimed for this node.
fn claims(
    objects: &Objects,
) -> impl Iterator<Item = (&String, &Ip, &Claim, (&NodeBlock, &NodeSpec))> {
    objects.ips.iter().filter_map(|(name, ip)| {
        let claim = ip.claim.as_ref()?;
        let block = opted_block(objects, ip)?;
        (claim.node == objects.node).then_some((name, ip, claim, block))
    })
}

fn opted_block<'a>(objects: &'a Objects, ip: &Ip) -> Option<(&'a NodeBlock, &'a NodeSpec)> {
    let block = objects.blocks.get(ip.block.as_ref()?)?;
    Some((block, block.node.as_ref()?))
}

/// Closes annotated pods without a programmed address: their packets to the partners are dropped. While the IP of
/// a pod is not known, the partners of all blocks are used.
fn close(
    objects: &Objects,
    opted: &[(&NodeBlock, &NodeSpec)],
    kernel: &KernelState,
    desired: &mut Desired,
) {
    let programmed: BTreeSet<Ipv4Addr> = desired
        .addresses
        .values()
        .filter_map(|address| match address.endpoint {
            Endpoint::Pod(pod) => Some(pod),
            Endpoint::Host => None,
        })
        .collect();
    let of_block = |(block, node): &(&NodeBlock, &NodeSpec)| destinations(block, node, &[]);
    let unknown = Destinations::any_of(opted.iter().map(of_block));
    for pod in objects.pods.values() {
        // An address of the node itself is never closed, even if a pod reports it in its status.
        let Some(address) = pod
            .ipv4()
            .filter(|address| !pod.host_network && !kernel.is_local(*address))
        else {
            continue;
        };
        if programmed.contains(&address) {
            continue;
        }
        let destinations = match objects.ips.get(&pod.wants) {
            Some(ip) if ip.block.is_some() => match opted_block(objects, ip) {
                Some((block, node)) => destinations(block, node, &ip.routes),
                None => continue,
            },
            _ => unknown.clone(),
        };
        if !destinations.required.is_empty() {
            desired.closed.insert(address, destinations);
        }
    }
}

fn internal(block: &NodeBlock, node: &NodeSpec) -> Vec<Ipv4Net> {
    node.internal
        .clone()
        .unwrap_or_else(|| internal_by_default(&block.subnets))
}

fn destinations(block: &NodeBlock, node: &NodeSpec, more: &[Route]) -> Destinations {
    Destinations::new(internal(block, node), node.routes.iter().chain(more))
}

/// This cannot change while the pod exists, so it is reported before obstacles that can still go away.
fn is_supported(
    claim: &Claim,
    objects: &Objects,
    kernel: &KernelState,
    bypass: Option<Bypass>,
) -> Result<(), Obstacle> {
    let pod = objects.pods.get(&claim.pod);
    let Some(pod) = pod.filter(|pod| !pod.host_network) else {
        return Ok(());
    };
    if let Some(obstacle) = bypass {
        return Err(obstacle(&pod.name));
    }
    if pod.has_only_ipv6() {
        return Err(only_ipv6(&pod.name));
    }
    match pod.ipv4() {
        Some(address) if kernel.diverted.contains(&address) => Err(diverted(&pod.name)),
        // The way back to the pod would be an interface that all pods share (see the chain `connections`).
        Some(address) if kernel.has_cilium() && !kernel.single_routes.contains(&address) => {
            Err(without_route(&pod.name))
        }
        _ => Ok(()),
    }
}

fn program(
    name: &str,
    ip: &Ip,
    claim: &Claim,
    (block, node): (&NodeBlock, &NodeSpec),
    objects: &Objects,
    kernel: &KernelState,
) -> Result<Address, Obstacle> {
    if !claim.assigned {
        return Err(waiting(
            "EC2 has not confirmed the address on this node".to_owned(),
        ));
    }
    let pod = objects.pods.get(&claim.pod).ok_or_else(|| {
        waiting(format!(
            "the pod with UID {} is not seen on this node",
            claim.pod
        ))
    })?;
    let mac = claim.mac.ok_or_else(|| {
        waiting("the IP's status has no MAC of the network interface yet".to_owned())
    })?;
    let (index, link) = kernel.indexed_by_mac(mac).map_err(|found| {
        waiting(match found {
            0 => format!("no network interface of this node has the MAC {mac}"),
            _ => format!("{found} network interfaces of this node have the MAC {mac}"),
        })
    })?;
    check(link)?;
    // A program with hostNetwork has its address on the interface.
    if !pod.host_network {
        check_reverse_path(index, link, kernel)?;
    }
    let subnet = block
        .subnets
        .iter()
        .find(|subnet| subnet.contains(&claim.address));
    let subnet = subnet.ok_or_else(|| {
        waiting(format!(
            "no CIDR of the block's subnet is known that has {}",
            claim.address
        ))
    })?;
    let gateway = router(Cidr::v4(*subnet)).ipv4();
    let routes = || node.routes.iter().chain(&ip.routes);
    let mut gateways: BTreeMap<_, _> = routes().map(|route| (route.to, gateway)).collect();
    gateways.extend(routes().filter_map(|route| Some((route.to, route.via?))));
    Ok(Address {
        ip: name.to_owned(),
        mac,
        endpoint: endpoint(pod, kernel)?,
        destinations: destinations(block, node, &ip.routes),
        subnet: *subnet,
        gateway,
        gateways,
        probe: node.probe.clone(),
    })
}

fn endpoint(pod: &Pod, kernel: &KernelState) -> Result<Endpoint, Obstacle> {
    if pod.host_network {
        return Ok(Endpoint::Host);
    }
    let address = pod
        .ipv4()
        .ok_or_else(|| waiting(format!("the pod {} has no address yet", pod.name)))?;
    if kernel.is_local(address) {
        return Err(failed(format!(
            "{address} of the pod {} is an address of the node itself",
            pod.name
        )));
    }
    Ok(Endpoint::Pod(address))
}
