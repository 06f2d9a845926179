//! Facts of many IPs at rest, in the order in which a process receives them: each has its own pod, and nothing is
//! to be done.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use mooring_plan::cloud::{Interface, Subnet};
use mooring_plan::facts::{Affected, Fact, Facts, Kind, Settings};
use mooring_plan::names::{
    ClaimId, InterfaceId, InterfaceRef, IpName, IpUid, NodeName, PodKey, PodUid, ResourceVersion,
    SubnetId,
};
use mooring_plan::objects::{Block, Claim, ClaimPhase, Gate, Ip, IpStatus, Node, Pod, Target};
use mooring_plan::step::{Step, Write};
use mooring_plan::time::Instant;
use mooring_world::objects::{self, SUBNET, instance_of, interface_of, key};

const INTERVAL: Duration = Duration::from_mins(1);

/// The facts, and what they were told of.
pub struct Crowd {
    pub facts: Facts,
    /// Everything that the facts were told, in order.
    pub told: Vec<Fact>,
    pub now: Instant,
    pub interfaces: BTreeMap<InterfaceId, Interface>,
    pub nodes: BTreeMap<NodeName, Node>,
}

pub fn pod_key(number: u32) -> PodKey {
    key(&format!("pod-{number}"))
}

pub fn ip_name(number: u32) -> IpName {
    IpName::new(format!("ip-{number:05}"))
}

pub fn node_name(number: u32) -> NodeName {
    NodeName::new(format!("{number:04}"))
}

pub fn subnet() -> SubnetId {
    SubnetId::from(SUBNET)
}

pub fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 1, 0, 0)) + number)
}

fn target(node: u32) -> Target {
    let node = node_name(node);
    Target {
        place: InterfaceRef {
            interface: interface_of(node.as_str()),
            instance: instance_of(node.as_str()),
        },
        node,
    }
}

impl Crowd {
    /// This number of IPs, spread over this number of nodes.
    pub fn at_rest(ips: u32, nodes: u32) -> Self {
        let settings = Settings {
            inventory_interval: INTERVAL,
        };
        let mut crowd = Self {
            facts: Facts::new(settings),
            told: Vec::new(),
            now: Instant::from_secs(1000),
            interfaces: BTreeMap::new(),
            nodes: BTreeMap::new(),
        };
        crowd.tell(Fact::Block(block()));
        let cidrs = vec!["10.0.0.0/8".parse().unwrap()];
        crowd.tell(Fact::SubnetRead(subnet(), Subnet::untagged(cidrs)));
        for number in 0..nodes {
            crowd.node(number);
        }
        for number in 0..ips {
            crowd.held(number, number % nodes);
        }
        for kind in Kind::ALL {
            crowd.tell(Fact::Synced(kind));
        }
        crowd.look();
        crowd.look();
        crowd.look_at_all();
        assert_eq!(crowd.look_at_all(), 0, "they are not at rest");
        crowd
    }

    pub fn tell(&mut self, fact: Fact) -> Affected {
        self.told.push(fact.clone());
        self.facts.apply(fact, self.now, self.now)
    }

    /// An inventory, an interval after the last one.
    pub fn look(&mut self) -> Affected {
        self.now = self.now.plus(INTERVAL);
        let list = self.interfaces.values().cloned().collect();
        self.tell(Fact::InventoryDone(subnet(), list))
    }

    /// Decides for every IP, and writes its conditions; returns the number of steps.
    pub fn look_at_all(&mut self) -> usize {
        let names: Vec<IpName> = self.facts.ip_names().cloned().collect();
        let now = self.now;
        let steps: Vec<(IpName, Step)> = names
            .into_iter()
            .filter_map(|name| {
                let step = self.facts.decide(&name, now).step?;
                Some((name, step))
            })
            .collect();
        let count = steps.len();
        for (name, step) in steps {
            let Step::Write(Write::Status {
                version, status, ..
            }) = step
            else {
                panic!("{name} is not at rest: {step:?}");
            };
            let version = ResourceVersion(version.0 + 1);
            let known = self.facts.ip(&name).unwrap().clone();
            self.tell(Fact::Ip(Ip {
                version,
                status,
                ..known
            }));
        }
        count
    }

    /// A Node that is ready, with an interface that addresses can be on.
    pub fn node(&mut self, number: u32) {
        let name = node_name(number);
        let primary = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 200, 0, 10)) + number);
        let interface = objects::interface(name.as_str(), primary);
        self.interfaces.insert(interface.id.clone(), interface);
        let node = objects::node(name.as_str());
        self.nodes.insert(name, node.clone());
        self.tell(Fact::Node(node));
    }

    /// An IP, its reservation and the pod that holds it there.
    fn held(&mut self, number: u32, node: u32) {
        let (name, uid) = (ip_name(number), IpUid::new(format!("uid-{number}")));
        let pod_key = pod_key(number);
        let pod_uid = PodUid::new(format!("pod-uid-{number}"));
        let (address, target) = (address(number), target(node));
        let status = IpStatus {
            address: Some(address),
            block: Some("block".into()),
            claim: Some(Claim {
                pod: pod_key.clone(),
                uid: pod_uid.clone(),
                id: ClaimId(1),
                phase: ClaimPhase::Recorded(target.clone()),
            }),
            ..IpStatus::default()
        };
        let interface = self.interfaces.get_mut(&target.place.interface).unwrap();
        interface.addresses.insert(address);
        self.tell(Fact::Ip(Ip {
            finalizer: true,
            status,
            ..objects::ip(name.as_str(), uid.as_str(), objects::desired(address))
        }));
        let held = objects::reservation(&format!("reservation-{number}"), address, &name, &uid);
        self.tell(Fact::Reservation(held));
        let pod = objects::pod(&pod_key.name, pod_uid.as_str(), name.as_str(), Some(uid));
        self.tell(Fact::Pod(Pod {
            node: Some(target.node),
            gate: Some(Gate {
                status: true,
                reason: "Attached".to_owned(),
            }),
            containers_ready: true,
            containers_running: true,
            ..pod
        }));
    }
}

pub fn block() -> Block {
    objects::block("block", "10.1.0.0/16")
}
