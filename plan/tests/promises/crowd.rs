//! Facts of many IPs at rest, told as a process hears them: each is held by a pod of its own, and nothing is
//! to be done.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use mooring_plan::block::BlockRange;
use mooring_plan::cloud::Interface;
use mooring_plan::facts::{Fact, Facts, Kind, Settings, Touched};
use mooring_plan::names::{
    InterfaceId, IpName, IpUid, Millis, NodeName, Place, PodKey, PodUid, ResourceVersion, SubnetId,
};
use mooring_plan::objects::{
    Block, BlockSpec, BlockStatus, Claim, Gate, Handover, Hold, Ip, IpStatus, Namespaces, Node,
    Pod, Reservation, Target, Wish,
};
use mooring_plan::step::{Step, Write};

const INTERVAL: Millis = Millis::seconds(60);

/// The facts, and what they were told of.
pub struct Crowd {
    pub facts: Facts,
    pub now: Millis,
    pub interfaces: BTreeMap<InterfaceId, Interface>,
    pub nodes: BTreeMap<NodeName, Node>,
}

pub fn pod_key(number: u32) -> PodKey {
    PodKey::new("default", format!("pod-{number}"))
}

pub fn ip_name(number: u32) -> IpName {
    IpName::new(format!("ip-{number:05}"))
}

pub fn node_name(number: u32) -> NodeName {
    NodeName::new(format!("node-{number:04}"))
}

fn subnet() -> SubnetId {
    SubnetId::from("subnet-1")
}

fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 1, 0, 0)) + number)
}

fn target(node: u32) -> Target {
    Target {
        node: node_name(node),
        place: Place {
            interface: InterfaceId::new(format!("eni-{node:04}")),
            instance: format!("i-{node:04}").as_str().into(),
        },
    }
}

impl Crowd {
    /// So many IPs, spread over so many nodes.
    pub fn at_rest(ips: u32, nodes: u32) -> Self {
        let settings = Settings {
            inventory_interval: INTERVAL,
        };
        let mut crowd = Self {
            facts: Facts::new(settings),
            now: Millis::seconds(1000),
            interfaces: BTreeMap::new(),
            nodes: BTreeMap::new(),
        };
        crowd.tell(Fact::Block(block()));
        let cidrs = vec!["10.0.0.0/8".parse().unwrap()];
        crowd.tell(Fact::SubnetRead(subnet(), cidrs));
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

    pub fn tell(&mut self, fact: Fact) -> Touched {
        self.facts.apply(fact, self.now, self.now)
    }

    /// An inventory, an interval after the last one.
    pub fn look(&mut self) -> Touched {
        self.now = self.now.plus(INTERVAL);
        let list = self.interfaces.values().cloned().collect();
        self.tell(Fact::InventoryDone(subnet(), list))
    }

    /// Decides for every IP, and writes what is to be said of it: how many steps there were.
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
            let Step::Write(Write::Status(_, version, _, status)) = step else {
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
        let Target { node, place } = target(number);
        let primary = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 200, 0, 10)) + number);
        let interface = Interface {
            id: place.interface,
            subnet: subnet(),
            instance: Some(place.instance.clone()),
            attached: true,
            device_index: Some(1),
            primary: Some(primary),
            addresses: BTreeSet::from([primary]),
            prefixes: Vec::default(),
            tags: BTreeMap::from([("node.k8s.amazonaws.com/no_manage".into(), "true".into())]),
            requester_managed: false,
        };
        self.interfaces.insert(interface.id.clone(), interface);
        let node = Node {
            name: node,
            created: 1_000,
            instance: Some(place.instance),
            instance_type: Some("m5.large".into()),
            ready: true,
            unreachable: false,
            out_of_service: false,
            labels: BTreeMap::new(),
        };
        self.nodes.insert(node.name.clone(), node.clone());
        self.tell(Fact::Node(node));
    }

    /// An IP, its reservation and the pod that holds it there.
    fn held(&mut self, number: u32, node: u32) {
        let (name, uid) = (ip_name(number), IpUid::new(format!("uid-{number}")));
        let pod_key = pod_key(number);
        let pod_uid = PodUid::new(format!("pod-uid-{number}"));
        let (address, target) = (address(number), target(node));
        let wish = Wish {
            address: Some(address),
            allowed_namespaces: Namespaces::All,
            ..Wish::default()
        };
        let status = IpStatus {
            address: Some(address),
            block: Some("block".into()),
            claim: Some(Claim {
                pod: pod_key.clone(),
                uid: pod_uid.clone(),
                hold: Hold::Recorded(target.clone()),
            }),
            ..IpStatus::default()
        };
        let interface = self.interfaces.get_mut(&target.place.interface).unwrap();
        interface.addresses.insert(address);
        self.tell(Fact::Ip(Ip {
            name: name.clone(),
            uid: uid.clone(),
            version: ResourceVersion(1),
            generation: 1,
            deleting: false,
            finalizer: true,
            wish: Ok(wish),
            take_from: None,
            status,
        }));
        self.tell(Fact::Reservation(Reservation {
            address,
            uid: format!("reservation-{number}"),
            version: ResourceVersion(1),
            deleting: false,
            finalizer: true,
            parent: Some(name.clone()),
            parent_text: format!("IP {name}"),
            label: Some(uid.clone()),
            owner: Some(uid.clone()),
            managed: true,
        }));
        self.tell(Fact::Pod(Pod {
            uid: pod_uid,
            key: pod_key,
            version: ResourceVersion(1),
            created: 1,
            node: Some(target.node),
            ended: false,
            deleting: None,
            annotated: true,
            label: Some(name),
            ip: Some(uid),
            gated: true,
            gate: Some(Gate {
                status: true,
                reason: "Attached".to_owned(),
            }),
            containers_ready: true,
            containers_running: true,
            unready_gates: BTreeSet::new(),
            handover: Handover::ContainersReady,
            controller: None,
        }));
    }
}

pub fn block() -> Block {
    let spec = BlockSpec {
        range: BlockRange::parse("10.1.0.0/16", []).unwrap(),
        subnet: subnet(),
        node_selector: None,
        interface_tags: BTreeMap::new(),
        allowed_namespaces: Namespaces::All,
        failover_after: Millis::seconds(30),
    };
    Block {
        name: "block".into(),
        uid: "block-uid".to_owned(),
        version: ResourceVersion(1),
        generation: 1,
        deleting: false,
        finalizer: true,
        spec: Ok(spec),
        release_brake: false,
        status: BlockStatus::default(),
    }
}
