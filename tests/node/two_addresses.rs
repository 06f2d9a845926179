use crate::node_part::RunNodePart as _;
use crate::objects::{one_pod, with_ip, with_pod};
use mooring_cluster::network::{Backend, PARTNER, Protocol, World, X, Y};

/// Two pods of one node have two addresses, and neither gets the packets of the other.
pub fn two_pods_of_one_node_have_two_addresses(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    node.pod("second", "10.77.0.21");
    world.assign(Y, "a");
    world.whitelist(Y);
    let objects = with_pod(objects, "second", Some("10.77.0.21"), "two");
    let objects = with_ip(objects, node, "two", Y, "second");
    node.reconcile(&objects);
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        assert_eq!(world.ask("client", protocol, PARTNER), Ok(X.to_owned()));
        assert_eq!(world.ask("second", protocol, PARTNER), Ok(Y.to_owned()));
        assert_eq!(world.ask("partner", protocol, X), Ok(PARTNER.to_owned()));
        assert_eq!(world.ask("partner", protocol, Y), Ok(PARTNER.to_owned()));
        assert_eq!(
            world.ask("second", protocol, X),
            Ok("10.77.0.21".to_owned())
        );
    }
    world.expect_sources(&[X, Y]);

    // One claim is removed: the other address still works, and the pod without an address reaches no partner.
    let mut rest = objects.clone();
    rest.ips.get_mut("one").unwrap().claim = None;
    node.reconcile(&rest);
    assert!(world.ask("client", Protocol::Tcp, PARTNER).is_err());
    assert!(world.ask("partner", Protocol::Tcp, X).is_err());
    assert_eq!(
        world.ask("second", Protocol::Tcp, PARTNER),
        Ok(Y.to_owned())
    );
    world.expect_sources(&[X, Y]);
}
