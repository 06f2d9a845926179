//! A cluster in which every IP is attached, and nothing is to be done.

use std::time::Duration;

use mooring_plan::buckets::Budget;
use mooring_plan::engine::{Engine, Event, Pacing};
use mooring_plan::facts::{Fact, Kind, Settings};
use mooring_plan::names::IpName;
use mooring_plan::time::Instant;
use mooring_world::attached::{Attached, address, attached, ip_name, node_name, primary};
use mooring_world::engine::leadership;
use mooring_world::objects::{self, interface_of};

use crate::cluster::Cluster;
use crate::interfaces::MAX_ADDRESSES;
use crate::run::Run;

/// The nodes that are drained, which are the first ones. As many empty ones come after them.
pub const DRAINED: u32 = 4;
/// The addresses of each of them.
const EACH: u32 = 32;
/// The moves in each cluster.
pub const MOVES: u32 = DRAINED * EACH;
/// Longer than the engine takes until it begins nothing more, and two inventories.
const SETTLE: Duration = Duration::from_mins(3);
/// When the process begins.
const BEGIN: Instant = Instant::from_secs(1000);

/// When all clusters are at rest.
pub const fn now() -> Instant {
    BEGIN.plus(SETTLE)
}

/// The node on which an IP is at rest. Those that are not drained have as many addresses as there is room for.
fn node_of(ip: u32) -> u32 {
    let full = u32::try_from(MAX_ADDRESSES).unwrap() - 1;
    match ip.checked_sub(MOVES) {
        None => ip / EACH,
        Some(other) => 2 * DRAINED + other / full,
    }
}

impl Cluster {
    /// This number of IPs, attached, in a process that has led for some minutes.
    pub fn at_rest(ips: u32, budget: Budget) -> Self {
        let settings = Settings {
            inventory_interval: Duration::from_mins(1),
        };
        let engine = Engine::new(settings, Pacing::On).with_budget(budget);
        let mut cluster = Self::new(engine);
        let now = BEGIN;
        let block = objects::block("block", "10.1.0.0/16");
        cluster.kube.bump();
        cluster
            .kube
            .blocks
            .insert(block.name.clone(), block.clone());
        cluster.deliver(Fact::Block(block), now);
        for number in 0..=node_of(ips - 1).max(2 * DRAINED) {
            cluster.node(number, now);
        }
        for number in 0..ips {
            cluster.held(number, now);
        }
        for fact in Kind::ALL.map(Fact::Synced) {
            cluster.deliver(fact, now);
        }
        cluster.engine.handle(leadership(true), now);
        let mut run = Run::of(vec![cluster], Vec::new(), now);
        run.until(self::now());
        let mut cluster = run.clusters.remove(0);
        cluster.forget_those_at_rest();
        cluster
    }

    /// The API server keeps only what moves: a write of anything else ends the run. So it is certain that the others
    /// are not touched.
    fn forget_those_at_rest(&mut self) {
        self.recorded.clear();
        let moves = |ip: &IpName| (0..MOVES).any(|number| ip_name(number) == *ip);
        self.kube.ips.retain(|name, _| moves(name));
        let ips: Vec<_> = self.kube.ips.keys().cloned().collect();
        self.kube
            .pods
            .retain(|_, pod| pod.label.as_ref().is_some_and(|ip| ips.contains(ip)));
        self.kube.reservations.clear();
    }

    pub fn deliver(&mut self, fact: Fact, now: Instant) {
        self.engine.handle(Event::Fact(fact), now);
    }

    fn node(&mut self, number: u32, now: Instant) {
        let name = node_name(number);
        self.interfaces
            .create(objects::interface(name.as_str(), primary(number)));
        let mut node = objects::node(name.as_str());
        node.version = self.kube.bump();
        self.kube.nodes.insert(name, node.clone());
        self.deliver(Fact::Node(node), now);
    }

    /// An IP, its reservation and the pod that holds it.
    fn held(&mut self, number: u32, now: Instant) {
        let node = node_name(node_of(number));
        let Attached {
            mut ip,
            mut reservation,
            mut pod,
        } = attached("old", number, &node);
        for version in [&mut pod.version, &mut ip.version, &mut reservation.version] {
            *version = self.kube.bump();
        }
        self.interfaces
            .put(address(number), &interface_of(node.as_str()));
        for fact in [Fact::Ip(ip), Fact::Reservation(reservation), Fact::Pod(pod)] {
            self.kube.show(&fact);
            self.deliver(fact, now);
        }
    }
}
