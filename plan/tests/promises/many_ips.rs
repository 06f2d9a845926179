//! Facts of many IPs at rest, in the order in which a process receives them. Each IP has a holder, and no step is
//! needed.

use std::collections::BTreeMap;
use std::time::Duration;

use mooring_plan::cloud::{Interface, Subnet};
use mooring_plan::facts::{Affected, Fact, Facts, Kind, Settings};
use mooring_plan::names::{InterfaceId, IpName, NodeName, ResourceVersion, SubnetId};
use mooring_plan::objects::{Block, Ip, Node};
use mooring_plan::step::{Step, Write};
use mooring_plan::time::Instant;
use mooring_world::attached::{self, Attached, address, node_name};
use mooring_world::objects::{self, SUBNET, interface_of};

const INTERVAL: Duration = Duration::from_mins(1);

/// The prefix of the pod names.
pub const POD: &str = "pod";

/// The facts, and the objects behind them.
pub struct ManyIps {
    pub facts: Facts,
    pub now: Instant,
    pub interfaces: BTreeMap<InterfaceId, Interface>,
    pub nodes: BTreeMap<NodeName, Node>,
}

pub fn subnet() -> SubnetId {
    SubnetId::from(SUBNET)
}

impl ManyIps {
    /// Creates `ips` IPs on `nodes` nodes.
    pub fn at_rest(ips: u32, nodes: u32) -> Self {
        let settings = Settings {
            inventory_interval: INTERVAL,
        };
        let mut many_ips = Self {
            facts: Facts::new(settings),
            now: Instant::from_secs(1000),
            interfaces: BTreeMap::new(),
            nodes: BTreeMap::new(),
        };
        many_ips.deliver(Fact::Block(block()));
        many_ips.subnet_exists(SUBNET);
        for number in 0..nodes {
            many_ips.node(number);
        }
        for number in 0..ips {
            many_ips.held(number, number % nodes);
        }
        for kind in Kind::ALL {
            many_ips.deliver(Fact::Synced(kind));
        }
        many_ips.look();
        many_ips.look();
        many_ips.look_at_all();
        assert_eq!(many_ips.look_at_all(), 0, "they are not at rest");
        many_ips
    }

    pub fn deliver(&mut self, fact: Fact) -> Affected {
        self.facts.apply(fact, self.now, self.now)
    }

    /// EC2 knows the subnet.
    pub fn subnet_exists(&mut self, subnet: &str) {
        let cidrs = vec!["10.0.0.0/8".parse().unwrap()];
        self.deliver(Fact::SubnetRead(subnet.into(), Subnet::untagged(cidrs)));
    }

    /// Applies an inventory one interval after the last one.
    pub fn look(&mut self) -> Affected {
        self.now = self.now.plus(INTERVAL);
        let list = self.interfaces.values().cloned().collect();
        self.deliver(Fact::InventoryDone(subnet(), list))
    }

    /// Makes a decision for every IP, and carries out writes of conditions; returns the number of steps.
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
            self.deliver(Fact::Ip(Ip {
                version,
                status,
                ..known
            }));
        }
        count
    }

    /// Adds a ready Node with a usable ENI.
    pub fn node(&mut self, number: u32) {
        let name = node_name(number);
        let interface = objects::interface(name.as_str(), attached::primary(number));
        self.interfaces.insert(interface.id.clone(), interface);
        let node = objects::node(name.as_str());
        self.nodes.insert(name, node.clone());
        self.deliver(Fact::Node(node));
    }

    /// Adds an IP, its reservation, and the pod on this node that holds it.
    fn held(&mut self, number: u32, node: u32) {
        let node = node_name(node);
        let Attached {
            ip,
            reservation,
            pod,
        } = attached::attached(POD, number, &node);
        let interface = self.interfaces.get_mut(&interface_of(node.as_str()));
        interface.unwrap().addresses.insert(address(number));
        self.deliver(Fact::Ip(ip));
        self.deliver(Fact::Reservation(reservation));
        self.deliver(Fact::Pod(pod));
    }
}

pub fn block() -> Block {
    objects::block("block", "10.1.0.0/16")
}
