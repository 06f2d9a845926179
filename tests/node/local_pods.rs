use crate::node_part::RunNodePart as _;
use crate::objects::{only_block, with_ip, with_pod};
use mooring_cluster::network::{Backend, NEIGHBOUR, Protocol, World, X};

/// A pod of the node and a program with `hostNetwork` on the node reach each other, also if the CNI makes no rule for
/// the pod. A machine in the subnet of the primary ENI reaches the program by the ENI of the address.
pub fn pods_of_the_node_reach_a_program_of_the_node(backend: Backend) {
    let world = World::new(backend);
    let node = world.node("a");
    world.assign(X, "a");
    node.pod("local", "10.77.0.22");
    node.run("ip rule del pref 512 to 10.77.0.22 lookup main");
    let objects = with_ip(
        with_pod(only_block("a"), "client", None, "one"),
        node,
        "one",
        X,
        "client",
    );
    node.reconcile(&objects);
    world.serve("a", X);
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        assert_eq!(
            world.ask("local", protocol, X),
            Ok("10.77.0.22".to_owned()),
            "{protocol:?}: pod to program"
        );
        assert_eq!(
            world.ask_from("a", protocol, "10.77.0.22", X),
            Ok(X.to_owned()),
            "{protocol:?}: program to pod"
        );
        assert_eq!(
            world.ask_from("vpc", protocol, X, NEIGHBOUR),
            Ok(NEIGHBOUR.to_owned()),
            "{protocol:?}: machine to program"
        );
    }
    world.expect_sources(&[]);

    assert!(node.reconcile(&objects).changes.is_empty());
    node.reconcile(&only_block("a"));
    assert!(!node.run("ip rule").contains("proto 78"));
}
