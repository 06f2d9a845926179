//! A world for an engine that keeps the time between requests: requests take time, and many are in flight at once.
//! Rules: R5.28, R5.29.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::engine::{Completion, Effect, Engine, Event, FailoverPart, Pacing, Report, Work};
use mooring_plan::facts::{CallError, Fact, Settings, WriteOutcome};
use mooring_plan::names::{InterfaceId, IpName, NodeName};
use mooring_plan::objects::{Block, BlockSpec, DesiredIp};
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{CallGroup, NodeStep, Notice, Write};
use mooring_plan::time::Instant;
use mooring_world::cloud::Cloud;
use mooring_world::engine::{answer, leadership};
use mooring_world::kube::Kube;
use mooring_world::objects::{self, instance_of, interface_of};

/// The subnet, and the block in it.
const RANGE: &str = "203.0.112.0/20";
const READ: Duration = Duration::from_millis(2);
const WRITE: Duration = Duration::from_millis(7);
const EC2: Duration = Duration::from_millis(20);

/// A request to EC2 for addresses, as it was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    pub at: Instant,
    pub group: CallGroup,
    pub addresses: Vec<Ipv4Addr>,
    pub refused: Option<Outcome>,
}

/// The world.
pub struct Paced {
    pub engine: Engine,
    pub kube: Kube,
    pub cloud: Cloud,
    pub now: Instant,
    pub sent: Vec<Sent>,
    /// The parts of failovers that have ended.
    pub failovers: Vec<(FailoverPart, Duration)>,
    /// The Events.
    pub notices: Vec<Notice>,
    /// What is in flight, by when it ends.
    in_flight: BTreeMap<(Instant, u64), Ends>,
    begun: u64,
    /// What the watches have shown.
    shown: Kube,
    /// How the next requests to EC2 fail, instead of being carried out.
    pub fail: Vec<CallError>,
    /// How a write fails, instead of being carried out.
    pub refuses: fn(&Write) -> Option<WriteOutcome>,
    /// How long the create of a reservation takes.
    pub create_takes: Duration,
    /// The writes for IPs, and how each ended.
    pub written: Vec<(IpName, Write, WriteOutcome)>,
}

/// What is carried out when a request ends.
enum Ends {
    Done(Box<Event>),
    Effect(Box<Effect>),
}

fn engine() -> Engine {
    let settings = Settings {
        inventory_interval: Duration::from_mins(1),
    };
    Engine::new(settings, Pacing::On)
}

pub fn node(number: usize) -> String {
    format!("n{number:02}")
}

pub fn ip(number: usize) -> IpName {
    IpName::new(format!("ip-{number:04}"))
}

pub fn address(number: usize) -> Ipv4Addr {
    let first = u32::from(Ipv4Addr::new(203, 0, 113, 0));
    Ipv4Addr::from(first + u32::try_from(number).unwrap())
}

impl Paced {
    /// Nodes with an interface each, and IPs without a pod.
    pub fn new(nodes: usize, ips: usize, reassign: Reassign) -> Self {
        let mut world = Self {
            engine: engine(),
            kube: Kube::with_one_counter(),
            cloud: Cloud::with_limit(50),
            now: Instant::from_secs(1000),
            sent: Vec::new(),
            failovers: Vec::new(),
            notices: Vec::new(),
            in_flight: BTreeMap::new(),
            begun: 0,
            shown: Kube::default(),
            fail: Vec::new(),
            refuses: |_| None,
            create_takes: WRITE,
            written: Vec::new(),
        };
        let block = Block {
            version: world.kube.bump(),
            ..objects::block("block", RANGE)
        };
        world.kube.blocks.insert(block.name.clone(), block);
        for number in 0..nodes {
            let name = node(number);
            let primary = Ipv4Addr::new(203, 0, 112, u8::try_from(10 + number).unwrap());
            let on = Some(instance_of(&name));
            let interface = interface_of(&name);
            world
                .cloud
                .create_interface(&interface, on.as_ref(), Some(primary));
            world.kube.bump();
            let name = NodeName::from(name.as_str());
            let node = objects::node(name.as_str());
            world.kube.nodes.insert(name, node);
        }
        for number in 0..ips {
            let desired = DesiredIp {
                reassign,
                ..objects::desired(address(number))
            };
            let name = ip(number);
            let uid = world.kube.new_uid("ip");
            let mut ip = objects::ip(name.as_str(), uid, desired);
            ip.version = world.kube.bump();
            world.kube.ips.insert(name, ip);
        }
        world.begins();
        world
    }

    /// These IPs are created at once. Each asks for any address of the block.
    pub fn ips_of_block(&mut self, numbers: Range<usize>) {
        for number in numbers {
            let desired = DesiredIp {
                address: None,
                block: Some("block".into()),
                ..objects::desired(address(number))
            };
            let name = ip(number);
            let uid = self.kube.new_uid("ip");
            let mut ip = objects::ip(name.as_str(), uid, desired);
            ip.version = self.kube.bump();
            self.kube.ips.insert(name, ip);
        }
        self.watches_show();
    }

    /// A new process: it lists everything, and leads.
    pub fn begins(&mut self) {
        self.engine = engine();
        self.in_flight.clear();
        self.shown = Kube::default();
        self.watches_show();
        for fact in self.kube.lists_end() {
            self.engine.handle(Event::Fact(fact), self.now);
        }
        self.engine.handle(leadership(true), self.now);
    }

    /// A pod that asks for this IP is bound to a node.
    pub fn pod(&mut self, name: &str, of: usize, on: usize) {
        let uid = self.kube.new_uid(name);
        let asked = self.kube.ips[&ip(of)].uid.clone();
        let mut pod = objects::pod(name, uid, ip(of).as_str(), Some(asked));
        pod.version = self.kube.bump();
        pod.node = Some(NodeName::new(node(on)));
        pod.containers_ready = true;
        pod.containers_running = true;
        self.kube.pods.insert(pod.key.clone(), pod);
        self.watches_show();
    }

    /// The node is unreachable, and its pods are being deleted.
    pub fn dies(&mut self, number: usize) {
        let name = NodeName::new(node(number));
        self.kube.bump();
        let lost = self.kube.nodes.get_mut(&name).unwrap();
        lost.ready = false;
        lost.unreachable = true;
        let on = self.kube.pods.values();
        let on = on.filter(|pod| pod.node.as_ref() == Some(&name));
        let pods: Vec<_> = on.map(|pod| pod.key.clone()).collect();
        for pod in pods {
            self.kube.change_pod(&pod, |pod| pod.deleting = Some(30));
        }
        self.watches_show();
    }

    /// Its kubelet says that it is not ready, and its instance is stopped.
    pub fn is_stopped(&mut self, number: usize) {
        let name = node(number);
        self.cloud.stop(&instance_of(&name));
        self.kube.bump();
        let node = self.kube.nodes.get_mut(&NodeName::new(name)).unwrap();
        node.ready = false;
        self.watches_show();
    }

    /// The pod is told to go.
    pub fn is_deleted(&mut self, name: &str) {
        let key = objects::key(name);
        self.kube.change_pod(&key, |pod| pod.deleting = Some(30));
        self.watches_show();
    }

    /// The address may be taken from this interface.
    pub fn take_from(&mut self, number: usize, interface: &InterfaceId) {
        self.kube.change_ip(&ip(number), None, |ip| {
            ip.take_from = Some(interface.clone());
        });
        self.watches_show();
    }

    /// Every block asks for fast failover, or for what else this sets.
    pub fn change_blocks(&mut self, change: impl Fn(&mut BlockSpec)) {
        for block in self.kube.blocks.values_mut() {
            change(block.spec.as_mut().unwrap());
        }
        self.kube.bump();
        self.watches_show();
    }

    /// The pod ends, and its object goes.
    pub fn ends(&mut self, name: &str) {
        self.kube.bump();
        self.kube.pods.remove(&objects::key(name));
        self.watches_show();
    }

    /// Everything that follows within this time.
    pub fn run(&mut self, length: Duration) {
        let until = self.now.plus(length);
        loop {
            while let Some(effect) = self.engine.poll(self.now) {
                self.begin(effect);
            }
            let wake = self.engine.wake_at(self.now);
            let ends = self.in_flight.keys().next().map(|(at, _)| *at);
            let next = ends.map_or(wake, |ends| ends.min(wake));
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            while let Some(entry) = self.in_flight.first_entry()
                && entry.key().0 <= self.now
            {
                let ended = entry.remove();
                self.end(ended);
            }
        }
    }

    fn begin(&mut self, effect: Effect) {
        let takes = match &effect {
            Effect::Post(notice) => {
                self.notices.push(notice.clone());
                return;
            }
            Effect::Report(report) => {
                if let Report::Failover(part, took) = report {
                    self.failovers.push((*part, *took));
                }
                return;
            }
            Effect::Read(..) | Effect::ListIps => READ,
            Effect::Write {
                write: Write::Reserve { .. },
                ..
            } => self.create_takes,
            Effect::Write { .. } => WRITE,
            Effect::Calls(..)
            | Effect::Inventory(_)
            | Effect::BlockSteps(..)
            | Effect::NodeStep(..) => EC2,
        };
        let ends = match effect {
            Effect::Calls(group, ips) => Ends::Done(Box::new(self.call(group, ips))),
            // What it lists is as it was when it was begun.
            Effect::Inventory(subnet) => {
                let listed = Fact::InventoryDone(subnet.clone(), self.cloud.describe());
                let completed = Event::Completed(Work::Inventory(subnet), listed.into());
                Ends::Done(Box::new(completed))
            }
            effect => Ends::Effect(Box::new(effect)),
        };
        self.begun += 1;
        self.in_flight
            .insert((self.now.plus(takes), self.begun), ends);
    }

    fn call(&mut self, group: CallGroup, ips: Vec<(IpName, Ipv4Addr)>) -> Event {
        let addresses: Vec<_> = ips.iter().map(|(_, address)| *address).collect();
        let result = match self.fail.pop() {
            Some(error) => Err(error),
            None => self.cloud.execute_together(&group, &addresses),
        };
        self.sent.push(Sent {
            at: self.now,
            group: group.clone(),
            addresses,
            refused: result.as_ref().err().map(|error| error.outcome),
        });
        Event::Called(group, ips, result)
    }

    fn end(&mut self, ended: Ends) {
        let event = match ended {
            Ends::Done(event) => Some(*event),
            Ends::Effect(effect) => self.carry_out(*effect),
        };
        if let Some(event) = event {
            self.engine.handle(event, self.now);
        }
        self.watches_show();
    }

    fn carry_out(&mut self, effect: Effect) -> Option<Event> {
        let (work, completion): (Work, Completion) = match effect {
            Effect::Read(ip, read) => {
                let fact = self.kube.read(&ip, &read);
                (Work::Ip(ip), fact.into())
            }
            Effect::Write { ip, write, .. } => {
                let refused = (self.refuses)(&write);
                let outcome = refused.unwrap_or_else(|| self.kube.write(&write));
                self.written
                    .push((ip.clone(), write.clone(), outcome.clone()));
                let fact = Fact::Wrote {
                    ip: ip.clone(),
                    write,
                    outcome,
                };
                (Work::Ip(ip), fact.into())
            }
            Effect::ListIps => {
                let ips = self.kube.ips.values().cloned().collect();
                (Work::Ips, Fact::IpsRead(ips).into())
            }
            Effect::BlockSteps(block, steps) => {
                let limit = self.cloud.limit();
                let answers = steps.into_iter();
                let answers = answers.filter_map(|step| answer(step, RANGE, limit));
                (Work::Block(block), answers.collect::<Vec<Fact>>().into())
            }
            Effect::NodeStep(name, step) => {
                let facts = self.node_step(&name, &step);
                (Work::Node(name), facts.into())
            }
            _ => return None,
        };
        Some(Event::Completed(work, completion))
    }

    fn node_step(&mut self, name: &NodeName, step: &NodeStep) -> Vec<Fact> {
        let wanted = match step {
            NodeStep::Ask(instance, _) => {
                let state = self.cloud.state_of(instance);
                let read = Fact::InstanceRead(instance.clone(), state);
                return vec![Fact::NodeAsked(name.clone()), read];
            }
            NodeStep::SetTaint(..) => true,
            NodeStep::RemoveTaint(_) => false,
        };
        let version = self.kube.bump();
        let node = self.kube.nodes.get_mut(name).unwrap();
        (node.out_of_service, node.our_taint) = (wanted, wanted);
        node.version = version;
        vec![Fact::NodeWrote(name.clone(), WriteOutcome::Done(None))]
    }

    /// The watches show what has changed.
    fn watches_show(&mut self) {
        if self.kube.newest() == self.shown.newest() {
            return;
        }
        for (_, fact) in self.kube.events_since(&self.shown, false) {
            self.engine.handle(Event::Fact(fact), self.now);
        }
        self.shown = self.kube.clone();
    }

    /// The interfaces of the IPs in order.
    pub fn places(&self, ips: usize) -> Vec<Option<InterfaceId>> {
        let addresses = (0..ips).map(address);
        addresses
            .map(|address| self.cloud.holder_of(address))
            .collect()
    }

    /// How many IPs are recorded on the interface where EC2 has them.
    pub fn attached(&self, ips: usize) -> usize {
        let recorded = |number: &usize| {
            let claim = self.kube.ips[&ip(*number)].status.claim.as_ref();
            let claim = claim.filter(|claim| claim.recorded());
            let on = claim.and_then(|claim| claim.target());
            on.map(|on| &on.place.interface) == self.cloud.holder_of(address(*number)).as_ref()
                && on.is_some()
        };
        (0..ips).filter(recorded).count()
    }
}
