//! Everything around Mooring: users, scheduler, kubelets, the controllers of workloads, machines.
//!
//! It knows what it has made itself, and asks the API server only for what others write: gates, labels.

mod addresses;
mod cluster;
mod garbage;
mod kubelet;
mod machines;
mod pod;
mod scheduler;
mod workloads;

use std::collections::BTreeMap;
use std::time::Duration;

use ec2_emulator::state::id::SubnetId;

use crate::api_server::ApiServer;
use crate::chance::Chance;
use crate::cloud::Cloud;
use crate::log::Log;

pub use addresses::Wish;
pub use cluster::Cluster;
pub use machines::{Health, Machine};
pub use pod::Pod;
pub use workloads::{Kind, Workload};

/// Where all pods are.
pub const NAMESPACE: &str = "shop";

/// The world.
pub struct World {
    /// The API server, as everybody but Mooring uses it.
    pub cluster: Cluster,
    /// EC2, as everybody but Mooring uses it.
    pub cloud: Cloud,
    /// What happens.
    pub log: Log,
    /// What decides.
    pub chance: Chance,
    /// Machines by the names of their Nodes.
    pub machines: BTreeMap<String, Machine>,
    /// Pods by UID.
    pub pods: BTreeMap<String, Pod>,
    /// What users have deployed.
    pub workloads: Vec<Workload>,
    /// The IPs that users want, by name.
    pub wishes: BTreeMap<String, Wish>,
    /// The blocks by name, each with its CIDR's first three bytes and the range of its last.
    pub blocks: BTreeMap<String, (u8, u8, u8)>,
    pub(crate) primary: SubnetId,
    pub(crate) subnets: BTreeMap<String, SubnetId>,
    pub(crate) foreign: Vec<(String, std::net::Ipv4Addr)>,
    /// Nobody acts: the control plane is not back yet.
    pub frozen: bool,
    made: u64,
    next_sweep: Duration,
}

impl World {
    /// A network without machines.
    #[must_use]
    pub fn new(seed: u64, api: ApiServer, cloud: Cloud, log: Log) -> Self {
        let (primary, addresses) = machines::network(&cloud);
        Self {
            cluster: Cluster::new(api),
            cloud,
            log,
            chance: Chance::new(seed, "world"),
            machines: BTreeMap::new(),
            pods: BTreeMap::new(),
            workloads: Vec::new(),
            wishes: BTreeMap::new(),
            blocks: BTreeMap::new(),
            primary,
            subnets: BTreeMap::from([("10.0.1".to_owned(), addresses)]),
            foreign: Vec::new(),
            frozen: false,
            made: 0,
            next_sweep: Duration::ZERO,
        }
    }

    /// Everybody does what is due.
    pub fn turn(&mut self) {
        if self.frozen {
            return;
        }
        let now = self.log.now();
        self.watch_machines(now);
        self.run_kubelets(now);
        self.run_workloads(now);
        self.schedule();
        if now >= self.next_sweep {
            self.next_sweep = now + Duration::from_secs(5);
            self.sweep(now);
        }
    }

    /// A number that was not given before.
    fn number(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    fn say(&self, text: impl AsRef<str>) {
        self.log.say(format!("world    {}", text.as_ref()));
    }
}
