//! From the kinds of the API to the objects of the node part.

use k8s_openapi::api::core::v1::Pod as KubePod;

use super::objects::{Claim, Ip, NodeBlock, NodeSpec, Pod, Probe, Route};
use crate::api::{self, IpBlock, names};

/// A block. A `spec.node` that cannot be read counts as none, and so does a probe: admission refuses both.
#[must_use]
pub fn block(object: &IpBlock) -> NodeBlock {
    let node = object.spec.node.as_ref().and_then(|node| {
        node.check_networks().ok()?;
        Some(NodeSpec {
            routes: routes(&node.routes),
            internal: node.internal().ok()?,
            probe: node.probe.as_ref().and_then(probe),
        })
    });
    NodeBlock {
        subnets: object.subnet_cidrs(),
        node,
    }
}

fn probe(probe: &api::Probe) -> Option<Probe> {
    probe.target().ok()?;
    Some(Probe {
        target: probe.target.clone(),
        interval: probe.interval().ok()?,
    })
}

fn routes(routes: &[api::Route]) -> Vec<Route> {
    let read = |route: &api::Route| {
        let (to, via) = route.parse().ok()?;
        let optional = route.optional;
        Some(Route { to, via, optional })
    };
    routes.iter().filter_map(read).collect()
}

/// An IP.
#[must_use]
pub fn ip(object: &api::Ip) -> Ip {
    let status = object.status.as_ref();
    let block = status.and_then(|status| status.block.clone());
    Ip {
        block: block.or_else(|| object.spec.block.clone()),
        routes: routes(&object.spec.routes),
        claim: status.and_then(claim),
    }
}

fn claim(status: &api::IpStatus) -> Option<Claim> {
    Some(Claim {
        id: status.present_claim()?,
        address: status.address.as_ref()?.parse().ok()?,
        pod: status.pod_uid.clone()?,
        node: status.node.clone()?,
        assigned: status.assigned,
        mac: status.mac_address.as_ref().and_then(|mac| mac.parse().ok()),
    })
}

/// An annotated pod by its UID. None: it has ended, and its address can be another pod's.
#[must_use]
pub fn pod(object: &KubePod) -> Option<(String, Pod)> {
    let labels = object.metadata.labels.as_ref()?;
    let status = object.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref());
    if matches!(phase, Some("Succeeded" | "Failed")) {
        return None;
    }
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    let spec = object.spec.as_ref();
    let pod = Pod {
        name: format!("{namespace}/{name}"),
        wants: labels.get(names::IP_LABEL)?.clone(),
        address: status
            .and_then(|status| status.pod_ip.as_ref())
            .and_then(|address| address.parse().ok()),
        host_network: spec.and_then(|spec| spec.host_network) == Some(true),
    };
    Some((object.metadata.uid.clone()?, pod))
}
