//! A world for an engine with pacing: requests take time, and many are in flight at once.
//! Rules: R5.28, R5.29.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::cloud::Reassign;
use mooring_plan::engine::{Effect, Engine, Event, FailoverPart, Pacing, Report};
use mooring_plan::facts::{CallError, Fact, Kind, Settings, WriteOutcome};
use mooring_plan::names::{BlockName, InstanceId, InterfaceId, IpName, NodeName};
use mooring_plan::objects::{Block, DesiredIp};
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{BlockStep, CallGroup, NodeStep, Notice, StatusWrite, Write};
use mooring_plan::time::Instant;
use mooring_world::cloud::Cloud;
use mooring_world::engine::leadership;
use mooring_world::kube::Kube;
use mooring_world::objects::{self, address_after, instance_of, interface_of};

use crate::paced_calls::Execution;

/// The subnet, and the block in it.
pub(crate) const RANGE: &str = "203.0.112.0/20";
pub(crate) const READ: Duration = Duration::from_millis(2);
pub(crate) const WRITE: Duration = Duration::from_millis(7);
pub(crate) const EC2: Duration = Duration::from_millis(20);

/// A request to EC2 that was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    pub at: Instant,
    pub group: CallGroup,
    pub addresses: Vec<Address>,
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
    /// The reports for metrics, with their times.
    pub reports: Vec<(Instant, Report)>,
    /// When each inventory was begun.
    pub inventories: Vec<Instant>,
    /// The steps of blocks, and when they were begun.
    pub block_steps: Vec<(Instant, BlockName, BlockStep)>,
    /// The reads of instances, and when they were begun.
    pub instance_reads: Vec<(Instant, InstanceId)>,
    /// True if EC2 does not answer such reads for 5 s, and then with an error.
    pub instances_hang: bool,
    /// Duration of a question about a node.
    pub question_takes: Duration,
    /// The steps of nodes, and when they were begun.
    pub node_steps: Vec<(Instant, NodeName, NodeStep)>,
    /// Number of wake-ups without an event.
    pub wakes: usize,
    /// The steps of blocks that the API server refuses.
    pub refuses_blocks: fn(&BlockStep) -> bool,
    /// Duration of a round of steps of a block, and of an inventory.
    pub takes: (Duration, Duration),
    /// The requests in flight, by the time at which they end.
    pub(crate) in_flight: BTreeMap<(Instant, u64), Ends>,
    pub(crate) begun: u64,
    /// The state that the watches have shown.
    pub(crate) shown: Kube,
    /// How the next requests to EC2 fail, instead of being carried out.
    pub fail: Vec<CallError>,
    /// The requests that EC2 denies.
    pub denies: fn(&CallGroup) -> bool,
    /// How the next requests to EC2 are executed, if not normally.
    pub executions: Vec<Execution>,
    /// The requests that were executed late (after their answer or timeout), and whether they succeeded.
    pub late: Vec<(CallGroup, bool)>,
    /// The failure of a write, if it is not to be carried out.
    pub refuses: fn(&Write) -> Option<WriteOutcome>,
    /// Duration of the create of a reservation.
    pub create_takes: Duration,
    /// The writes for IPs, and how each ended.
    pub written: Vec<(IpName, Write, WriteOutcome)>,
}

/// What happens when a request ends.
pub(crate) enum Ends {
    Done(Box<Event>),
    Effect(Box<Effect>),
    /// A request to EC2 whose caller does not wait any more.
    Request(CallGroup, Vec<Address>),
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

pub fn address(number: usize) -> Address {
    address_after("203.0.113.0", u32::try_from(number).unwrap())
}

/// For [`Paced::refuses`]: the API server refuses each Record.
pub fn no_record(write: &Write) -> Option<WriteOutcome> {
    let record = matches!(
        write,
        Write::Status {
            change: StatusWrite::Record,
            ..
        }
    );
    record.then(|| WriteOutcome::Refused("no".to_owned()))
}

impl Paced {
    /// A world of nodes with one ENI each, and of IPs without a pod.
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
            instance_reads: Vec::new(),
            instances_hang: false,
            question_takes: EC2,
            node_steps: Vec::new(),
            wakes: 0,
            refuses_blocks: |_| false,
            takes: (EC2, EC2),
            in_flight: BTreeMap::new(),
            begun: 0,
            shown: Kube::default(),
            fail: Vec::new(),
            denies: |_| false,
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
            let primary = Address::v4([203, 0, 112, u8::try_from(10 + number).unwrap()]);
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

    /// Creates these IPs at the same time. Each asks for any address of the block.
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

    /// Starts a new process, which lists everything and leads.
    pub fn begins(&mut self) {
        self.engine = engine();
        self.in_flight.clear();
        self.shown = Kube::default();
        self.watches_show();
        for fact in Kind::ALL.map(Fact::Synced) {
            self.engine.handle(Event::Fact(fact), self.now);
        }
        self.engine.handle(leadership(true), self.now);
    }

    /// The watches show the changes.
    pub(crate) fn watches_show(&mut self) {
        if self.kube.newest() == self.shown.newest() {
            return;
        }
        for (_, fact) in self.kube.events_since(&self.shown, false) {
            self.engine.handle(Event::Fact(fact), self.now);
        }
        self.shown = self.kube.clone();
    }

    /// The ENIs that have the addresses of the IPs, in order.
    pub fn places(&self, ips: usize) -> Vec<Option<InterfaceId>> {
        let addresses = (0..ips).map(address);
        addresses
            .map(|address| self.cloud.holder_of(address))
            .collect()
    }

    /// Number of IPs whose Record names the ENI that has the address in EC2.
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
