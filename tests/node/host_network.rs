use crate::node_part::RunNodePart as _;
use crate::objects::{only_block, with_ip, with_pod};
use mooring_cluster::network::{Backend, PARTNER, Protocol, World, X};

/// A program in the network namespace of the node binds the address, receives there, and sends with it as the source.
/// Programs that do not bind it send as before.
pub fn a_program_in_the_network_of_the_node_uses_its_address(backend: Backend) {
    let world = World::new(backend);
    let node = world.node("a");
    world.assign(X, "a");
    world.whitelist(X);
    world.serve("partner", PARTNER);
    let objects = with_ip(
        with_pod(only_block("a"), "client", None, "one"),
        node,
        "one",
        X,
        "client",
    );
    node.reconcile(&objects);
    world.serve("a", X);
    for protocol in Protocol::ALL {
        let seen = |source: &str| match protocol {
            Protocol::Icmp => Ok("an answer".to_owned()),
            _ => Ok::<_, String>(source.to_owned()),
        };
        assert_eq!(
            world.ask("partner", protocol, X),
            seen(PARTNER),
            "{protocol:?}: partner to program"
        );
        assert_eq!(
            world.ask_from("a", protocol, PARTNER, X),
            seen(X),
            "{protocol:?}: program to partner"
        );
    }
    world.expect_sources(&[X]);
    assert!(
        world.ask("a", Protocol::Tcp, PARTNER).is_err(),
        "the partner knows the address alone"
    );
    assert!(world.partner_saw().contains(&node.primary()));

    // When the pod is gone, its address is removed.
    node.reconcile(&only_block("a"));
    assert!(!node.run("ip -4 addr show eth1").contains(X));
}
