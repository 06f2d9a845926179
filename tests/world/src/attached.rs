//! Attached IPs that have numbers for names, for worlds with thousands of them.

use mooring_plan::address::Address;
use mooring_plan::names::{ClaimId, InterfaceRef, IpName, IpUid, NodeName, PodKey, PodUid};
use mooring_plan::objects::{Claim, ClaimPhase, Gate, Ip, IpStatus, Pod, Reservation, Target};

use crate::objects::{self, address_after, instance_of, interface_of, key};

/// The objects of one attached IP: the IP, its reservation and its pod.
pub struct Attached {
    pub ip: Ip,
    pub reservation: Reservation,
    pub pod: Pod,
}

pub fn ip_name(number: u32) -> IpName {
    IpName::new(format!("ip-{number:05}"))
}

pub fn node_name(number: u32) -> NodeName {
    NodeName::new(format!("{number:04}"))
}

pub fn address(number: u32) -> Address {
    address_after("10.1.0.0", number)
}

/// The primary address of a node's interface.
pub fn primary(node: u32) -> Address {
    address_after("10.200.0.10", node)
}

/// `what` distinguishes the pods of one IP.
pub fn pod_key(what: &str, number: u32) -> PodKey {
    key(&format!("{what}-{number}"))
}

pub fn pod_uid(what: &str, number: u32) -> PodUid {
    PodUid::new(format!("{what}-uid-{number}"))
}

fn ip_uid(number: u32) -> IpUid {
    IpUid::new(format!("uid-{number}"))
}

/// A pod that asks for an IP, bound to a node, whose containers run.
pub fn pod(what: &str, number: u32, node: &NodeName) -> Pod {
    let (key, uid, ip) = (
        pod_key(what, number),
        pod_uid(what, number),
        ip_name(number),
    );
    Pod {
        node: Some(node.clone()),
        containers_ready: true,
        containers_running: true,
        ..objects::pod(&key.name, uid.as_str(), ip.as_str(), Some(ip_uid(number)))
    }
}

/// An IP, its reservation and the pod that holds it on this node.
pub fn attached(what: &str, number: u32, node: &NodeName) -> Attached {
    let (name, uid, address) = (ip_name(number), ip_uid(number), address(number));
    let pod = Pod {
        gate: Some(Gate {
            status: true,
            reason: "Attached".to_owned(),
        }),
        ..pod(what, number, node)
    };
    let status = IpStatus {
        address: Some(address),
        block: Some("block".into()),
        claim: Some(Claim {
            pod: pod.key.clone(),
            uid: pod.uid.clone(),
            id: ClaimId(1),
            phase: ClaimPhase::Recorded(Target {
                place: InterfaceRef {
                    interface: interface_of(node.as_str()),
                    instance: instance_of(node.as_str()),
                },
                node: node.clone(),
            }),
        }),
        ..IpStatus::default()
    };
    let reservation = format!("reservation-{number}");
    Attached {
        reservation: objects::reservation(&reservation, address, &name, &uid),
        ip: Ip {
            finalizer: true,
            status,
            ..objects::ip(name.as_str(), uid.as_str(), objects::desired(address))
        },
        pod,
    }
}
