//! Objects and kernels for tests.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use crate::node::objects::{Claim, Ip, Mac, NodeBlock, NodeSpec, Objects, Pod, Probe, Route};
use crate::node::state::{KernelState, Link, LocalAddress};

pub const NODE: &str = "node";

pub fn mac(number: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, number])
}

/// A kernel with three interfaces, whose addresses were added by other programs.
pub fn kernel() -> KernelState {
    let mut kernel = KernelState::default();
    for number in 0..3_u8 {
        let link = Link {
            name: format!("eth{number}"),
            mac: Some(mac(number)),
            own_mac: true,
            up: true,
            forwarding: true,
            rp_filter: u32::from(number),
        };
        kernel.links.insert(u32::from(number) + 1, link);
        kernel.addresses.insert(LocalAddress {
            link: u32::from(number) + 1,
            address: Ipv4Addr::new(10, 77, number, 10),
            prefix: 24,
            ours: false,
        });
    }
    kernel
}

pub fn objects() -> Objects {
    let route = Route {
        to: "198.51.100.0/24".parse().unwrap(),
        via: None,
        optional: false,
    };
    let block = NodeBlock {
        subnets: vec!["203.0.113.0/24".parse().unwrap()],
        node: Some(NodeSpec {
            routes: vec![route],
            internal: None,
            probe: None,
        }),
    };
    Objects {
        node: NODE.to_owned(),
        blocks: BTreeMap::from([("block".to_owned(), block)]),
        ..Objects::default()
    }
}

/// Gives the block a probe.
pub fn with_probe(mut objects: Objects) -> Objects {
    for block in objects.blocks.values_mut() {
        block.node.as_mut().unwrap().probe = Some(Probe {
            target: "198.51.100.7:7000".to_owned(),
            interval: Duration::from_secs(30),
        });
    }
    objects
}

/// Adds a pod and its IP, which is on the interface with this number.
pub fn with(mut objects: Objects, number: u8, interface: u8, host_network: bool) -> Objects {
    let uid = format!("uid-{number}");
    let pod = Pod {
        name: format!("default/pod-{number}"),
        wants: format!("ip-{number}"),
        addresses: vec![if host_network {
            Ipv4Addr::new(10, 77, 0, 10).into()
        } else {
            Ipv4Addr::new(10, 77, 9, number).into()
        }],
        host_network,
    };
    let claim = Claim {
        id: format!("claim-{number}"),
        address: Ipv4Addr::new(203, 0, 113, 10 + number),
        pod: uid.clone(),
        node: NODE.to_owned(),
        assigned: true,
        mac: Some(mac(interface)),
    };
    let ip = Ip {
        block: Some("block".to_owned()),
        routes: Vec::new(),
        claim: Some(claim),
    };
    objects.pods.insert(uid, pod);
    objects.ips.insert(format!("ip-{number}"), ip);
    objects
}
