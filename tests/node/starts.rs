use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mooring::node::objects::Objects;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

use crate::node_part::RunNodePart as _;
use crate::objects::{only_block, with_ip, with_pod};
use mooring_cluster::network::{Backend, PARTNER, World, X, eventually};

/// The number of starts with each kind of iptables. `MOORING_STARTS` sets another one.
const STARTS: usize = 20;
const ADDRESS: &str = "10.77.0.20";
/// The type of service (DSCP CS1) of packets that a pod sends after the node part has its address.
const KNOWN: u8 = 0x20;

/// Pods start while the node part runs, and each sends to the partner from its start. Packets that a pod sends after
/// the node part has its address reach the partner with the static address or not at all, even in a flow that began
/// before.
pub fn starting_pods_never_send_from_another_address(backend: Backend) {
    let world = World::new(backend);
    let node = world.node("a");
    world.assign(X, "a");
    world.whitelist(X);
    world.serve("partner", PARTNER);
    world.nft(
        "partner",
        "table ip known {
           set sources { type ipv4_addr . inet_proto; flags dynamic; size 1000; }
           chain in { type filter hook prerouting priority -10;
             ip dscp cs1 add @sources { ip saddr . ip protocol }
           }
         }",
    );
    let running = node.start(only_block("a"));
    let unclaimed = |pod: &str, address: Option<&str>| -> Objects {
        let mut objects = with_pod(only_block("a"), pod, Some(ADDRESS), "one");
        objects.pods.values_mut().for_each(|pod| {
            pod.addresses = address
                .map(|address| address.parse().unwrap())
                .into_iter()
                .collect();
        });
        let mut objects = with_ip(objects, node, "one", X, pod);
        objects.ips.get_mut("one").unwrap().claim = None;
        objects
    };
    let evidence =
        || node.run("nft list ruleset; ip rule; ip route show table all; conntrack -L 2>&1");
    let starts = mooring_cluster::count("MOORING_STARTS", STARTS);
    let mut slowest = Duration::ZERO;
    for number in 0..starts {
        let pod = format!("pod-{number}");
        running.show(unclaimed(&pod, None));
        world.make(&pod);
        let sender = Sender::start(&world, &pod);
        node.plug(&pod, ADDRESS);
        let begin = Instant::now();
        running.show(unclaimed(&pod, Some(ADDRESS)));
        eventually("the pod is closed", evidence, || {
            node.run("nft list map ip mooring guarded 2>/dev/null || true")
                .contains(ADDRESS)
                .then_some(())
        });
        sender.known.store(true, Ordering::Relaxed);
        running.show(with_ip(
            unclaimed(&pod, Some(ADDRESS)),
            node,
            "one",
            X,
            &pod,
        ));
        eventually(
            "the flow that began before is seen as the address",
            evidence,
            || sender.answered.load(Ordering::Relaxed).then_some(()),
        );
        slowest = slowest.max(begin.elapsed());
        eventually("the node part reports it", evidence, || {
            running.reports.borrow().contains_key("one").then_some(())
        });
        drop(sender);
        running.show(only_block("a"));
        eventually("the pod is forgotten", evidence, || {
            running.reports.borrow().is_empty().then_some(())
        });
        node.end_pod(&pod, ADDRESS);
    }
    assert!(world.refused().is_empty(), "{:?}", world.refused());
    let sources = world.elements("partner", "ip known sources");
    let right = ["tcp", "udp"].map(|protocol| format!(r#"{{"concat":["{X}","{protocol}"]}}"#));
    assert_eq!(sources, right.into());
    println!("verified: {backend}: {starts} starts, the slowest took {slowest:?}");
}

/// A program that sends to the partner until this is dropped.
struct Sender {
    /// Does the node part have the address of the pod?
    known: Arc<AtomicBool>,
    /// Did the partner answer the UDP flow with the static address?
    answered: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Sender {
    fn start(world: &World, pod: &str) -> Self {
        let [known, answered, stop] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
        let flags = (Arc::clone(&known), Arc::clone(&answered), Arc::clone(&stop));
        let thread = world.spawn(pod, move || {
            let (known, answered, stop) = flags;
            let mut flow = None;
            while !stop.load(Ordering::Relaxed) {
                let service = if known.load(Ordering::Relaxed) {
                    KNOWN
                } else {
                    0
                };
                // The flow cannot be opened before the pod has a route.
                flow = flow.or_else(|| udp().ok());
                if let Some(flow) = &flow {
                    sockopt::set_ip_tos(flow, service).unwrap();
                    let _ = flow.send(b"who");
                    let mut buffer = [0; 100];
                    while let Ok(length) = flow.recv(&mut buffer) {
                        assert_eq!(&buffer[..length], X.as_bytes());
                        answered.store(true, Ordering::Relaxed);
                    }
                }
                syn(service);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Self {
            known,
            answered,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        if !std::thread::panicking() {
            ended.unwrap();
        }
    }
}

fn udp() -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect((PARTNER, 7000))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Starts a connection without waiting for it.
fn syn(service: u8) {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
    sockopt::set_ip_tos(&socket, service).unwrap();
    let partner: std::net::SocketAddr = format!("{PARTNER}:7000").parse().unwrap();
    let _ = connect(&socket, &partner);
}
