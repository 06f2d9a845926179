//! Tests of the probe: its state in the kernel, and which addresses are probed.

use std::net::Ipv4Addr;

use super::kernel::settle;
use super::scenes::{kernel, objects, with, with_probe};
use crate::node::connections::{Connection, Expected};
use crate::node::desired::desired;
use crate::node::objects::Objects;
use crate::node::probe::orders;
use crate::node::read::block as block_of;
use crate::node::settings::NodeSettings;
use crate::node::slots::slots;
use crate::node::state::KernelState;

const TARGET: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
/// The static address of pod 1.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 11);

fn settled(objects: &Objects) -> KernelState {
    let mut kernel = kernel();
    settle(objects, &mut kernel);
    kernel
}

/// Rules, routes and chains, without the elements of sets and maps, which differ with each address.
fn parts(kernel: &KernelState) -> (usize, usize, usize) {
    let chains = kernel.table.as_ref().unwrap().chains.len();
    (kernel.rules.len(), kernel.routes.len(), chains)
}

#[test]
fn a_probe_changes_only_the_state_of_pods() {
    let plain = settled(&with(objects(), 1, 1, false));
    assert!(!plain.table.as_ref().unwrap().sets.contains_key("probed"));
    let of_node = settled(&with_probe(with(objects(), 1, 1, true)));
    assert_eq!(of_node, settled(&with(objects(), 1, 1, true)));
    // A block with a probe but without a programmed address.
    assert_eq!(settled(&with_probe(objects())), settled(&objects()));
}

#[test]
fn the_state_for_the_probe_does_not_grow_with_the_addresses() {
    let one = with(objects(), 1, 1, false);
    let two = with(one.clone(), 2, 1, false);
    let additional = |objects: &Objects| {
        let with = parts(&settled(&with_probe(objects.clone())));
        let without = parts(&settled(objects));
        (with.0 - without.0, with.1 - without.1, with.2 - without.2)
    };
    assert_eq!(additional(&one), (1, 1, 2));
    assert_eq!(additional(&two), (1, 1, 2));
}

#[test]
fn programmed_addresses_are_probed_on_the_path_of_the_pod() {
    let settings = NodeSettings::default();
    let probed = |objects: &Objects| {
        let kernel = kernel();
        orders(&desired(objects, &kernel, &settings), &kernel, &settings)
    };
    let both = with(with(objects(), 1, 1, false), 2, 2, true);
    assert!(probed(&both).is_empty(), "a block without a probe");
    let both = with_probe(both);
    let orders = probed(&both);
    let (pod, host) = (&orders["ip-1"], &orders["ip-2"]);
    assert_eq!((pod.mark, pod.link.as_str()), (Some(0x1_0000), "eth1"));
    assert_eq!((host.mark, host.link.as_str()), (None, "eth2"));
    assert_eq!(pod.probed.claim, "claim-1");
    assert!(pod.destinations.uses_static_address(TARGET));
    let mut waiting = both;
    waiting
        .ips
        .get_mut("ip-1")
        .unwrap()
        .claim
        .as_mut()
        .unwrap()
        .assigned = false;
    assert_eq!(probed(&waiting).keys().collect::<Vec<_>>(), ["ip-2"]);
}

#[test]
fn connections_of_the_probe_are_kept_and_others_from_the_address_are_forgotten() {
    let settings = NodeSettings::default();
    let contradicts = |objects: &Objects, mark: u32| {
        let kernel = kernel();
        let desired = desired(objects, &kernel, &settings);
        let slots = slots(&desired, &kernel, &settings);
        let connection = Connection {
            source: ADDRESS,
            destination: TARGET,
            reply_source: TARGET,
            reply_destination: ADDRESS,
            mark,
        };
        Expected::new(&desired, &slots, &KernelState::default(), &settings)
            .correction(&connection)
            .is_some()
    };
    let plain = with(objects(), 1, 1, false);
    let probed = with_probe(plain.clone());
    assert!(!contradicts(&probed, settings.probe_mark()));
    // A connection of another kind has another mark.
    assert!(contradicts(&probed, settings.mark(1)));
    assert!(contradicts(&plain, settings.probe_mark()));
}

#[test]
fn an_unreadable_probe_does_not_affect_the_block() {
    let read = |target: &str| {
        let block = serde_json::json!({
            "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPBlock", "metadata": { "name": "partners" },
            "spec": { "cidr": "203.0.113.0/24", "subnetID": "subnet-0123456789abcdef0", "node": {
                "routes": [{ "to": "198.51.100.0/24" }], "probe": { "target": target },
            } },
        });
        let node = block_of(&serde_json::from_value(block).unwrap())
            .node
            .unwrap();
        (
            node.routes.len(),
            node.probe.map(|probe| probe.interval.as_secs()),
        )
    };
    assert_eq!(read("198.51.100.7:7000"), (1, Some(30)));
    assert_eq!(read("nowhere"), (1, None));
    // The outcome reports that no packet leaves for this target with the address.
    assert_eq!(read("192.0.2.7:7000"), (1, Some(30)));
}
