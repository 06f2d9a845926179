//! A node with its pods, and the node part on it.

use std::collections::BTreeMap;
use std::thread;

use mooring::node::kernel::{Events, Part};
use mooring::node::objects::{Block, Claim, Ip, NodeSpec, Objects, Pod, Route};
use mooring::node::reconcile::{Outcome, Reconciler, Reports, run};
use mooring::node::settings::Settings;
use tokio::sync::watch;

use super::World;
use super::inside::{enter_network, shell, within};

/// A node: `a` or `b`.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    pub world: &'a World,
    pub name: &'static str,
    pub primary: &'static str,
}

impl World {
    /// Makes a node with a primary ENI and one in the subnet of the static addresses.
    pub fn node(&self, name: &'static str) -> Node<'_> {
        let (primary, other) = match name {
            "a" => ("10.77.0.10", "203.0.113.5"),
            _ => ("10.77.0.11", "203.0.113.6"),
        };
        self.make(name);
        self.connect(name, "eth0", "br0", &format!("p{name}"));
        self.connect(name, "eth1", "br1", &format!("e{name}"));
        self.allow(&format!("p{name}"), primary);
        self.allow(&format!("e{name}"), other);
        self.run(
            name,
            &format!(
                "ip addr add {primary}/24 dev eth0
                 ip addr add {other}/24 dev eth1
                 ip route add default via 10.77.0.1 dev eth0
                 echo 1 > /proc/sys/net/ipv4/ip_forward
                 echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter
                 echo 2 > /proc/sys/net/ipv4/conf/eth0/rp_filter
                 echo 1 > /proc/sys/net/ipv4/conf/eth1/rp_filter"
            ),
        );
        self.install_cni(name, primary);
        Node {
            world: self,
            name,
            primary,
        }
    }
}

impl Node<'_> {
    /// Makes a pod as the CNI does: a pair of interfaces, a route, a rule. It answers at its address.
    pub fn pod(&self, pod: &str, address: &str) {
        let world = self.world;
        world.make(pod);
        let (node, inner, host) = (world.name(self.name), world.name(pod), format!("eni{pod}"));
        shell(&format!(
            "ip -n {node} link add {host} type veth peer name eth0 netns {inner}
             ip -n {node} link set {host} up
             ip -n {inner} link set eth0 up
             ip -n {inner} addr add {address}/32 dev eth0
             ip -n {inner} route add 169.254.1.1 dev eth0 scope link
             ip -n {inner} route add default via 169.254.1.1
             ip -n {node} route add {address}/32 dev {host} scope link
             ip -n {node} rule add pref 512 to {address} lookup main"
        ));
        world.run(
            self.name,
            // Answers for another address come after a random delay of up to 0.8 s otherwise.
            &format!(
                "echo 1 > /proc/sys/net/ipv4/conf/{host}/proxy_arp
                 echo 0 > /proc/sys/net/ipv4/neigh/{host}/proxy_delay"
            ),
        );
        world.run(
            "vpc",
            &format!("ip route replace {address}/32 via {}", self.primary),
        );
        world.allow(&format!("p{}", self.name), address);
        world.serve(pod, address);
    }

    pub fn run(&self, command: &str) -> String {
        self.world.run(self.name, command)
    }

    /// Compares and applies once, as the node part does.
    pub fn reconcile(&self, objects: &Objects) -> Outcome {
        let outcome = self.with(|runtime, reconciler| {
            runtime
                .block_on(reconciler.reconcile(objects, Part::All))
                .unwrap()
        });
        assert!(outcome.errors.is_empty(), "{:#?}", outcome.errors);
        outcome
    }

    /// Does something with a node part that starts now and ends at once.
    pub fn with<T: Send>(
        &self,
        work: impl FnOnce(&tokio::runtime::Runtime, &mut Reconciler) -> T + Send,
    ) -> T {
        within(&self.world.name(self.name), || {
            let runtime = runtime();
            let guard = runtime.enter();
            let mut reconciler = Reconciler::open(Settings::default()).unwrap();
            drop(guard);
            work(&runtime, &mut reconciler)
        })
    }

    /// Starts a node part that runs until what is returned is dropped.
    pub fn start(&self, objects: Objects) -> Running {
        let (wish, objects) = watch::channel(objects);
        let (said, reports) = watch::channel(Reports::new());
        let name = self.world.name(self.name);
        let thread = thread::spawn(move || {
            enter_network(&name);
            runtime().block_on(async {
                let reconciler = Reconciler::open(Settings::default()).unwrap();
                run(reconciler, Events::open().unwrap(), objects, said)
                    .await
                    .unwrap();
            });
        });
        Running {
            wish: Some(wish),
            reports,
            thread: Some(thread),
        }
    }
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// A node part that runs.
pub struct Running {
    wish: Option<watch::Sender<Objects>>,
    pub reports: watch::Receiver<Reports>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Running {
    pub fn wish(&self, objects: Objects) {
        self.wish.as_ref().unwrap().send_replace(objects);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.wish.take());
        let ended = self.thread.take().unwrap().join();
        if !thread::panicking() {
            ended.unwrap();
        }
    }
}

/// The objects that a node part sees: a block with the partner's network, and what is added to it.
pub fn objects(node: &str) -> Objects {
    let block = Block {
        subnets: vec!["203.0.113.0/24".parse().unwrap()],
        node: Some(NodeSpec {
            routes: vec![route("198.51.100.0/24", None)],
            internal: None,
        }),
    };
    Objects {
        node: node.to_owned(),
        blocks: BTreeMap::from([("partners".to_owned(), block)]),
        ..Objects::default()
    }
}

pub fn route(to: &str, via: Option<&str>) -> Route {
    Route {
        to: to.parse().unwrap(),
        via: via.map(|via| via.parse().unwrap()),
        optional: false,
    }
}

/// A pod that asks for the IP `ip`.
pub fn with_pod(mut objects: Objects, pod: &str, address: Option<&str>, ip: &str) -> Objects {
    objects.pods.insert(
        format!("uid-{pod}"),
        Pod {
            name: format!("default/{pod}"),
            wants: ip.to_owned(),
            address: address.map(|address| address.parse().unwrap()),
            host_network: address.is_none(),
        },
    );
    objects
}

/// An IP whose address EC2 has put on the second ENI of a node, for a pod.
pub fn with_ip(wish: Objects, node: Node<'_>, ip: &str, address: &str, pod: &str) -> Objects {
    let mac = node.world.mac(node.name, "eth1");
    claimed(wish, node.name, &mac, ip, address, pod)
}

/// As `with_ip`, by the MAC of the ENI.
pub fn claimed(
    mut wish: Objects,
    node: &str,
    mac: &str,
    ip: &str,
    address: &str,
    pod: &str,
) -> Objects {
    let claim = Claim {
        id: format!("{pod}-{node}"),
        address: address.parse().unwrap(),
        pod: format!("uid-{pod}"),
        node: node.to_owned(),
        assigned: true,
        mac: Some(mac.parse().unwrap()),
    };
    let ip_of_claim = Ip {
        block: Some("partners".to_owned()),
        routes: Vec::new(),
        claim: Some(claim),
    };
    wish.ips.insert(ip.to_owned(), ip_of_claim);
    wish
}

/// A node `a` with the pod `client`, which has the address X, programmed.
pub fn one_pod(world: &World) -> (Node<'_>, Objects) {
    let node = world.node("a");
    node.pod("client", "10.77.0.20");
    world.assign(super::X, "a");
    world.whitelist(super::X);
    world.serve("partner", super::PARTNER);
    let wish = with_pod(objects("a"), "client", Some("10.77.0.20"), "one");
    let wish = with_ip(wish, node, "one", super::X, "client");
    (node, wish)
}
