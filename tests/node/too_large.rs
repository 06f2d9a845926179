use std::net::UdpSocket;
use std::time::Duration;

use crate::node_part::RunNodePart as _;
use crate::objects::one_pod;
use mooring_cluster::network::{Backend, PARTNER, World, X, eventually};

/// Larger than the MTU that a link gets below.
const LARGE: [u8; 1300] = [7; 1300];

/// The partner and the pod get a notice when a packet is too large for the next link. The notice to the partner comes
/// from the address, by the ENI.
pub fn the_sender_of_a_packet_that_is_too_large_gets_the_size_that_fits(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    // The CNI makes no rule for the pod.
    node.run("ip rule del pref 512 to 10.77.0.20 lookup main");
    node.reconcile(&objects);
    for name in ["partner", "client"] {
        world.nft(
            name,
            "table ip notices { set by { type ipv4_addr; flags dynamic; size 10; }
               chain in { type filter hook prerouting priority -10;
                 icmp type destination-unreachable icmp code 4 add @by { ip saddr }
               }
             }",
        );
    }
    let expect_notice = |name: &str, by: &str| {
        let evidence = || node.run("nft list table ip mooring; conntrack -L 2>&1; ip rule");
        eventually("the sender gets a notice", evidence, || {
            world
                .elements(name, "ip notices by")
                .contains(by)
                .then_some(())
        });
    };
    node.run("ip link set eniclient mtu 1200");
    send_large(&world, "partner", X);
    expect_notice("partner", X);
    node.run("ip link set eniclient mtu 1500; ip link set eth1 mtu 1200");
    send_large(&world, "client", PARTNER);
    expect_notice("client", &node.primary());
    world.expect_sources(&[X]);
    assert!(node.reconcile(&objects).changes.is_empty());
}

/// Sends a small packet, waits for the answer, and sends a large packet that must not be fragmented.
fn send_large(world: &World, from: &'static str, to: &'static str) {
    let sending = world.spawn(from, move || {
        let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
        socket.connect((to, 7000)).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        socket.send(b"who").unwrap();
        socket.recv(&mut [0; 100]).unwrap();
        // Linux sets "do not fragment" for UDP until it knows a smaller MTU of the path.
        socket.send(&LARGE).unwrap();
    });
    sending.join().unwrap();
}
