//! Converts API objects to the objects of the node part.

use kube::api::DynamicObject;
use serde_json::Value;

use super::objects::{Claim, Ip, NodeBlock, NodeSpec, Pod, Probe, Route};
use crate::api::read::{FieldMask, Fields};
use crate::api::{self, IpBlock, names};

/// Selects the fields of a pod that are read.
#[derive(Clone, Copy, Debug)]
pub enum PodAddressFields {}

impl Fields for PodAddressFields {
    const MASK: &'static [(&'static str, FieldMask)] = &[
        (
            "spec",
            FieldMask::Fields(&[("hostNetwork", FieldMask::All)]),
        ),
        (
            "status",
            FieldMask::Fields(&[("phase", FieldMask::All), ("podIPs", FieldMask::All)]),
        ),
    ];
}

/// Reads a block. A part of `spec.node` that cannot be parsed counts as absent: admission refuses it. The other parts stay
/// valid, because without `spec.node` the pods of the block would be open.
#[must_use]
pub fn block(object: &IpBlock) -> NodeBlock {
    let node = object.spec.node.as_ref().map(|node| NodeSpec {
        routes: routes(&node.routes),
        internal: node.internal().ok().flatten(),
        probe: node.probe.as_ref().and_then(probe),
    });
    NodeBlock {
        subnets: object.subnet_networks(),
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

/// Reads an IP.
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

/// Reads an annotated pod: UID and pod. None: the pod has ended, and another pod may have its address now.
#[must_use]
pub fn pod(object: &DynamicObject) -> Option<(String, Pod)> {
    let labels = object.metadata.labels.as_ref()?;
    let status = |field: &str| object.data.get("status")?.get(field);
    let phase = status("phase").and_then(Value::as_str);
    if matches!(phase, Some("Succeeded" | "Failed")) {
        return None;
    }
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    let host_network = object.data.pointer("/spec/hostNetwork");
    // `podIP` is the first of them, which is IPv6 in some dual-stack clusters.
    let listed = status("podIPs").and_then(Value::as_array);
    let address = |entry: &Value| entry.get("ip")?.as_str()?.parse().ok();
    let addresses = listed.into_iter().flatten().filter_map(address);
    let pod = Pod {
        name: format!("{namespace}/{name}"),
        wants: labels.get(names::IP_LABEL)?.clone(),
        addresses: addresses.collect(),
        host_network: host_network.and_then(Value::as_bool) == Some(true),
    };
    Some((object.metadata.uid.clone()?, pod))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_of_a_block_that_admission_refuses_hides_no_other_part() {
        let route = |to: &str, optional| json!({ "to": to, "optional": optional });
        let object: IpBlock = serde_json::from_value(json!({
            "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPBlock", "metadata": {"name": "home"},
            "spec": {"cidr": "203.0.113.0/24", "subnetID": "subnet-1", "node": {
                "routes": [
                    route("198.51.100.0/24", false), route("198.51.100.0/24", true),
                    route("10.1.0.0/16", false), route("192.0.2.1/24", false),
                ],
                "internal": ["10.0.0.0/8"],
                "probe": {"target": "nowhere"},
            }},
        }))
        .unwrap();
        let node = block(&object).node.unwrap();
        let routes: Vec<_> = node.routes.iter().map(|one| one.to.to_string()).collect();
        let readable = ["198.51.100.0/24", "198.51.100.0/24", "10.1.0.0/16"];
        assert_eq!(routes, readable);
        assert_eq!(node.internal, Some(vec!["10.0.0.0/8".parse().unwrap()]));
        assert_eq!(node.probe, None);

        let mut object = object;
        let internal = &mut object.spec.node.as_mut().unwrap().internal;
        *internal = Some(vec!["10.0.0.1/8".to_owned()]);
        assert_eq!(block(&object).node.unwrap().internal, None);
    }
}
