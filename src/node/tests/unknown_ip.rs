//! A pod is closed while the node part does not know its IP.

use super::scenes::{kernel, objects, with};
use crate::node::desired::desired;
use crate::node::objects::Objects;
use crate::node::settings::NodeSettings;

/// The pod can be of either block, so what only one of them allows is dropped.
#[test]
fn an_internal_network_of_another_block_does_not_open_a_pod() {
    let mut objects = with(objects(), 1, 1, false);
    let mut other = objects.blocks["block"].clone();
    let node = other.node.as_mut().unwrap();
    node.routes.clear();
    node.internal = Some(vec!["198.51.100.0/25".parse().unwrap()]);
    objects.blocks.insert("other".to_owned(), other);
    let partner = "198.51.100.9".parse().unwrap();
    let guarded = |objects: &Objects| {
        let desired = desired(objects, &kernel(), &NodeSettings::default());
        let closed = desired.closed.values().next().cloned();
        closed.is_some_and(|destinations| destinations.guarded(partner))
    };
    objects.ips.get_mut("ip-1").unwrap().claim = None;
    assert!(guarded(&objects), "its IP is known");
    objects.ips.clear();
    assert!(guarded(&objects), "its IP is not known");
}

/// Metadata, DNS and time of EC2 have link-local addresses, and a pod needs them before it has its address.
#[test]
fn a_closed_pod_reaches_the_services_of_its_instance() {
    let mut objects = with(objects(), 1, 1, false);
    let node = objects.blocks.get_mut("block").unwrap().node.as_mut();
    node.unwrap().routes[0].to = "0.0.0.0/0".parse().unwrap();
    let closed = |objects: &Objects| {
        let desired = desired(objects, &kernel(), &NodeSettings::default());
        let closed = desired.closed.values().next().cloned().unwrap();
        ["169.254.169.254", "169.254.0.1", "192.0.2.1"]
            .map(|to| closed.guarded(to.parse().unwrap()))
    };
    objects.ips.get_mut("ip-1").unwrap().claim = None;
    assert_eq!(closed(&objects), [false, false, true], "its IP is known");
    objects.ips.clear();
    assert_eq!(
        closed(&objects),
        [false, false, true],
        "its IP is not known"
    );
}
