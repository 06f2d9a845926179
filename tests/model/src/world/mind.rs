//! What a process knows, and what follows from it. Many states of the model know the same: each thing
//! that can be learned from the same knowledge is worked out once.

use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, Mutex, PoisonError};

use mooring_plan::cloud::Interface;
use mooring_plan::engine::{Completion, Effect, Engine, Event, Pacing, Work};
use mooring_plan::facts::{Fact, Facts, Kind, Settings};
use mooring_plan::lease::Leadership;
use mooring_plan::names::{IpName, Millis, ResourceVersion, SubnetId};
use mooring_plan::step::{BlockStep, Decision};

use super::clock::{self, NOW};
use super::kube::Kube;
use crate::shared::{Shared, fingerprint};

/// How often a process lists interfaces.
const INTERVAL: Millis = Millis::seconds(30);

/// So many parts has what was worked out, so that threads seldom wait for each other.
const PARTS: u64 = 64;

type Part = Mutex<HashMap<u64, Shared<Mind>>>;

static WORKED_OUT: LazyLock<Vec<Part>> =
    LazyLock::new(|| (0..PARTS).map(|_| Part::default()).collect());

/// The same is often learned in different ways: then it is kept once.
static KEPT: LazyLock<Vec<Part>> = LazyLock::new(|| (0..PARTS).map(|_| Part::default()).collect());

/// A part that has so many is emptied: what is needed again is worked out again.
const ROOM: usize = 1500;

/// The engine, an inventory under way, and what is decided from them.
#[derive(Clone, Debug)]
pub struct Mind {
    engine: Engine,
    /// An inventory that was taken and not told yet.
    pub look: Option<Look>,
    decided: BTreeMap<IpName, Decision>,
    /// Is an inventory to be taken now?
    pub inventory_due: bool,
    /// When something is next to be done although nothing happens.
    pub deadline: Option<Millis>,
}

/// An inventory under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Look {
    subnets: Vec<SubnetId>,
    list: Vec<Interface>,
    /// Was it taken before somebody put an address somewhere?
    pub blind: bool,
}

/// What happens to a mind.
#[derive(Clone, Debug, Hash)]
pub enum Lesson {
    /// A watch shows a fact, which takes a moment.
    Told(Fact),
    /// The same, and no time passes.
    Known(Fact),
    /// Its step for an IP begins.
    Begin(IpName),
    /// That has ended: what its answer says.
    Ended(IpName, Fact),
    /// An inventory is taken.
    Look(Vec<Interface>, bool),
    /// What it shows is told.
    Looked,
    /// Time passes.
    Pass(Millis),
    /// It leads from now on, or no longer.
    Lead(bool),
}

impl Hash for Mind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.engine.hash(state);
        self.look.hash(state);
    }
}

impl PartialEq for Mind {
    fn eq(&self, other: &Self) -> bool {
        self.engine == other.engine && self.look == other.look
    }
}

impl Eq for Mind {}

impl Mind {
    /// Of a process that has just listed everything.
    pub fn listed(kube: &Kube, leads: bool) -> Shared<Self> {
        let inventory_interval = INTERVAL;
        let mut engine = Engine::new(Settings { inventory_interval }, Pacing::Off);
        for (_, fact) in kube.news(&Kube::default(), true) {
            engine.handle(Event::Fact(fact), NOW);
        }
        for kind in Kind::ALL {
            engine.handle(Event::Fact(Fact::Listed(kind, ResourceVersion(1))), NOW);
            engine.handle(Event::Fact(Fact::Synced(kind)), NOW);
        }
        let mut mind = Self {
            engine,
            look: None,
            decided: BTreeMap::new(),
            inventory_due: false,
            deadline: None,
        };
        mind.lead(leads, NOW);
        mind.prepare();
        mind.pass(Millis(1));
        mind.decide();
        Shared::new(mind)
    }

    /// What it knows.
    pub fn facts(&self) -> &Facts {
        self.engine.facts()
    }

    /// What it would do next for an IP.
    pub fn decision(&self, ip: &IpName) -> Option<&Decision> {
        self.decided.get(ip)
    }

    fn lead(&mut self, leads: bool, now: Millis) {
        let leadership = if leads {
            Leadership::ALWAYS
        } else {
            Leadership::default()
        };
        self.engine.handle(Event::Leadership(leadership), now);
    }

    /// What a block needs: two reads of EC2 whose answers never change here. (Its status and the nodes'
    /// labels decide nothing about an address.)
    fn prepare(&mut self) {
        let blocks: Vec<_> = self.facts().block_names().cloned().collect();
        for block in blocks {
            let effect = self.engine.reconcile_block(&block, NOW);
            let Some(Effect::BlockSteps(_, steps)) = effect else {
                continue;
            };
            let answers: Vec<Fact> = steps.into_iter().filter_map(answered).collect();
            let completed = Event::Completed(Work::Block(block), Completion::from(answers));
            self.engine.handle(completed, NOW);
        }
    }

    fn pass(&mut self, elapsed: Millis) {
        let now = NOW.plus(elapsed);
        self.engine.forget_when_steps_began(NOW);
        let mut ordered = Vec::new();
        self.engine
            .each_inventory_moment(&mut |moment| ordered.push(*moment));
        let facts = self.engine.facts_mut();
        facts.forget_stale_reads(now);
        let mut reads = Vec::new();
        facts.each_moment_of_reads(&mut |moment| reads.push(*moment));
        facts.each_ordered_moment(&mut |moment| ordered.push(*moment));
        let mut aged = Vec::new();
        facts.each_aged_moment(&mut |moment| aged.push(*moment));
        let told = clock::settled(reads, ordered, &aged, now);
        facts.each_moment_of_reads(&mut |moment| *moment = told.reads[moment]);
        facts.each_ordered_moment(&mut |moment| *moment = told.ordered[moment]);
        facts.each_aged_moment(&mut |moment| *moment = told.aged[moment]);
        self.engine
            .each_inventory_moment(&mut |moment| *moment = told.ordered[moment]);
    }

    fn subnets_due(&self) -> Vec<SubnetId> {
        let facts = self.facts();
        let wanted = facts.subnets_wanted().into_iter();
        wanted
            .filter(|subnet| facts.inventory_due(subnet) <= NOW)
            .collect()
    }

    /// What it would do for each IP. (What the engine has queued is looked at, and everything else as well.)
    fn decide(&mut self) {
        while self.engine.next_queued().is_some() {}
        let facts = self.engine.facts();
        self.decided = BTreeMap::new();
        if self.engine.leading() {
            let ips = facts.ip_names();
            self.decided = ips.map(|ip| (ip.clone(), facts.decide(ip, NOW))).collect();
        }
        self.inventory_due = self.look.is_none() && !self.subnets_due().is_empty();
        let facts = self.engine.facts();
        let asked = self.decided.values().filter_map(|decision| decision.again);
        let subnets = facts.subnets_wanted();
        let due = subnets.iter().map(|subnet| facts.inventory_due(subnet));
        self.deadline = asked.chain(due.filter(|_| self.look.is_none())).min();
    }

    fn learn(&mut self, lesson: &Lesson) {
        let later = NOW.plus(Millis(1));
        match lesson {
            Lesson::Told(fact) => {
                self.engine.handle(Event::Fact(fact.clone()), later);
                self.pass(Millis(1));
                self.prepare();
            }
            Lesson::Known(fact) => self.engine.handle(Event::Fact(fact.clone()), NOW),
            Lesson::Begin(ip) => {
                let _ = self.engine.reconcile(ip, NOW);
            }
            Lesson::Ended(ip, fact) => {
                let completion = Completion::from(fact.clone());
                let completed = Event::Completed(Work::Ip(ip.clone()), completion);
                self.engine.handle(completed, later);
                self.pass(Millis(1));
                self.prepare();
            }
            Lesson::Look(list, blind) => {
                let begun = self.engine.reconcile_inventories(NOW).into_iter();
                let subnets = begun.filter_map(|effect| match effect {
                    Effect::Inventory(subnet) => Some(subnet),
                    _ => None,
                });
                self.look = Some(Look {
                    subnets: subnets.collect(),
                    list: list.clone(),
                    blind: *blind,
                });
                self.pass(Millis(1));
            }
            Lesson::Looked => {
                if let Some(Look { subnets, list, .. }) = self.look.take() {
                    for subnet in subnets {
                        let fact = Fact::InventoryDone(subnet.clone(), list.clone());
                        let work = Work::Inventory(subnet);
                        self.engine
                            .handle(Event::Completed(work, fact.into()), later);
                    }
                }
                self.pass(Millis(1));
            }
            Lesson::Pass(length) => self.pass(*length),
            Lesson::Lead(leads) => {
                // After what was begun in this moment.
                self.lead(*leads, later);
                self.pass(Millis(1));
                self.prepare();
            }
        }
        self.decide();
    }
}

/// The answer to a block's step, where it matters.
fn answered(step: BlockStep) -> Option<Fact> {
    match step {
        BlockStep::ReadSubnet(id) => {
            let cidrs = vec!["203.0.113.0/24".parse().unwrap()];
            Some(Fact::SubnetRead(id, cidrs))
        }
        BlockStep::ReadLimits(kinds) => {
            let limits = kinds.into_iter().map(|kind| (kind, 2));
            Some(Fact::LimitsRead(limits.collect()))
        }
        _ => None,
    }
}

fn the_one(mind: Shared<Mind>) -> Shared<Mind> {
    let key = fingerprint(&mind);
    let part = usize::try_from(key % PARTS).unwrap_or_default();
    let mut part = KEPT[part].lock().unwrap_or_else(PoisonError::into_inner);
    if part.len() >= ROOM {
        part.clear();
    }
    part.entry(key).or_insert(mind).clone()
}

impl Shared<Mind> {
    /// The mind after a lesson.
    pub fn after(&self, lesson: &Lesson) -> Self {
        let key = fingerprint(&(self, lesson));
        let part = usize::try_from(key % PARTS).unwrap_or_default();
        let part = || {
            WORKED_OUT[part]
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(known) = part().get(&key) {
            return known.clone();
        }
        let mut mind = Mind::clone(self);
        mind.learn(lesson);
        let mind = the_one(Self::new(mind));
        let mut part = part();
        if part.len() >= ROOM {
            part.clear();
        }
        part.insert(key, mind.clone());
        mind
    }
}

/// Forgets what was worked out: the next configuration has other worlds.
pub fn forget() {
    for part in WORKED_OUT.iter().chain(KEPT.iter()) {
        part.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
