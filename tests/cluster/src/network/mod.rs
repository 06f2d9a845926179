//! A VPC in network namespaces, with nodes, pods, partners and the rules of the AWS VPC CNI.
//!
//! `vpc` is the router of the VPC: it delivers packets for an address to the ENI that has it, and drops packets that an
//! ENI sends with the source of another one (the source/destination check of EC2). `partner` accepts only connections
//! from allowed addresses. `gateway` leads to a second partner.

mod api;
mod cni;
mod echo;
mod inside;
mod node;
mod traffic;
mod vpc;

pub use api::{Api, NodePart};
pub use echo::Echo;
pub use inside::{Entered, enter, enter_network, runtime_in, shell, within};
pub use node::Node;
pub use traffic::{Protocol, tcp};

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The partner.
pub const PARTNER: &str = "198.51.100.9";
/// The partner behind the second gateway.
pub const SECOND_PARTNER: &str = "192.0.2.9";
/// The gateway to it, in the subnet of the static addresses.
pub const SECOND_GATEWAY: &str = "203.0.113.200";
/// A machine in the VPC.
pub const NEIGHBOUR: &str = "10.77.0.1";
/// A static address.
pub const X: &str = "203.0.113.10";
/// A second static address.
pub const Y: &str = "203.0.113.11";

/// Time limit of a wait: less than the 30 s after which the node part compares without an event.
const LIMIT: Duration = Duration::from_secs(25);

/// The kind of iptables that the CNI uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// `iptables-legacy`
    Legacy,
    /// `iptables-nft`
    Nft,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Nft => "nft",
        })
    }
}

/// A VPC.
pub struct World {
    id: u32,
    /// The number of nodes that were made.
    nodes: AtomicU32,
    backend: Backend,
}

static WORLDS: AtomicU32 = AtomicU32::new(0);

/// Waits until `done` returns a value. Fails with `evidence` after 25 s.
pub fn eventually<T>(what: &str, evidence: impl Fn() -> String, done: impl Fn() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = done() {
            return value;
        }
        assert!(
            begin.elapsed() < LIMIT,
            "not within {LIMIT:?}: {what}\n{}",
            evidence()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl World {
    /// Makes the VPC, without nodes.
    pub fn new(backend: Backend) -> Self {
        let id = WORLDS.fetch_add(1, Ordering::Relaxed);
        let world = Self {
            id,
            nodes: AtomicU32::new(0),
            backend,
        };
        for name in ["vpc", "partner", "gateway"] {
            world.make(name);
        }
        world.make_vpc();
        world
    }

    /// The name of a namespace of this VPC.
    pub fn name(&self, name: &str) -> String {
        format!("w{}-{name}", self.id)
    }

    /// Makes a namespace. IPv6 addresses are not checked for duplicates there: such an address would change a second
    /// after its interface is up, and so differ between two comparisons.
    pub fn make(&self, name: &str) {
        let name = self.name(name);
        inside::shell(&format!(
            "ip netns add {name} && ip -n {name} link set lo up"
        ));
        inside::run(
            &name,
            "cd /proc/sys/net/ipv6/conf || exit 0; echo 0 > all/accept_dad; echo 0 > default/accept_dad",
        );
    }

    /// Runs a shell command in one of the namespaces.
    pub fn run(&self, name: &str, command: &str) -> String {
        inside::run(&self.name(name), command)
    }
}
