use mooring::node::desired::State;
use mooring::node::kernel::Part;

use crate::node_part::RunNodePart as _;
use crate::objects::{one_pod, route, with_ip, with_pod};
use mooring_cluster::network::{Backend, World, Y};

/// A gateway that the kernel refuses concerns only the IP that names it.
pub fn a_refused_route_takes_down_no_other_address(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    world.assign(Y, "a");
    let objects = with_pod(objects, "host", None, "two");
    let mut objects = with_ip(objects, node, "two", Y, "host");
    let multicast = route("192.0.2.0/24", Some("224.0.0.1"));
    objects.ips.get_mut("one").unwrap().routes = vec![multicast];
    let outcome = node.with(|runtime, reconciler| {
        let reconciled = reconciler.reconcile(&objects, Part::All);
        runtime.block_on(reconciled).unwrap()
    });
    assert_eq!(outcome.errors.len(), 1, "{:#?}", outcome.errors);
    let (one, two) = (&outcome.reports["one"], &outcome.reports["two"]);
    assert_eq!(one.state, State::Failed);
    assert!(one.message.contains("192.0.2.0/24"), "{}", one.message);
    assert_eq!(two.state, State::Programmed, "{}", two.message);
}

/// The reason why an address is not programmed is reported, with a remedy.
pub fn missing_requirements_are_reported(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    let reported = |objects: &mooring::node::objects::Objects| {
        let outcome = node.reconcile(objects);
        let report = outcome.reports["one"].clone();
        (report.state, report.message)
    };
    assert_eq!(reported(&objects), (State::Programmed, String::new()));

    let mut without_mac = objects.clone();
    without_mac
        .ips
        .get_mut("one")
        .unwrap()
        .claim
        .as_mut()
        .unwrap()
        .mac = None;
    let (state, message) = reported(&without_mac);
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
    let (state, message) = reported(&elsewhere);
    assert_eq!(state, State::Waiting);
    assert!(message.contains("02:00:00:00:00:01"), "{message}");

    node.run("ip link set eth1 down");
    let (state, message) = reported(&objects);
    assert_eq!(state, State::Failed);
    assert!(message.contains("eth1 is down"), "{message}");
    node.run("ip link set eth1 up; echo 0 > /proc/sys/net/ipv4/conf/eth1/forwarding");
    let (state, message) = reported(&objects);
    assert_eq!(state, State::Failed);
    assert!(message.contains("forwarding"), "{message}");
}
