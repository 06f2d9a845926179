use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use mooring::node::kernel::Part;
use mooring::node::objects::Objects;

use crate::world::inside::within;
use crate::world::node::{claimed, one_pod, with_pod};
use crate::world::traffic::tcp;
use crate::world::{Backend, Node, PARTNER, World};

/// How often each is measured; the best counts, because other processes only make it worse.
const ROUNDS: usize = 7;
const LENGTH: Duration = Duration::from_millis(700);

/// Throughput and connection rate through the path are at least 95 % of the same without it, 200 addresses cost as
/// much as one, and a full comparison of 200 addresses takes at most 50 ms.
///
/// Listed only with `MOORING_NODE_COSTS=1`: it means something on a machine that does nothing else.
pub fn the_path_costs_next_to_nothing(backend: Backend) {
    let world = World::new(backend);
    let (node, one) = one_pod(&world);
    world.whitelist(node.primary);
    sink(&world);
    let many = many(node, &one);
    let nothing = Objects::default();
    let (mut streams, mut connections) = ([0.0_f64; 3], [0.0_f64; 3]);
    for _ in 0..ROUNDS {
        for (at, wish) in [&nothing, &one, &many].into_iter().enumerate() {
            node.reconcile(wish);
            node.run("conntrack -F 2>&1");
            streams[at] = streams[at].max(throughput(&world));
            connections[at] = connections[at].max(rate(&world));
        }
    }
    let comparison = comparison(node, &many);
    let begin = Instant::now();
    node.run("nft -j list table ip mooring > /dev/null");
    println!("{backend}: nft alone needs {:?} of it", begin.elapsed());
    println!("{backend}: throughput without, 1, 200: {streams:.0?} MB/s");
    println!("{backend}: connections without, 1, 200: {connections:.0?} per s");
    println!("{backend}: full comparison of 200 addresses: {comparison:?}");
    for values in [streams, connections] {
        assert!(
            values[1] >= 0.95 * values[0],
            "with it {} of {}",
            values[1],
            values[0]
        );
        assert!(
            values[2] >= 0.95 * values[1],
            "with 200 {} of {}",
            values[2],
            values[1]
        );
    }
    // Without optimisation most of it is the reading of JSON.
    if !cfg!(debug_assertions) {
        assert!(comparison <= Duration::from_millis(50), "{comparison:?}");
    }
}

/// The address of the one pod, and 199 others for pods that send nothing.
fn many(node: Node<'_>, one: &Objects) -> Objects {
    let mac = node.world.mac(node.name, "eth1");
    (0..199_u32).fold(one.clone(), |wish, number| {
        let (pod, ip) = (format!("pod-{number}"), format!("ip-{number}"));
        let wish = with_pod(wish, &pod, Some(&format!("10.78.0.{}", number + 1)), &ip);
        claimed(
            wish,
            node.name,
            &mac,
            &ip,
            &format!("203.0.113.{}", number + 20),
            &pod,
        )
    })
}

/// The median of full comparisons in which nothing changes.
fn comparison(node: Node<'_>, wish: &Objects) -> Duration {
    node.with(|runtime, reconciler| {
        let mut took: Vec<_> = (0..21)
            .map(|_| {
                let begin = Instant::now();
                let (changes, _) = runtime
                    .block_on(reconciler.compare(wish, Part::All))
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

/// Megabytes in a second, from the pod to the partner.
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

/// Connections in a second, one after the other.
fn rate(world: &World) -> f64 {
    within(&world.name("client"), || {
        let (begin, mut count) = (Instant::now(), 0_u32);
        while begin.elapsed() < LENGTH {
            let (stream, _) = tcp(PARTNER, "0.0.0.0").unwrap();
            // Ended by a reset: there are only 28,000 ports, and each would wait for a minute.
            rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
            count += 1;
        }
        f64::from(count) / begin.elapsed().as_secs_f64()
    })
}
