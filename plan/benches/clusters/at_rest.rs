//! A cluster in which every IP is attached, and nothing is to be done.

use std::net::Ipv4Addr;
use std::time::Duration;

use mooring_plan::buckets::Budget;
use mooring_plan::engine::{Engine, Event, Pacing};
use mooring_plan::facts::{Fact, Settings};
use mooring_plan::names::{ClaimId, InterfaceRef, IpName, IpUid, NodeName, PodKey, PodUid};
use mooring_plan::objects::{Claim, ClaimPhase, Gate, Ip, IpStatus, Pod, Target};
use mooring_plan::time::Instant;
use mooring_world::engine::leadership;
use mooring_world::objects::{self, instance_of, interface_of, key};

use crate::cluster::Cluster;
use crate::interfaces::LIMIT;
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

pub fn ip_name(number: u32) -> IpName {
    IpName::new(format!("ip-{number:05}"))
}

pub fn node_name(number: u32) -> NodeName {
    NodeName::new(format!("{number:04}"))
}

pub fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 1, 0, 0)) + number)
}

/// The node on which an IP is at rest. Those that are not drained have as many addresses as there is room for.
fn node_of(ip: u32) -> u32 {
    let full = u32::try_from(LIMIT).unwrap() - 1;
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
        cluster.tell(Fact::Block(block), now);
        for number in 0..=node_of(ips - 1).max(2 * DRAINED) {
            cluster.node(number, now);
        }
        for number in 0..ips {
            cluster.held(number, now);
        }
        let ends: Vec<Fact> = cluster.kube.lists_end().collect();
        for fact in ends {
            cluster.tell(fact, now);
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

    pub fn tell(&mut self, fact: Fact, now: Instant) {
        self.engine.handle(Event::Fact(fact), now);
    }

    fn node(&mut self, number: u32, now: Instant) {
        let name = node_name(number);
        let primary = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 200, 0, 10)) + number);
        self.interfaces
            .create(objects::interface(name.as_str(), primary));
        let mut node = objects::node(name.as_str());
        node.version = self.kube.bump();
        self.kube.nodes.insert(name, node.clone());
        self.tell(Fact::Node(node), now);
    }

    /// An IP, its reservation and the pod that holds it.
    fn held(&mut self, number: u32, now: Instant) {
        let (name, uid) = (ip_name(number), IpUid::new(format!("uid-{number}")));
        let (address, node) = (address(number), node_name(node_of(number)));
        let mut pod = pod("old", number, &node);
        pod.version = self.kube.bump();
        pod.gate = Some(Gate {
            status: true,
            reason: "Attached".to_owned(),
        });
        let status = IpStatus {
            address: Some(address),
            block: Some("block".into()),
            claim: Some(Claim {
                pod: pod.key.clone(),
                uid: pod.uid.clone(),
                id: ClaimId(1),
                phase: ClaimPhase::Recorded(Target {
                    place: InterfaceRef {
                        interface: interface_of(node.as_str()),
                        instance: instance_of(node.as_str()),
                    },
                    node: node.clone(),
                }),
            }),
            ..IpStatus::default()
        };
        let ip = Ip {
            version: self.kube.bump(),
            finalizer: true,
            status,
            ..objects::ip(name.as_str(), uid.as_str(), objects::desired(address))
        };
        let mut held = objects::reservation(&format!("reservation-{number}"), address, &name, &uid);
        held.version = self.kube.bump();
        self.interfaces.put(address, &interface_of(node.as_str()));
        self.kube.ips.insert(name, ip.clone());
        self.kube.reservations.insert(address, held.clone());
        self.kube.pods.insert(pod.key.clone(), pod.clone());
        self.tell(Fact::Ip(ip), now);
        self.tell(Fact::Reservation(held), now);
        self.tell(Fact::Pod(pod), now);
    }
}

pub fn pod_key(what: &str, number: u32) -> PodKey {
    key(&format!("{what}-{number}"))
}

pub fn pod_uid(what: &str, number: u32) -> PodUid {
    PodUid::new(format!("uid-of-{what}-{number}"))
}

/// A pod that asks for an IP, bound to a node, whose containers run.
pub fn pod(what: &str, number: u32, node: &NodeName) -> Pod {
    let uid = IpUid::new(format!("uid-{number}"));
    let key = pod_key(what, number);
    let ip = ip_name(number);
    let pod = objects::pod(
        &key.name,
        pod_uid(what, number).as_str(),
        ip.as_str(),
        Some(uid),
    );
    Pod {
        node: Some(node.clone()),
        containers_ready: true,
        containers_running: true,
        ..pod
    }
}
