//! The facts of one process, and its decisions.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::cloud::Interface;
use mooring_plan::engine::{Completion, Effect, Engine, Event, Pacing, Work};
use mooring_plan::facts::{CallError, Fact, Facts, Kind, Settings};
use mooring_plan::names::{IpName, SubnetId};
use mooring_plan::step::{CallGroup, Decision, Step};
use mooring_plan::time::Instant;
use mooring_world::engine;
use mooring_world::kube::Kube;

use super::clock::{self, NOW};
use super::queue::unqueued;
use crate::shared::Shared;

/// How often a process lists interfaces.
const INTERVAL: Duration = Duration::from_secs(30);

/// The time that a step takes.
const STEP: Duration = Duration::from_millis(1);

/// The engine, an inventory in progress, and the decisions that follow from them.
#[derive(Clone, Debug)]
pub struct ControllerState {
    engine: Engine,
    /// The maximum age of a moment in seconds.
    max_age: u64,
    /// The addresses that an interface can have, which EC2 answers.
    limit: u32,
    /// An inventory that was taken and is not received yet.
    pub inventory: Option<Inventory>,
    decisions: BTreeMap<IpName, Decision>,
    /// Is an inventory to be taken now?
    pub inventory_due: bool,
    /// The time of the next step, if no event comes before.
    pub deadline: Option<Instant>,
    /// An IP that has a step and that the engine has not queued: it would not look at it.
    pub missed: Option<(IpName, Step)>,
}

/// An inventory in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Inventory {
    subnets: Vec<SubnetId>,
    list: Vec<Interface>,
    /// Was it taken before a manual change of an address?
    pub outdated: bool,
}

/// An input of the process state.
#[derive(Clone, Debug, Hash)]
pub enum Input {
    /// An event of a watch; it takes one millisecond.
    Event(Fact),
    /// The same, and no time passes.
    EventWithoutDelay(Fact),
    /// The step for an IP starts.
    StepStarted(IpName),
    /// The step for an IP is completed with this answer.
    StepEnded(IpName, Fact),
    /// The next request of this group starts.
    RequestBegun(CallGroup),
    /// A request for several addresses is completed with this answer.
    RequestEnded(CallGroup, Vec<(IpName, Address)>, Result<(), CallError>),
    /// An inventory is taken. The flag says whether it is outdated.
    InventoryTaken(Vec<Interface>, bool),
    /// The inventory is received.
    InventoryReceived,
    /// Time passes.
    TimePassed(Duration),
    /// No moment is older than this number of seconds.
    AgesLimited(u64),
    /// The process leads from now on, or it does not lead any more.
    Leadership(bool),
}

impl Hash for ControllerState {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.engine.hash(state);
        self.max_age.hash(state);
        self.inventory.hash(state);
        self.missed.hash(state);
    }
}

impl PartialEq for ControllerState {
    fn eq(&self, other: &Self) -> bool {
        self.engine == other.engine
            && self.max_age == other.max_age
            && self.inventory == other.inventory
            && self.missed == other.missed
    }
}

impl Eq for ControllerState {}

impl ControllerState {
    /// The state of a process that has just listed all objects.
    pub fn listed(kube: &Kube, limit: u32, leads: bool) -> Shared<Self> {
        let inventory_interval = INTERVAL;
        let mut engine = Engine::new(Settings { inventory_interval }, Pacing::Off);
        for (_, fact) in kube.events_since(&Kube::default(), true) {
            engine.handle(Event::Fact(fact), NOW);
        }
        for fact in Kind::ALL.map(Fact::Synced) {
            engine.handle(Event::Fact(fact), NOW);
        }
        let mut state = Self {
            engine,
            max_age: clock::MAX_AGE,
            limit,
            inventory: None,
            decisions: BTreeMap::new(),
            inventory_due: false,
            deadline: None,
            missed: None,
        };
        state.lead(leads, NOW);
        state.prepare();
        state.pass(STEP);
        state.decide(Some(STEP));
        Shared::new(state)
    }

    /// The facts of the process.
    pub fn facts(&self) -> &Facts {
        self.engine.facts()
    }

    /// The next decision for an IP.
    pub fn decision(&self, ip: &IpName) -> Option<&Decision> {
        self.decisions.get(ip)
    }

    /// Is a step of this IP in flight?
    pub fn is_in_flight(&self, ip: &IpName) -> bool {
        self.engine.is_in_flight(ip)
    }

    fn lead(&mut self, leads: bool, now: Instant) {
        self.engine.handle(engine::leadership(leads), now);
    }

    /// Answers the two reads of EC2 that a block needs; their answers never change in the model. (The status
    /// of a block and the labels of nodes have no influence on an address.)
    fn prepare(&mut self) {
        let blocks: Vec<_> = self.facts().block_names().cloned().collect();
        for block in blocks {
            let effect = self.engine.reconcile_block(&block, NOW);
            let Some(Effect::BlockSteps(_, steps)) = effect else {
                continue;
            };
            let answers = steps.into_iter();
            let answers = answers
                .filter_map(|step| engine::answer(step, "203.0.113.0/24", self.limit))
                .collect::<Vec<Fact>>();
            let completed = Event::Completed(Work::Block(block), Completion::from(answers));
            self.engine.handle(completed, NOW);
        }
    }

    fn pass(&mut self, elapsed: Duration) {
        let now = NOW.plus(elapsed);
        self.engine.forget_when_steps_began(NOW);
        let mut ordered = Vec::new();
        self.engine
            .each_inventory_timestamp(&mut |moment| ordered.push(*moment));
        let facts = self.engine.facts_mut();
        facts.forget_stale_reads(now);
        let mut reads = Vec::new();
        facts.each_timestamp_of_reads(&mut |moment| reads.push(*moment));
        facts.each_ordered_timestamp(&mut |moment| ordered.push(*moment));
        let mut aged = Vec::new();
        facts.each_aged_timestamp(&mut |moment| aged.push(*moment));
        let normalized = clock::normalize(reads, ordered, &aged, now, self.max_age);
        facts.each_timestamp_of_reads(&mut |moment| *moment = normalized.reads[moment]);
        facts.each_ordered_timestamp(&mut |moment| *moment = normalized.ordered[moment]);
        facts.each_aged_timestamp(&mut |moment| *moment = normalized.aged[moment]);
        self.engine
            .each_inventory_timestamp(&mut |moment| *moment = normalized.ordered[moment]);
    }

    fn subnets_due(&self) -> Vec<SubnetId> {
        let facts = self.facts();
        let wanted = facts.subnets_wanted().into_iter();
        wanted
            .filter(|subnet| facts.inventory_due(subnet) <= NOW)
            .collect()
    }

    /// Computes the decision for each IP, whether the engine has queued it or not. The order in which the engine decides
    /// for the queued IPs is one of the orders that are explored.
    ///
    /// `elapsed`: the time that has passed. None: new steps prove nothing, because moments were changed, or because a
    /// step began, which only takes room from others: the reason of a pod that waits may be late.
    fn decide(&mut self, elapsed: Option<Duration>) {
        let mut queued = BTreeSet::new();
        while let Some(ip) = self.engine.next_queued() {
            queued.insert(ip);
        }
        let facts = self.engine.facts();
        let before = std::mem::take(&mut self.decisions);
        if self.engine.leading() {
            let ips = facts.ip_names();
            self.decisions = ips.map(|ip| (ip.clone(), facts.decide(ip, NOW))).collect();
        }
        if let Some(elapsed) = elapsed {
            let missed = unqueued(&before, &self.decisions, &queued, elapsed);
            self.missed = self.missed.take().or(missed);
        }
        self.inventory_due = self.inventory.is_none() && !self.subnets_due().is_empty();
        let facts = self.engine.facts();
        let asked = self
            .decisions
            .values()
            .filter_map(|decision| decision.again);
        let subnets = facts.subnets_wanted();
        let due = subnets.iter().map(|subnet| facts.inventory_due(subnet));
        self.deadline = asked.chain(due.filter(|_| self.inventory.is_none())).min();
    }

    /// Applies an input, and decides again.
    pub fn apply(&mut self, input: &Input) {
        let later = NOW.plus(STEP);
        let mut elapsed = Some(STEP);
        match input {
            Input::Event(fact) => {
                self.engine.handle(Event::Fact(fact.clone()), later);
                self.pass(STEP);
                self.prepare();
            }
            Input::EventWithoutDelay(fact) => self.engine.handle(Event::Fact(fact.clone()), NOW),
            Input::StepStarted(ip) => {
                let _ = self.engine.reconcile(ip, NOW);
                elapsed = None;
            }
            Input::StepEnded(ip, fact) => {
                let completion = Completion::from(fact.clone());
                let completed = Event::Completed(Work::Ip(ip.clone()), completion);
                self.engine.handle(completed, later);
                self.pass(STEP);
                self.prepare();
            }
            Input::RequestBegun(group) => {
                self.engine.begin_together(group, NOW);
                elapsed = None;
            }
            Input::RequestEnded(group, members, result) => {
                let called = Event::Called(group.clone(), members.clone(), result.clone());
                self.engine.handle(called, later);
                self.pass(STEP);
                self.prepare();
            }
            Input::InventoryTaken(list, outdated) => {
                let begun = self.engine.reconcile_inventories(NOW).into_iter();
                let subnets = begun.filter_map(|effect| match effect {
                    Effect::Inventory(subnet) => Some(subnet),
                    _ => None,
                });
                self.inventory = Some(Inventory {
                    subnets: subnets.collect(),
                    list: list.clone(),
                    outdated: *outdated,
                });
                self.pass(STEP);
            }
            Input::InventoryReceived => {
                if let Some(Inventory { subnets, list, .. }) = self.inventory.take() {
                    for subnet in subnets {
                        let fact = Fact::InventoryDone(subnet.clone(), list.clone());
                        let work = Work::Inventory(subnet);
                        self.engine
                            .handle(Event::Completed(work, fact.into()), later);
                    }
                }
                self.pass(STEP);
            }
            Input::AgesLimited(max_age) => {
                self.max_age = *max_age;
                self.pass(STEP);
                elapsed = None;
            }
            Input::TimePassed(length) => {
                self.pass(*length);
                elapsed = Some(*length);
            }
            Input::Leadership(leads) => {
                // Later than the steps that were started at the same time.
                self.lead(*leads, later);
                self.pass(STEP);
                self.prepare();
            }
        }
        self.decide(elapsed);
    }
}
