use std::net::SocketAddr;
use std::time::Duration;

use mooring::node::objects::Objects;
use mooring::node::probe::ProbeResult;
use mooring::node::settings::NodeSettings;
use socket2::{Domain, Socket, Type};

use crate::node_part::{RunNodePart as _, Running};
use crate::objects::{one_pod, only_block, with_ip, with_pod, with_probe};
use mooring_cluster::network::{Backend, Node, PARTNER, Protocol, World, X, Y, eventually, within};

/// The address on which `mooring echo` of the partner listens.
pub const ECHO: &str = "198.51.100.9:7001";
/// The address of the router towards the partner.
const ROUTER: &str = "198.51.100.1";
/// Shows rules and routes, without the flag of an interface that is new: the kernel removes it a moment later.
const ROUTES: &str = "ip rule; ip -4 route show table all | sed 's/ linkdown//'";

/// The node part connects with the address of a pod to a program of the partner, which sees only that address. The pod
/// is not affected. If the partner sees another address or nothing, this is reported. Afterwards no state of the probe
/// is left.
pub fn the_partner_sees_the_address_of_a_pod(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    let echo = world.echo("partner", ECHO);
    let before = node.run(ROUTES);
    // Packets back to the probe do not reach the pod.
    world.nft(
        "client",
        "table ip count { set strays { typeof tcp sport; flags dynamic; size 10; }
        chain in { type filter hook prerouting priority -10; tcp sport 7001 add @strays { tcp sport }
        }
        }",
    );
    let part = node.start(with_probe(objects.clone(), ECHO));
    let seen = outcome_when(node, &part, is_verified);
    println!("{backend}: round trip {:?} ms", seen.round_trip);
    for _ in 0..20 {
        for protocol in [Protocol::Tcp, Protocol::Udp] {
            let asked = world.ask("client", protocol, PARTNER);
            assert_eq!(asked, Ok(X.to_owned()), "pod to partner");
            let asked = world.ask("partner", protocol, X);
            assert_eq!(asked, Ok(PARTNER.to_owned()), "partner to pod");
        }
    }
    send_as(node, "203.0.113.12");
    another_pod_comes(node, &part, &objects);
    outcome_when(node, &part, is_verified);
    world.expect_sources(&[X, Y]);
    let strays = world.run("client", "nft list set ip count strays");
    assert!(!strays.contains("7001"), "{strays}");

    // Calico with WireGuard sets this. The reverse path check of a packet then uses the mark of the packet.
    node.run("echo 1 > /proc/sys/net/ipv4/conf/eth1/src_valid_mark");
    broken_ways(node, &part);

    // If no packets to the target leave with the address, no connection is opened.
    part.show(with_probe(objects.clone(), "192.0.2.9:7001"));
    let outcome = outcome_when(node, &part, |outcome| {
        outcome.message.contains("no packet to it leaves")
    });
    assert!(outcome.message.contains("192.0.2.9"), "{outcome:?}");
    part.show(with_probe(objects.clone(), ECHO));
    outcome_when(node, &part, is_verified);

    // Without the probe, its state is removed, and the pod continues.
    part.show(objects);
    eventually(
        "the condition is removed",
        || evidence(node, &part),
        || part.outcomes.borrow().is_empty().then_some(()),
    );
    eventually(
        "what the probe needs is gone",
        || evidence(node, &part),
        || {
            let table = node.run(
                "nft list table ip mooring; ip rule; ip route show table 10615 2>/dev/null || true",
            );
            let gone = ["probe", "10615", "dev lo"];
            gone.iter().all(|word| !table.contains(word)).then_some(())
        },
    );
    assert_eq!(
        world.ask("client", Protocol::Tcp, PARTNER),
        Ok(X.to_owned())
    );
    drop(part);
    node.end_pod("other", "10.77.0.21");
    node.reconcile(&Objects::default());
    assert_eq!(node.run(ROUTES), before);
    echo.end();
}

/// The same for a program that binds the address on the node.
pub fn the_partner_sees_the_address_of_a_program_of_the_node(backend: Backend) {
    let world = World::new(backend);
    let node = world.node("a");
    world.assign(X, "a");
    world.whitelist(X);
    world.serve("partner", PARTNER);
    let _echo = world.echo("partner", ECHO);
    let objects = with_pod(only_block("a"), "client", None, "one");
    let objects = with_ip(objects, node, "one", X, "client");
    let part = node.start(with_probe(objects, ECHO));
    outcome_when(node, &part, is_verified);
    let asked = world.ask_from("a", Protocol::Tcp, PARTNER, X);
    assert_eq!(asked, Ok(X.to_owned()), "program to partner");
    world.expect_sources(&[X]);
    let table = node.run("nft list table ip mooring");
    assert!(!table.contains("probe"), "{table}");
    broken_ways(node, &part);
}

/// Starts a connection on the node with the mark of the ENI and an address that is not probed, like a probe attempt
/// whose address has moved meanwhile.
fn send_as(node: Node<'_>, address: &str) {
    let from = SocketAddr::new(address.parse().unwrap(), 0);
    let to: SocketAddr = ECHO.parse().unwrap();
    within(&node.world.name(node.name), || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_ip_transparent_v4(true).unwrap();
        socket.set_mark(NodeSettings::default().mark(1)).unwrap();
        socket.bind(&from.into()).unwrap();
        let limit = Duration::from_millis(100);
        assert!(socket.connect_timeout(&to.into(), limit).is_err());
    });
}

/// Adds another pod: a change of the table flushes connections, but not those of the probe.
fn another_pod_comes(node: Node<'_>, part: &Running, objects: &Objects) {
    let world = node.world;
    node.pod("other", "10.77.0.21");
    world.assign(Y, "a");
    world.whitelist(Y);
    let both = with_pod(objects.clone(), "other", Some("10.77.0.21"), "two");
    let both = with_ip(both, node, "two", Y, "other");
    part.show(with_probe(both, ECHO));
    eventually(
        "both are seen",
        || evidence(node, part),
        || {
            let found = part.outcomes.borrow();
            let seen = |ip: &str| {
                found
                    .get(ip)
                    .is_some_and(|found| is_verified(&found.outcome))
            };
            (seen("one") && seen("two")).then_some(())
        },
    );
}

/// Two failures: NAT on the path translates the address, and the address is removed from the ENI.
fn broken_ways(node: Node<'_>, part: &Running) {
    let world = node.world;
    world.whitelist(ROUTER);
    world.nft(
        "vpc",
        &format!(
            "table ip broken {{ chain out {{ type nat hook postrouting priority 100;
               oifname out ip saddr {X} tcp dport 7001 masquerade
             }}
             }}"
        ),
    );
    let outcome = outcome_when(node, part, |outcome| {
        outcome.observed == ROUTER.parse().ok()
    });
    let wanted = format!("{ECHO} sees {ROUTER} instead of {X}");
    assert!(outcome.message.starts_with(&wanted), "{outcome:?}");
    world.run("vpc", "nft delete table ip broken");
    outcome_when(node, part, is_verified);

    world.unassign(X, "a");
    let outcome = outcome_when(node, part, |outcome| !outcome.message.is_empty());
    assert_eq!(outcome.observed, None, "{outcome:?}");
    assert!(outcome.message.contains("does not answer"), "{outcome:?}");
    world.assign(X, "a");
    outcome_when(node, part, is_verified);
}

fn is_verified(outcome: &ProbeResult) -> bool {
    outcome.observed == X.parse().ok() && outcome.is_verified()
        || outcome.observed == Y.parse().ok() && outcome.is_verified()
}

/// Waits until the outcome of the IP "one" fulfils `such`.
fn outcome_when(
    node: Node<'_>,
    part: &Running,
    such: impl Fn(&ProbeResult) -> bool,
) -> ProbeResult {
    eventually(
        "the outcome is as expected",
        || evidence(node, part),
        || {
            let found = part.outcomes.borrow();
            let outcome = found.get("one").map(|found| found.outcome.clone());
            outcome.filter(|outcome| such(outcome))
        },
    )
}

fn evidence(node: Node<'_>, part: &Running) -> String {
    let shown = node.run(
        "nft list table ip mooring; ip rule; ip route show table 10615 2>&1 || true; conntrack -L 2>&1; \
         cat /proc/net/tcp",
    );
    format!("{:#?}\n{shown}", part.outcomes.borrow())
}
