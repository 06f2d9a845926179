use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::node_part::RunNodePart as _;
use crate::objects::{only_block, with_ip, with_pod};
use mooring_cluster::network::{Backend, Node, PARTNER, Protocol, World, X, eventually};

/// The number of moves with each kind of iptables. `MOORING_MOVES` sets another one.
const MOVES: usize = 40;

/// The address moves from a pod on one node to a pod on another and back, while both pods continuously send to the
/// partner. No packet has a wrong source.
pub fn an_address_moves_between_nodes_and_back(backend: Backend) {
    let world = World::new(backend);
    let nodes = [world.node("a"), world.node("b")];
    let pods = [("first", "10.77.0.20"), ("second", "10.77.0.30")];
    world.whitelist(X);
    world.serve("partner", PARTNER);
    let unclaimed = |at: usize| {
        let (pod, address) = pods[at];
        let mut objects = with_pod(only_block(nodes[at].name), pod, Some(address), "one");
        objects = with_ip(objects, nodes[at], "one", X, pod);
        objects.ips.get_mut("one").unwrap().claim = None;
        objects
    };
    let claimed = |at: usize| with_ip(unclaimed(at), nodes[at], "one", X, pods[at].0);
    let running: Vec<_> = nodes
        .iter()
        .enumerate()
        .map(|(at, node): (usize, &Node<'_>)| {
            let running = node.start(unclaimed(at));
            node.pod(pods[at].0, pods[at].1);
            eventually(
                "the pod is closed",
                || node.run("nft list ruleset"),
                || {
                    node.run("nft list table ip mooring 2>/dev/null || true")
                        .contains(pods[at].1)
                        .then_some(())
                },
            );
            running
        })
        .collect();

    let stop = Arc::new(AtomicBool::new(false));
    let senders: Vec<_> = pods
        .iter()
        .map(|(pod, _)| {
            let stop = Arc::clone(&stop);
            world.spawn(pod, move || {
                let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
                while !stop.load(Ordering::Relaxed) {
                    let _ = socket.send_to(b"who", (PARTNER, 7000));
                    let _ = tcp_syn();
                    std::thread::sleep(Duration::from_millis(3));
                }
            })
        })
        .collect();

    let moves = mooring_cluster::count("MOORING_MOVES", MOVES);
    let mut slowest = Duration::ZERO;
    for step in 0..moves {
        let (from, to) = ((step + 1) % 2, step % 2);
        running[from].show(unclaimed(from));
        let reported = |state: &dyn Fn(bool) -> bool, at: usize| {
            eventually(
                "the node part follows",
                || nodes[at].run("nft list table ip mooring"),
                || state(running[at].reports.borrow().contains_key("one")).then_some(()),
            );
        };
        reported(&|there| !there, from);
        if step > 0 {
            world.unassign(X, nodes[from].name);
        }
        world.assign(X, nodes[to].name);
        let attached = Instant::now();
        running[to].show(claimed(to));
        eventually(
            "the new pod is seen as the address",
            || {
                nodes[to]
                    .run("nft list ruleset; ip rule; ip route show table all; conntrack -L 2>&1")
            },
            || (world.ask_soon(pods[to].0, PARTNER).as_deref() == Some(X)).then_some(()),
        );
        slowest = slowest.max(attached.elapsed());
        reported(&|there| there, to);
        assert_eq!(
            world.ask("partner", Protocol::Tcp, X),
            Ok(PARTNER.to_owned())
        );
        assert_eq!(world.ask_soon(pods[from].0, PARTNER), None);
    }
    stop.store(true, Ordering::Relaxed);
    for sender in senders {
        sender.join().unwrap();
    }
    world.expect_sources(&[X]);
    println!("verified: {backend}: {moves} moves, the slowest took {slowest:?}");
}

/// Starts a connection without waiting for it.
fn tcp_syn() -> std::io::Result<()> {
    std::net::TcpStream::connect_timeout(
        &"198.51.100.9:7000".parse().unwrap(),
        Duration::from_millis(2),
    )
    .map(drop)
}
