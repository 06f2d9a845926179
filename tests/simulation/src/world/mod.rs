//! The environment of Mooring: users, scheduler, kubelets, the controllers of workloads, machines.
//!
//! It stores its own objects, and reads from the API server only what other clients write: gates, labels.

mod addresses;
mod cluster;
mod foreign_clients;
mod garbage;
mod interfaces;
mod kubelet;
mod machines;
mod node_parts;
mod out_of_service;
mod pod;
mod scheduler;
mod shape;
mod workload_controllers;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ec2_emulator::state::id::{NetworkInterfaceId, SubnetId};

use crate::api_server::ApiServer;
use crate::chance::Chance;
use crate::cloud::Cloud;
use crate::log::Log;

pub use addresses::{DesiredIp, Range};
pub use cluster::Cluster;
pub use interfaces::{PLUGINS, PRIMARY_IN_BLOCK};
pub use machines::{Health, Machine};
pub use pod::Pod;
pub use shape::Shape;
pub use workloads::{Kind, Workload};

/// The namespace of all pods.
pub const NAMESPACE: &str = "shop";

/// The environment of Mooring.
pub struct World {
    /// The API server for all clients except Mooring.
    pub cluster: Cluster,
    /// EC2 for all clients except Mooring.
    pub cloud: Cloud,
    /// The log.
    pub log: Log,
    /// The random number generator.
    pub chance: Chance,
    /// Machines by the names of their Nodes.
    pub machines: BTreeMap<String, Machine>,
    /// Pods by UID.
    pub pods: BTreeMap<String, Pod>,
    /// The workloads of the users.
    pub workloads: Vec<Workload>,
    /// The IPs that users want, by name.
    pub desired_ips: BTreeMap<String, DesiredIp>,
    /// The blocks by name.
    pub blocks: BTreeMap<String, Range>,
    /// The blocks that were deleted, and will be created again.
    pub leaving: BTreeSet<String>,
    /// The size of the world.
    pub shape: Shape,
    pub(crate) primary: SubnetId,
    /// The subnets for addresses, by the third byte of their addresses.
    pub(crate) subnets: BTreeMap<u8, SubnetId>,
    pub(crate) foreign: Vec<(String, std::net::Ipv4Addr)>,
    pub(crate) delegated: Vec<(NetworkInterfaceId, ipnet::Ipv4Net)>,
    /// The programmed state of the kernels of the nodes.
    kernels: BTreeMap<String, node_parts::Kernel>,
    /// Whether actions are paused, because the control plane is not complete yet.
    pub frozen: bool,
    made: u64,
    next_sweep: Duration,
}

impl World {
    /// A network without machines.
    #[must_use]
    pub fn new(seed: u64, shape: Shape, api: ApiServer, cloud: Cloud, log: Log) -> Self {
        let (primary, subnets) = interfaces::network(&cloud, &shape.subnets);
        cloud.set_page(shape.page);
        Self {
            cluster: Cluster::new(api),
            cloud,
            log,
            chance: Chance::new(seed, "world"),
            machines: BTreeMap::new(),
            pods: BTreeMap::new(),
            workloads: Vec::new(),
            desired_ips: BTreeMap::new(),
            blocks: BTreeMap::new(),
            leaving: BTreeSet::new(),
            shape,
            primary,
            subnets,
            foreign: Vec::new(),
            delegated: Vec::new(),
            kernels: BTreeMap::new(),
            frozen: false,
            made: 0,
            next_sweep: Duration::ZERO,
        }
    }

    /// Runs everything that is due in all parts of the world.
    pub fn turn(&mut self) {
        if self.frozen {
            return;
        }
        let now = self.log.now();
        self.watch_machines(now);
        self.run_kubelets(now);
        self.evict(now);
        self.run_node_parts();
        self.run_workloads(now);
        self.schedule();
        if now >= self.next_sweep {
            self.next_sweep = now + Duration::from_secs(5);
            self.sweep(now);
        }
    }

    /// A number that was not returned before.
    fn number(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    fn note(&self, text: impl AsRef<str>) {
        self.log.note(format!("world    {}", text.as_ref()));
    }
}
