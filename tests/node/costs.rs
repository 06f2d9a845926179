use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use mooring::node::kernel::Part;
use mooring::node::objects::Objects;

use crate::node_part::RunNodePart as _;
use crate::objects::{claimed, one_pod, with_pod};
use mooring_cluster::network::{Backend, Node, PARTNER, World, tcp, within};

/// The number of worlds for the measurements. The memory layout in the kernel causes differences of some percent, which
/// are constant within a world.
const WORLDS: usize = 7;
/// The number of rounds in a world. In each round all variants are measured directly after each other, because the
/// speed of the machine changes from second to second. One measurement differs from the next by up to 20 %, so
/// there are many.
const ROUNDS: usize = 40;
const LENGTH: Duration = Duration::from_millis(40);
/// The lowest accepted rate of connections with the path, as a share of that without it. The share was 0.936 to 0.972
/// where a connection between two namespaces takes 110 to 260 µs. A limit in time would depend on the machine: the same
/// rules added 5 µs to a connection on a fast one, and 14 µs on a slow one. Connections over a network were not
/// measured.
const CONNECTIONS: f64 = 0.92;

/// The throughput with the data path is at least 95 % of that without it, the rate of connections at least 92 %, 200
/// addresses cost the same as one, and a full comparison of 200 addresses takes at most 50 ms.
///
/// Listed only with `MOORING_NODE_COSTS=1`: the figures are meaningful only in the profile `optimised`, on an otherwise
/// idle machine.
pub fn the_overhead_of_the_path_is_small(backend: Backend) {
    let mut comparison = Duration::ZERO;
    let (mut streams, mut connections) = (Vec::new(), Vec::new());
    for _ in 0..WORLDS {
        let world = World::new(backend);
        let (node, one) = one_pod(&world);
        world.whitelist(&node.primary());
        sink(&world);
        let many = many(node, &one);
        measure(&world, node, [&one, &many], &mut streams, &mut connections);
        comparison = comparison.max(compare(node, &many));
    }
    println!("verified: {backend}: full comparison of 200 addresses: {comparison:?}");
    let stream = summary(backend, "throughput in MB/s", &streams);
    let connection = summary(backend, "connections per s", &connections);
    let added = median(connections.iter().map(|of| 1.0 / of[1] - 1.0 / of[0]));
    println!(
        "verified: {backend}: added to a connection: {:.1} µs",
        added * 1e6
    );
    assert!(stream.one_to_without >= 0.95, "throughput with it");
    assert!(
        connection.one_to_without >= CONNECTIONS,
        "connections with it"
    );
    assert!(stream.many_to_one >= 0.95, "throughput with 200");
    assert!(connection.many_to_one >= 0.95, "connections with 200");
    assert!(comparison <= Duration::from_millis(50), "{comparison:?}");
}

/// Medians of the ratios in each round.
struct Summary {
    one_to_without: f64,
    many_to_one: f64,
}

/// Prints the medians of the values without addresses, with one and with 200, and of the ratios in each round.
fn summary(backend: Backend, what: &str, values: &[[f64; 3]]) -> Summary {
    let [without, with_one, with_many] = [0, 1, 2].map(|at| median(values.iter().map(|of| of[at])));
    let one_to_without = median(values.iter().map(|of| of[1] / of[0]));
    let many_to_one = median(values.iter().map(|of| of[2] / of[1]));
    println!(
        "verified: {backend}: {what} without, 1, 200: {without:.0}, {with_one:.0}, {with_many:.0}; \
         1 to without: {one_to_without:.3}, 200 to 1: {many_to_one:.3}"
    );
    Summary {
        one_to_without,
        many_to_one,
    }
}

/// Measures without addresses, and with the addresses of each of these objects.
fn measure(
    world: &World,
    node: Node<'_>,
    with: [&Objects; 2],
    streams: &mut Vec<[f64; 3]>,
    connections: &mut Vec<[f64; 3]>,
) {
    let nothing = Objects::default();
    for round in 0..ROUNDS {
        let [mut stream, mut connection] = [[0.0; 3]; 2];
        let mut variants = [(0, &nothing), (1, with[0]), (2, with[1])];
        // No variant always follows the same one.
        variants.rotate_left(round % 3);
        if round % 2 == 1 {
            variants.reverse();
        }
        for (at, objects) in variants {
            node.reconcile(objects);
            node.run("conntrack -F 2>&1");
            stream[at] = throughput(world);
            connection[at] = rate(world);
        }
        streams.push(stream);
        connections.push(connection);
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The address of the pod, and 199 others for pods that send nothing.
fn many(node: Node<'_>, one: &Objects) -> Objects {
    let mac = node.world.mac(node.name, "eth1");
    (0..199_u32).fold(one.clone(), |objects, number| {
        let (pod, ip) = (format!("pod-{number}"), format!("ip-{number}"));
        let objects = with_pod(objects, &pod, Some(&format!("10.78.0.{}", number + 1)), &ip);
        claimed(
            objects,
            node.name,
            &mac,
            &ip,
            &format!("203.0.113.{}", number + 20),
            &pod,
        )
    })
}

/// The median time of full comparisons in which nothing changes.
fn compare(node: Node<'_>, objects: &Objects) -> Duration {
    node.reconcile(objects);
    node.with(|runtime, reconciler| {
        let mut took: Vec<_> = (0..21)
            .map(|_| {
                let begin = Instant::now();
                let (changes, _) = runtime
                    .block_on(reconciler.compare(objects, Part::All))
                    .unwrap();
                assert!(changes.is_empty());
                begin.elapsed()
            })
            .collect();
        took.sort();
        took[took.len() / 2]
    })
}

fn sink(world: &World) {
    let listener = within(&world.name("partner"), || {
        TcpListener::bind((PARTNER, 7001)).unwrap()
    });
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            std::thread::spawn(move || {
                let mut buffer = vec![0; 1 << 20];
                while let Ok(1..) = stream.read(&mut buffer) {}
            });
        }
    });
}

/// Megabytes per second from the pod to the partner.
fn throughput(world: &World) -> f64 {
    within(&world.name("client"), || {
        let mut stream = TcpStream::connect((PARTNER, 7001)).unwrap();
        let buffer = vec![7; 1 << 18];
        let (begin, mut sent) = (Instant::now(), 0_u32);
        while begin.elapsed() < LENGTH {
            stream.write_all(&buffer).unwrap();
            sent += 1;
        }
        f64::from(sent) * 0.262_144 / begin.elapsed().as_secs_f64()
    })
}

/// Connections per second, one after the other.
fn rate(world: &World) -> f64 {
    within(&world.name("client"), || {
        let (begin, mut count) = (Instant::now(), 0_u32);
        while begin.elapsed() < LENGTH {
            let (stream, _) = tcp(PARTNER, "0.0.0.0").unwrap();
            // Closed by a reset: there are only 28,000 ports, and each would be in TIME_WAIT for a minute.
            rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
            count += 1;
        }
        f64::from(count) / begin.elapsed().as_secs_f64()
    })
}
