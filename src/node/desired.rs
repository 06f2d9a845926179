//! The desired state: which addresses are programmed, for which pod, on which interface; and whose
//! packets are dropped until then. A pure function of objects and interfaces.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::destinations::Destinations;
use super::objects::{Claim, Ip, Mac, NodeBlock, NodeSpec, Objects, Pod, Probe, Route};
pub use super::obstacle::State;
use super::obstacle::{Obstacle, bypassed, failed, waiting};
use super::settings::NodeSettings;
use super::state::{KernelState, Link};
use crate::api::internal_by_default;

/// What the kernel is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Desired {
    /// Whether any block asks for the node part. If not, nothing of ours stays in the kernel.
    pub enabled: bool,
    /// Programmed addresses.
    pub addresses: BTreeMap<Ipv4Addr, Address>,
    /// Pods, by their own address, whose packets to the partners are dropped.
    pub closed: BTreeMap<Ipv4Addr, Destinations>,
    /// What is said about each IP, by name, if the kernel does what is asked.
    pub reports: BTreeMap<String, Report>,
}

/// One programmed address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The name of the IP.
    pub ip: String,
    /// The ENI.
    pub mac: Mac,
    /// Where the program runs.
    pub endpoint: Endpoint,
    /// Where the pod's packets leave with the address.
    pub destinations: Destinations,
    /// The CIDR of the subnet that the address lies in.
    pub subnet: Ipv4Net,
    /// The gateway of the subnet.
    pub gateway: Ipv4Addr,
    /// Networks that are reached by another gateway.
    pub gateways: BTreeMap<Ipv4Net, Ipv4Addr>,
    /// The target that the node part asks which source address it sees.
    pub probe: Option<Probe>,
}

impl Desired {
    /// The addresses of pods that the node part itself opens connections from.
    pub fn probed_pods(&self) -> impl Iterator<Item = (&Ipv4Addr, &Address)> {
        let of_pod = |to: &Address| matches!(to.endpoint, Endpoint::Pod(_));
        let probed = move |(_, to): &(&Ipv4Addr, &Address)| to.probe.is_some() && of_pod(to);
        self.addresses.iter().filter(probed)
    }
}

/// Where the program that has the address runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// In the network namespace of the node: it binds the address.
    Host,
    /// In a pod with an address of its own: the node translates.
    Pod(Ipv4Addr),
}

/// What is said about an IP in the `IPNode`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The address.
    pub address: Ipv4Addr,
    /// The UID of the pod.
    pub pod: String,
    /// The claim.
    pub claim: String,
    /// How far it is.
    pub state: State,
    /// What is missing, and what to do. Empty if nothing is.
    pub message: String,
}

/// The desired state.
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
    let bypass = kernel.has_cilium() && !settings.cilium_legacy_routing();
    for (name, ip) in &objects.ips {
        let (Some(claim), Some((block, node))) = (&ip.claim, opted_block(objects, ip)) else {
            continue;
        };
        if claim.node != objects.node {
            continue;
        }
        let programmed = passes_netfilter(claim, objects, bypass)
            .and_then(|()| program(name, ip, claim, (block, node), objects, kernel))
            .and_then(|address| without_conflict(address, &desired));
        let (state, message) = match programmed {
            Ok(address) => {
                desired.addresses.insert(claim.address, address);
                (State::Programmed, String::new())
            }
            Err(obstacle) => (obstacle.state, obstacle.message),
        };
        desired.reports.insert(
            name.clone(),
            Report {
                address: claim.address,
                pod: claim.pod.clone(),
                claim: claim.id.clone(),
                state,
                message,
            },
        );
    }
    close(objects, &opted, kernel, &mut desired);
    desired
}

fn opted_block<'a>(objects: &'a Objects, ip: &Ip) -> Option<(&'a NodeBlock, &'a NodeSpec)> {
    let block = objects.blocks.get(ip.block.as_ref()?)?;
    Some((block, block.node.as_ref()?))
}

/// Drops what annotated pods without a programmed address send to the partners. While the IP of a pod is not
/// known, the partners of every block count.
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
    for pod in objects.pods.values() {
        // An address of the node itself is never closed, whatever a pod's status says.
        let Some(address) = pod
            .address
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
            _ => Destinations::new(
                opted.iter().flat_map(|(block, node)| internal(block, node)),
                opted.iter().flat_map(|(_, node)| &node.routes),
            ),
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

/// It does not change while the pod lives, so it is reported before what can still come.
fn passes_netfilter(claim: &Claim, objects: &Objects, bypass: bool) -> Result<(), Obstacle> {
    match objects.pods.get(&claim.pod) {
        Some(pod) if bypass && !pod.host_network => Err(bypassed(&pod.name)),
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
    let link = kernel.link_by_mac(mac).map_err(|found| {
        waiting(match found {
            0 => format!("no network interface of this node has the MAC {mac}"),
            _ => format!("{found} network interfaces of this node have the MAC {mac}"),
        })
    })?;
    check(link)?;
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
    // The VPC's router is the first address after the network's own (VPC User Guide, "Subnet CIDR blocks").
    let gateway = Ipv4Addr::from(u32::from(subnet.network()).saturating_add(1));
    let gateways = node
        .routes
        .iter()
        .chain(&ip.routes)
        .filter_map(|route| Some((route.to, route.via?)))
        .collect();
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

fn check(link: &Link) -> Result<(), Obstacle> {
    if !link.up {
        return Err(failed(format!(
            "the network interface {} is down: bring it up",
            link.name
        )));
    }
    if !link.forwarding {
        return Err(failed(format!(
            "{} does not forward packets: set net.ipv4.conf.{}.forwarding to 1, as CNIs do",
            link.name, link.name
        )));
    }
    Ok(())
}

fn endpoint(pod: &Pod, kernel: &KernelState) -> Result<Endpoint, Obstacle> {
    if pod.host_network {
        return Ok(Endpoint::Host);
    }
    let address = pod
        .address
        .ok_or_else(|| waiting(format!("the pod {} has no address yet", pod.name)))?;
    if kernel.is_local(address) {
        return Err(failed(format!(
            "{address} of the pod {} is an address of the node itself",
            pod.name
        )));
    }
    Ok(Endpoint::Pod(address))
}

/// There is one route table for an ENI: two IPs cannot reach one network by two gateways. And one pod has one
/// address.
fn without_conflict(address: Address, desired: &Desired) -> Result<Address, Obstacle> {
    for other in desired.addresses.values() {
        if matches!(address.endpoint, Endpoint::Pod(_)) && other.endpoint == address.endpoint {
            return Err(failed(format!(
                "the pod has the address of the IP {} already",
                other.ip
            )));
        }
        if other.mac != address.mac {
            continue;
        }
        for (to, via) in &address.gateways {
            if let Some(elsewhere) = other.gateways.get(to).filter(|other| *other != via) {
                return Err(failed(format!(
                    "{to} goes by {via} here and by {elsewhere} for the IP {}: use one gateway",
                    other.ip
                )));
            }
        }
    }
    Ok(address)
}
