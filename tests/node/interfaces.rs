use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use mooring::node::desired::State;
use mooring::node::objects::Objects;

use crate::node_part::RunNodePart as _;
use crate::objects::{claimed, one_pod, with_pod};
use mooring_cluster::network::{Backend, Node, PARTNER, Protocol, World, X, Y, eventually, tcp};

/// Connections continue when their address moves to another ENI of the same node and pod, and when another program
/// deletes all of nftables while two ENIs are in use.
pub fn connections_continue_with_another_mark(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    world.add_eni("a");
    node.reconcile(&objects);
    let evidence = || node.run("nft list ruleset; ip rule; conntrack -L 2>&1");
    let mut streams = [open(&world, "client", PARTNER), open(&world, "partner", X)];
    carry(&mut streams, &evidence);

    world.unassign(X, "a");
    world.assign_to(X, "a", "eth2");
    let mut objects = on(&world, objects, "eth2", "one", X, "client");
    node.reconcile(&objects);
    carry(&mut streams, &evidence);
    // Other bits of the mark belong to other programs.
    assert!(evidence().contains("mark=131200 "), "{}", evidence());

    // The ENI of an address that is later in the order had its slot first.
    node.pod("second", "10.77.0.21");
    world.assign(Y, "a");
    world.whitelist(Y);
    let pod = with_pod(objects, "second", Some("10.77.0.21"), "two");
    objects = on(&world, pod, "eth1", "two", Y, "second");
    let running = node.start(objects.clone());
    let programmed = || {
        let both = running
            .reports
            .borrow()
            .values()
            .filter(|one| one.state == State::Programmed)
            .count();
        (both == 2 && node.run("nft list tables").contains("mooring")).then_some(())
    };
    eventually("both are programmed", evidence, programmed);
    let [client, partner] = streams;
    let mut streams = [client, partner, open(&world, "partner", Y)];
    carry(&mut streams, &evidence);
    let slots = marks(&node);
    flush(&node);
    eventually("both are programmed again", evidence, programmed);
    carry(&mut streams, &evidence);
    eventually("the slots stay", evidence, || {
        (marks(&node) == slots).then_some(())
    });

    // A node part that starts later does not know the slots.
    drop(running);
    flush(&node);
    node.reconcile(&objects);
    assert_ne!(marks(&node), slots, "the slots changed");
    carry(&mut streams, &evidence);
    world.expect_sources(&[X, Y]);
}

/// An address works on an ENI that no program has configured: it is up and has no IPv4 address. The kernel drops what
/// arrives there if `rp_filter` is set for all interfaces: then the report says so, until the ENI has an address.
pub fn an_interface_needs_no_address_of_its_own(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    node.run("ip addr flush dev eth1");
    let evidence = || node.run("ip -4 addr; sysctl net.ipv4.conf | grep '[.]rp_filter'");
    let works = || {
        for protocol in Protocol::ALL {
            let (inward, outward) = match protocol {
                Protocol::Icmp => ("an answer", "an answer"),
                _ => (PARTNER, X),
            };
            let partner = world.ask("partner", protocol, X);
            let pod = world.ask("client", protocol, PARTNER);
            let right = (Ok(inward.to_owned()), Ok(outward.to_owned()));
            assert_eq!((partner, pod), right, "{protocol:?}\n{}", evidence());
        }
    };
    let running = node.start(objects);
    let is = |state: State, part: &str| {
        eventually(&format!("{state:?}: {part}"), evidence, || {
            let reports = running.reports.borrow();
            let report = reports.get("one")?;
            (report.state == state && report.message.contains(part)).then_some(())
        });
    };
    is(State::Programmed, "");
    works();

    node.run("echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter");
    is(State::Failed, "eth1 has no IPv4 address");
    node.run("ip addr add 203.0.113.5/24 dev eth1");
    is(State::Programmed, "");
    works();

    drop(running);
    node.reconcile(&Objects::default());
    let restored = node.run("cat /proc/sys/net/ipv4/conf/eth1/rp_filter");
    assert_eq!(restored, "1\n", "the value from before");
    world.expect_sources(&[X]);
}

/// The claim of the IP names this interface.
fn on(
    world: &World,
    objects: Objects,
    interface: &str,
    ip: &str,
    address: &str,
    pod: &str,
) -> Objects {
    let mac = world.mac("a", interface);
    claimed(objects, "a", &mac, ip, address, pod)
}

fn open(world: &World, from: &'static str, to: &'static str) -> TcpStream {
    let (stream, _) = world
        .spawn(from, move || tcp(to, "0.0.0.0"))
        .join()
        .unwrap()
        .unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    stream
}

/// Both sides of each connection send once.
fn carry<const N: usize>(streams: &mut [TcpStream; N], evidence: &impl Fn() -> String) {
    for (number, stream) in streams.iter_mut().enumerate() {
        let mut back = [0; 16_384];
        stream.write_all(&[7; 16_384]).unwrap();
        let read = stream.read_exact(&mut back);
        assert!(
            read.is_ok(),
            "connection {number}: {read:?}\n{}",
            evidence()
        );
    }
}

/// The slots of the interfaces.
fn marks(node: &Node<'_>) -> String {
    let listing = node.run("nft list map ip mooring interfaces || true");
    let marks = listing.lines().filter(|line| line.contains("0x"));
    marks.collect()
}

/// Deletes all tables, and with iptables-nft also the rules of the CNI.
fn flush(node: &Node<'_>) {
    node.run("nft flush ruleset");
}
