//! A world for an engine that keeps the time between requests: requests take time, and many are in flight at once.
//! Rules: R5.28, R5.29.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::engine::{Completion, Effect, Engine, Event, FailoverPart, Pacing, Report, Work};
use mooring_plan::facts::{CallError, Fact, Settings, WriteOutcome};
use mooring_plan::names::{BlockName, InterfaceId, IpName, NodeName};
use mooring_plan::objects::{Block, DesiredIp};
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{BlockStep, CallGroup, NodeStep, Notice, Write};
use mooring_plan::time::Instant;
use mooring_world::cloud::Cloud;
use mooring_world::engine::{answer, leadership};
use mooring_world::kube::Kube;
use mooring_world::objects::{self, instance_of, interface_of};

use crate::paced_calls::Execution;

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
    /// What metrics were told, and when.
    pub reports: Vec<(Instant, Report)>,
    /// When each inventory was begun.
    pub inventories: Vec<Instant>,
    /// The steps of blocks, and when they were begun.
    pub block_steps: Vec<(Instant, BlockName, BlockStep)>,
    /// The steps of nodes, and when they were begun.
    pub node_steps: Vec<(Instant, NodeName, NodeStep)>,
    /// How often the engine asked to be called although nothing had happened.
    pub wakes: usize,
    /// Does it take no write of a block, or of the label of one?
    pub refuses_blocks: bool,
    /// How long a round of steps of a block takes, and an inventory.
    pub takes: (Duration, Duration),
    /// What is in flight, by when it ends.
    in_flight: BTreeMap<(Instant, u64), Ends>,
    begun: u64,
    /// What the watches have shown.
    shown: Kube,
    /// How the next requests to EC2 fail, instead of being carried out.
    pub fail: Vec<CallError>,
    /// How the next requests to EC2 are carried out, if not as usual.
    pub executions: Vec<Execution>,
    /// The requests that were carried out after their caller had its answer, or none; and whether they were done.
    pub late: Vec<(CallGroup, bool)>,
    /// How a write fails, instead of being carried out.
    pub refuses: fn(&Write) -> Option<WriteOutcome>,
    /// How long the create of a reservation takes.
    pub create_takes: Duration,
    /// The writes for IPs, and how each ended.
    pub written: Vec<(IpName, Write, WriteOutcome)>,
}

/// What is carried out when a request ends.
pub(crate) enum Ends {
    Done(Box<Event>),
    Effect(Box<Effect>),
    /// A request to EC2 whose caller does not wait any more.
    Request(CallGroup, Vec<Ipv4Addr>),
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
            reports: Vec::new(),
            inventories: Vec::new(),
            block_steps: Vec::new(),
            node_steps: Vec::new(),
            wakes: 0,
            refuses_blocks: false,
            takes: (EC2, EC2),
            in_flight: BTreeMap::new(),
            begun: 0,
            shown: Kube::default(),
            fail: Vec::new(),
            executions: Vec::new(),
            late: Vec::new(),
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
            world.add_ip(number, reassign);
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

    pub(crate) fn add_ip(&mut self, number: usize, reassign: Reassign) {
        let desired = DesiredIp {
            reassign,
            ..objects::desired(address(number))
        };
        let name = ip(number);
        let uid = self.kube.new_uid("ip");
        let mut ip = objects::ip(name.as_str(), uid, desired);
        ip.version = self.kube.bump();
        self.kube.ips.insert(name, ip);
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

    /// Everything that follows within this time.
    pub fn run(&mut self, length: Duration) {
        let until = self.now.plus(length);
        loop {
            let mut begun = 0;
            while let Some(effect) = self.engine.poll(self.now) {
                self.begin(effect);
                begun += 1;
                assert!(begun < 10_000, "more and more at once");
            }
            let wake = self.engine.wake_at(self.now);
            assert!(wake > self.now, "to be called again at once");
            let ends = self.in_flight.keys().next().map(|(at, _)| *at);
            let next = ends.map_or(wake, |ends| ends.min(wake));
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            if ends.is_none_or(|ends| wake < ends) {
                self.wakes += 1;
            }
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
                self.reports.push((self.now, report.clone()));
                return;
            }
            Effect::Read(..) | Effect::ListIps => READ,
            Effect::Write {
                write: Write::Reserve { .. },
                ..
            } => self.create_takes,
            Effect::Write { .. } => WRITE,
            Effect::Calls(..) | Effect::NodeStep(..) => EC2,
            Effect::BlockSteps(..) => self.takes.0,
            Effect::Inventory(_) => self.takes.1,
        };
        let ends = match effect {
            Effect::Calls(group, ips) => Ends::Done(Box::new(self.call(group, ips))),
            // What it lists is as it was when it was begun.
            Effect::Inventory(subnet) => {
                self.inventories.push(self.now);
                let listed = Fact::InventoryDone(subnet.clone(), self.cloud.describe());
                let completed = Event::Completed(Work::Inventory(subnet), listed.into());
                Ends::Done(Box::new(completed))
            }
            effect => {
                if let Effect::BlockSteps(block, steps) = &effect {
                    let steps = steps.iter().cloned();
                    let steps = steps.map(|step| (self.now, block.clone(), step));
                    self.block_steps.extend(steps);
                }
                if let Effect::NodeStep(name, step) = &effect {
                    let step = (self.now, name.clone(), step.clone());
                    self.node_steps.push(step);
                }
                Ends::Effect(Box::new(effect))
            }
        };
        self.ends_after(takes, ends);
    }

    pub(crate) fn ends_after(&mut self, takes: Duration, ends: Ends) {
        self.begun += 1;
        self.in_flight
            .insert((self.now.plus(takes), self.begun), ends);
    }

    fn end(&mut self, ended: Ends) {
        let event = match ended {
            Ends::Done(event) => Some(*event),
            Ends::Effect(effect) => self.carry_out(*effect),
            Ends::Request(group, addresses) => {
                let done = self.cloud.execute_together(&group, &addresses);
                self.late.push((group, done.is_ok()));
                None
            }
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
                let mut answers = Vec::new();
                for step in steps {
                    self.block_step(&step);
                    answers.extend(answer(step, RANGE, limit));
                }
                (Work::Block(block), answers.into())
            }
            Effect::NodeStep(name, step) => {
                let facts = self.node_step(&name, &step);
                (Work::Node(name), facts.into())
            }
            _ => return None,
        };
        Some(Event::Completed(work, completion))
    }

    /// The watches show what has changed.
    pub(crate) fn watches_show(&mut self) {
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
