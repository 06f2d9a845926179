use crate::node_part::RunNodePart as _;
use crate::objects::{one_pod, only_block};
use mooring_cluster::network::{Backend, NEIGHBOUR, PARTNER, Protocol, World, X};

/// The partner reaches the pod at the address, and the pod sees the source address of the partner. The pod reaches the
/// partner, which sees the address as the source. The VPC, the node and other pods are reached as before.
pub fn a_pod_accepts_and_opens_connections_with_its_address(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    node.pod("other", "10.77.0.21");
    world.serve("vpc", NEIGHBOUR);
    node.reconcile(&objects);
    works(&world, backend);

    node.world.cni_comes_first("a");
    node.run("conntrack -F 2>&1");
    works(&world, backend);
    world.expect_sources(&[X]);

    // Another pod that sends with the source address of the pod does not reach the partner.
    world.nft("partner", "table ip count { set spoofed { type ipv4_addr; flags dynamic; size 10; }
        chain in { type filter hook prerouting priority -10; udp dport 9999 add @spoofed { ip saddr }
        }
        }");
    world.run("other", "ip addr add 10.77.0.20/32 dev lo");
    let send = |pod: &'static str, from: (&'static str, u16)| {
        world
            .spawn(pod, move || {
                let socket = std::net::UdpSocket::bind(from).unwrap();
                socket.send_to(b"spoofed", (PARTNER, 9999)).unwrap();
            })
            .join()
            .unwrap();
    };
    let count = || world.run("partner", "nft list set ip count spoofed");
    let arrives = |source: &str| {
        mooring_cluster::network::eventually("a packet arrives", count, || {
            count().contains(source).then_some(())
        });
    };
    // Packets arrive in order. So when the second packet has arrived, the first would have arrived too.
    let refused = |from| {
        send("other", from);
        send("other", ("10.77.0.21", 0));
        arrives(&node.primary());
        assert!(!count().contains(X), "{}", count());
    };
    refused(("10.77.0.20", 0));
    // Nor does it within a connection of the pod.
    let of_the_pod = ("10.77.0.20", 7777);
    send("client", of_the_pod);
    arrives(X);
    world.run("partner", "nft flush set ip count spoofed");
    refused(of_the_pod);
    world.run("other", "ip addr del 10.77.0.20/32 dev lo");

    // The other pod sends as before, with the address of the node, which the partner refuses.
    assert!(world.ask("other", Protocol::Tcp, PARTNER).is_err());
    assert!(world.partner_saw().contains(&node.primary()));
}

/// The address works where the kernel looks at the mark of a packet when it checks the source
/// (`net.ipv4.conf.all.src_valid_mark`, which Calico sets when it encrypts), and where the CNI makes no rule for the pod.
/// A route to a partner alone in the main table changes nothing.
pub fn the_source_of_a_pod_is_valid_with_its_mark(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    node.run(
        "ip rule del pref 512 to 10.77.0.20 lookup main
         echo 1 > /proc/sys/net/ipv4/conf/all/src_valid_mark
         echo 2 > /proc/sys/net/ipv4/conf/eniclient/rp_filter",
    );
    node.run(&format!("ip route add {PARTNER}/32 via 10.77.0.1"));
    node.reconcile(&objects);
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let pod = world.ask("client", protocol, PARTNER);
        let partner = world.ask("partner", protocol, X);
        let right = (Ok(X.to_owned()), Ok(PARTNER.to_owned()));
        assert_eq!(
            (pod, partner),
            right,
            "{protocol:?}\n{}",
            node.run("ip rule")
        );
    }
    world.expect_sources(&[X]);

    assert!(node.reconcile(&objects).changes.is_empty());
    node.reconcile(&only_block("a"));
    let rules = node.run("ip rule");
    assert!(!rules.contains("proto 78"), "the pod is gone: {rules}");
}

fn works(world: &World, backend: Backend) {
    let ok = |text: &str| Ok::<_, String>(text.to_owned());
    for protocol in Protocol::ALL {
        let seen = |source: &str| match protocol {
            Protocol::Icmp => ok("an answer"),
            _ => ok(source),
        };
        let what = format!("{backend} {protocol:?}");
        assert_eq!(
            world.ask("partner", protocol, X),
            seen(PARTNER),
            "{what}: partner to pod"
        );
        assert_eq!(
            world.ask("client", protocol, PARTNER),
            seen(X),
            "{what}: pod to partner"
        );
        assert_eq!(
            world.ask("client", protocol, NEIGHBOUR),
            seen("10.77.0.20"),
            "{what}: pod to VPC"
        );
        assert_eq!(
            world.ask("vpc", protocol, "10.77.0.20"),
            seen(NEIGHBOUR),
            "{what}: VPC to pod"
        );
        assert_eq!(
            world.ask("other", protocol, "10.77.0.20"),
            seen("10.77.0.21"),
            "{what}: pod to pod"
        );
        assert_eq!(
            world.ask("client", protocol, "10.77.0.21"),
            seen("10.77.0.20"),
            "{what}: pod from pod"
        );
        assert_eq!(
            world.ask("other", protocol, NEIGHBOUR),
            seen("10.77.0.21"),
            "{what}: other pod to VPC"
        );
        assert_eq!(
            world.ask("other", protocol, X),
            seen("10.77.0.21"),
            "{what}: pod to the address"
        );
    }
    assert_eq!(
        world.ask("a", Protocol::Tcp, X).map(drop),
        Ok(()),
        "{backend}: node to the address"
    );
}
