use crate::node_part::RunNodePart as _;
use crate::objects::{one_pod, route};
use mooring_cluster::network::{
    Backend, PARTNER, Protocol, SECOND_GATEWAY, SECOND_PARTNER, World, X,
};

/// One partner is behind the gateway of the subnet, the other behind a gateway that its route names.
pub fn a_partner_is_reached_through_the_gateway_of_its_route(backend: Backend) {
    let world = World::new(backend);
    let (node, mut objects) = one_pod(&world);
    world.serve("gateway", SECOND_PARTNER);
    objects.ips.get_mut("one").unwrap().routes = vec![route("192.0.2.0/24", Some(SECOND_GATEWAY))];
    node.reconcile(&objects);
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        assert_eq!(
            world.ask("client", protocol, SECOND_PARTNER),
            Ok(X.to_owned())
        );
        assert_eq!(world.ask("client", protocol, PARTNER), Ok(X.to_owned()));
        let from = world.ask_from("gateway", protocol, X, SECOND_PARTNER);
        assert_eq!(from, Ok(SECOND_PARTNER.to_owned()));
    }
    world.expect_sources(&[X]);

    // Another gateway for the same network replaces the first one.
    objects.ips.get_mut("one").unwrap().routes = vec![route("192.0.2.0/24", Some("203.0.113.1"))];
    node.reconcile(&objects);
    let routes = node.run("ip route show table 10601");
    assert!(
        routes.contains("192.0.2.0/24 via 203.0.113.1") && !routes.contains(SECOND_GATEWAY),
        "{routes}"
    );
}
