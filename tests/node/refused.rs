use mooring::node::desired::State;

use crate::node_part::RunNodePart as _;
use crate::objects::one_pod;
use mooring_cluster::network::{Backend, World};

/// The reason why an address is not programmed is reported, with a remedy.
pub fn missing_requirements_are_reported(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    let said = |objects: &mooring::node::objects::Objects| {
        let outcome = node.reconcile(objects);
        let report = outcome.reports["one"].clone();
        (report.state, report.message)
    };
    assert_eq!(said(&objects), (State::Programmed, String::new()));

    let mut without_mac = objects.clone();
    without_mac
        .ips
        .get_mut("one")
        .unwrap()
        .claim
        .as_mut()
        .unwrap()
        .mac = None;
    let (state, message) = said(&without_mac);
    assert_eq!(state, State::Waiting);
    assert!(message.contains("MAC"), "{message}");

    let mut elsewhere = objects.clone();
    let mac = "02:00:00:00:00:01".parse().unwrap();
    elsewhere
        .ips
        .get_mut("one")
        .unwrap()
        .claim
        .as_mut()
        .unwrap()
        .mac = Some(mac);
    let (state, message) = said(&elsewhere);
    assert_eq!(state, State::Waiting);
    assert!(message.contains("02:00:00:00:00:01"), "{message}");

    node.run("ip link set eth1 down");
    let (state, message) = said(&objects);
    assert_eq!(state, State::Failed);
    assert!(message.contains("eth1 is down"), "{message}");
    node.run("ip link set eth1 up; echo 0 > /proc/sys/net/ipv4/conf/eth1/forwarding");
    let (state, message) = said(&objects);
    assert_eq!(state, State::Failed);
    assert!(message.contains("forwarding"), "{message}");
}
