//! The objects of the API server that a node part sees.

use std::collections::BTreeMap;
use std::time::Duration;

use mooring::node::objects::{Claim, Ip, NodeBlock, NodeSpec, Objects, Pod, Probe, Route};
use mooring_cluster::network::{Node, PARTNER, World, X};

/// The objects with only a block that has a route to the network of the partner.
pub fn only_block(node: &str) -> Objects {
    let block = NodeBlock {
        subnets: vec!["203.0.113.0/24".parse().unwrap()],
        node: Some(NodeSpec {
            routes: vec![route("198.51.100.0/24", None)],
            internal: None,
            probe: None,
        }),
    };
    Objects {
        node: node.to_owned(),
        blocks: BTreeMap::from([("partners".to_owned(), block)]),
        ..Objects::default()
    }
}

pub fn route(to: &str, via: Option<&str>) -> Route {
    Route {
        to: to.parse().unwrap(),
        via: via.map(|via| via.parse().unwrap()),
        optional: false,
    }
}

/// Adds a probe with a very short interval.
pub fn with_probe(mut objects: Objects, target: &str) -> Objects {
    for block in objects.blocks.values_mut() {
        block.node.as_mut().unwrap().probe = Some(Probe {
            target: target.to_owned(),
            interval: Duration::from_millis(20),
        });
    }
    objects
}

/// Adds a pod that asks for the IP `ip`.
pub fn with_pod(mut objects: Objects, pod: &str, address: Option<&str>, ip: &str) -> Objects {
    objects.pods.insert(
        format!("uid-{pod}"),
        Pod {
            name: format!("default/{pod}"),
            wants: ip.to_owned(),
            addresses: address
                .map(|address| address.parse().unwrap())
                .into_iter()
                .collect(),
            host_network: address.is_none(),
        },
    );
    objects
}

/// Adds an IP with a recorded claim: its address is on the second ENI of a node, for a pod.
pub fn with_ip(objects: Objects, node: Node<'_>, ip: &str, address: &str, pod: &str) -> Objects {
    let mac = node.world.mac(node.name, "eth1");
    claimed(objects, node.name, &mac, ip, address, pod)
}

/// The same as `with_ip`, with the MAC address of the ENI.
pub fn claimed(
    mut objects: Objects,
    node: &str,
    mac: &str,
    ip: &str,
    address: &str,
    pod: &str,
) -> Objects {
    let claim = Claim {
        id: format!("{pod}-{node}"),
        address: address.parse().unwrap(),
        pod: format!("uid-{pod}"),
        node: node.to_owned(),
        assigned: true,
        mac: Some(mac.parse().unwrap()),
    };
    let ip_of_claim = Ip {
        block: Some("partners".to_owned()),
        routes: Vec::new(),
        claim: Some(claim),
    };
    objects.ips.insert(ip.to_owned(), ip_of_claim);
    objects
}

/// Creates a node `a` with the pod `client`, which has the address X. Returns the objects to program.
pub fn one_pod(world: &World) -> (Node<'_>, Objects) {
    let node = world.node("a");
    node.pod("client", "10.77.0.20");
    world.assign(X, "a");
    world.whitelist(X);
    world.serve("partner", PARTNER);
    let objects = with_pod(only_block("a"), "client", Some("10.77.0.20"), "one");
    let objects = with_ip(objects, node, "one", X, "client");
    (node, objects)
}
