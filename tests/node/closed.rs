use std::net::UdpSocket;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::node_part::RunNodePart as _;
use crate::objects::{one_pod, only_block, with_ip, with_pod};
use mooring_cluster::network::{Backend, NEIGHBOUR, PARTNER, Protocol, World, X, Y, eventually};

/// From the time when the pod is known until its address is programmed, its packets do not reach a partner, but reach
/// everything else. A flow that was open before has the right source afterwards.
pub fn nothing_reaches_a_partner_before_the_address_is_programmed(backend: Backend) {
    let world = &World::new(backend);
    let (node, objects) = one_pod(world);
    world.serve("vpc", NEIGHBOUR);

    // A flow that began before the node part knew the pod. Its packets leave with the address of the node.
    let flow = flow(world, "client", "0.0.0.0:5555");
    eventually("the flow leaves", String::new, || {
        world.partner_saw().contains(&node.primary()).then_some(())
    });

    // The states in order: only the pod; the IP without a claim; the claim without the confirmation of EC2.
    let alone = with_pod(only_block("a"), "client", Some("10.77.0.20"), "one");
    let mut unclaimed = objects.clone();
    unclaimed.ips.get_mut("one").unwrap().claim = None;
    let mut claimed = objects.clone();
    claimed
        .ips
        .get_mut("one")
        .unwrap()
        .claim
        .as_mut()
        .unwrap()
        .assigned = false;
    for objects in [alone, unclaimed, claimed] {
        node.reconcile(&objects);
        world.run("partner", "nft flush set ip firewall seen");
        // In parallel, because each dropped packet costs a timeout.
        std::thread::scope(|scope| {
            for protocol in Protocol::ALL {
                scope.spawn(move || {
                    assert!(world.ask("client", protocol, PARTNER).is_err());
                    assert!(world.ask("client", protocol, NEIGHBOUR).is_ok());
                    assert!(world.ask("vpc", protocol, "10.77.0.20").is_ok());
                });
            }
        });
        world.expect_sources(&[]);
    }
    node.reconcile(&objects);
    assert_eq!(flow.join().unwrap(), X, "the flow that was open before");
    assert_eq!(
        world.ask("client", Protocol::Tcp, PARTNER),
        Ok(X.to_owned())
    );
    world.expect_sources(&[X]);
}

/// Flows of a program with `hostNetwork`, which began while the kernel did not send them from its address, have it
/// afterwards: one that is older than the programming, and one that began while another program had removed the rule.
pub fn a_program_of_the_node_goes_on_with_its_address(backend: Backend) {
    let world = &World::new(backend);
    let node = world.node("a");
    world.assign(Y, "a");
    world.whitelist(Y);
    world.serve("partner", PARTNER);
    let objects = with_pod(only_block("a"), "host", None, "two");
    let objects = with_ip(objects, node, "two", Y, "host");
    // Another program adds the address, so that the program can bind it too early.
    node.run(&format!("ip addr add {Y}/32 dev eth1"));
    let rule = format!("ip rule del pref 600 from {Y}");
    for (damage, port) in [("true", 5555), (&rule, 5556)] {
        node.run(damage);
        world.run("partner", "nft flush set ip firewall seen");
        let flow = flow(world, "a", &format!("{Y}:{port}"));
        eventually("the flow leaves", String::new, || {
            world.partner_saw().contains(&node.primary()).then_some(())
        });
        node.reconcile(&objects);
        assert_eq!(flow.join().unwrap(), Y, "after {damage}");
    }
}

/// Sends packets of one flow to the partner until an answer comes: the source address that the partner sees.
fn flow(world: &World, name: &str, from: &str) -> JoinHandle<String> {
    let from = from.to_owned();
    world.spawn(name, || {
        let socket = UdpSocket::bind(from).unwrap();
        socket.connect((PARTNER, 7000)).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        let mut buffer = [0; 100];
        for _ in 0..100 {
            let _ = socket.send(b"who");
            if let Ok(length) = socket.recv(&mut buffer) {
                return String::from_utf8_lossy(&buffer[..length]).into_owned();
            }
        }
        "no answer".to_owned()
    })
}
