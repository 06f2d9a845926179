//! What a process knows, and what follows from it. Many states of the model know the same: each thing
//! that can be learned from the same knowledge is worked out once.

use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, Mutex, PoisonError};

use mooring_plan::cloud::Interface;
use mooring_plan::facts::{Fact, Facts, Kind, Settings};
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

/// The facts, an inventory under way, and what is decided from them.
#[derive(Clone, Debug)]
pub struct Mind {
    pub facts: Facts,
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
    begun: Millis,
    list: Vec<Interface>,
    /// Was it taken before somebody put an address somewhere?
    pub blind: bool,
}

/// What happens to a mind.
#[derive(Clone, Debug, Hash)]
pub enum Lesson {
    /// It is told a fact, which takes a moment.
    Told(Fact),
    /// It is told the answer to what it asked before it last began to lead.
    Earlier(Fact),
    /// It is told a fact, and no time passes.
    Known(Fact),
    /// An inventory is taken.
    Look(Vec<Interface>, bool),
    /// What it shows is told.
    Looked,
    /// Time passes.
    Pass(Millis),
    /// It begins to lead.
    Lead,
}

impl Hash for Mind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.facts.hash(state);
        self.look.hash(state);
    }
}

impl PartialEq for Mind {
    fn eq(&self, other: &Self) -> bool {
        self.facts == other.facts && self.look == other.look
    }
}

impl Eq for Mind {}

impl Mind {
    /// Of a process that has just listed everything.
    pub fn listed(kube: &Kube) -> Shared<Self> {
        let inventory_interval = INTERVAL;
        let mut facts = Facts::new(Settings { inventory_interval });
        for (_, fact) in kube.news(&Kube::default(), true) {
            facts.apply(fact, NOW, NOW);
        }
        for kind in Kind::ALL {
            facts.apply(Fact::Listed(kind, ResourceVersion(1)), NOW, NOW);
            facts.apply(Fact::Synced(kind), NOW, NOW);
        }
        let mut mind = Self {
            facts,
            look: None,
            decided: BTreeMap::new(),
            inventory_due: false,
            deadline: None,
        };
        mind.prepare();
        mind.pass(Millis(1));
        mind.decide();
        Shared::new(mind)
    }

    /// What it would do next for an IP.
    pub fn decision(&self, ip: &IpName) -> Option<&Decision> {
        self.decided.get(ip)
    }

    /// What a block needs: two reads of EC2 whose answers never change here. (Its status and the nodes'
    /// labels decide nothing about an address.)
    fn prepare(&mut self) {
        let facts = &self.facts;
        let blocks = facts.block_names();
        let steps: Vec<_> = blocks
            .flat_map(|block| facts.block_steps(block, NOW).0)
            .collect();
        for step in steps {
            let answer = match step {
                BlockStep::ReadSubnet(id) => {
                    let cidrs = vec!["203.0.113.0/24".parse().unwrap()];
                    Fact::SubnetRead(id, cidrs)
                }
                BlockStep::ReadLimits(kinds) => {
                    let limits = kinds.into_iter().map(|kind| (kind, 2));
                    Fact::LimitsRead(limits.collect())
                }
                _ => continue,
            };
            self.facts.apply(answer, NOW, NOW);
        }
    }

    fn pass(&mut self, elapsed: Millis) {
        let now = NOW.plus(elapsed);
        self.facts.forget_stale_reads(now);
        let mut reads = Vec::new();
        self.facts
            .each_moment_of_reads(&mut |moment| reads.push(*moment));
        let mut ordered: Vec<Millis> = self.look.iter().map(|look| look.begun).collect();
        self.facts
            .each_ordered_moment(&mut |moment| ordered.push(*moment));
        let mut aged = Vec::new();
        self.facts
            .each_aged_moment(&mut |moment| aged.push(*moment));
        let told = clock::settled(reads, ordered, &aged, now);
        self.facts
            .each_moment_of_reads(&mut |moment| *moment = told.reads[moment]);
        self.facts
            .each_ordered_moment(&mut |moment| *moment = told.ordered[moment]);
        self.facts
            .each_aged_moment(&mut |moment| *moment = told.aged[moment]);
        if let Some(look) = &mut self.look {
            look.begun = told.ordered[&look.begun];
        }
    }

    fn subnets_due(&self) -> Vec<SubnetId> {
        let wanted = self.facts.subnets_wanted().into_iter();
        wanted
            .filter(|subnet| self.facts.inventory_due(subnet) <= NOW)
            .collect()
    }

    fn decide(&mut self) {
        let facts = &self.facts;
        let decided = facts
            .ip_names()
            .map(|ip| (ip.clone(), facts.decide(ip, NOW)));
        self.decided = decided.collect();
        self.inventory_due = self.look.is_none() && !self.subnets_due().is_empty();
        let asked = self.decided.values().filter_map(|decision| decision.again);
        let subnets = self.facts.subnets_wanted();
        let due = subnets
            .iter()
            .map(|subnet| self.facts.inventory_due(subnet));
        self.deadline = asked.chain(due.filter(|_| self.look.is_none())).min();
    }

    fn learn(&mut self, lesson: &Lesson) {
        let later = NOW.plus(Millis(1));
        match lesson {
            Lesson::Told(fact) => {
                self.facts.apply(fact.clone(), NOW, later);
                self.pass(Millis(1));
                self.prepare();
            }
            Lesson::Earlier(fact) => {
                self.facts.apply(fact.clone(), Millis(1), later);
                self.pass(Millis(1));
                self.prepare();
            }
            Lesson::Known(fact) => {
                self.facts.apply(fact.clone(), NOW, NOW);
            }
            Lesson::Look(list, blind) => {
                for subnet in self.subnets_due() {
                    self.facts.apply(Fact::InventoryBegun(subnet), NOW, NOW);
                }
                self.look = Some(Look {
                    begun: NOW,
                    list: list.clone(),
                    blind: *blind,
                });
                self.pass(Millis(1));
            }
            Lesson::Looked => {
                if let Some(Look { begun, list, .. }) = self.look.take() {
                    for subnet in self.facts.subnets_wanted() {
                        self.facts
                            .apply(Fact::InventoryDone(subnet, list.clone()), begun, later);
                    }
                }
                self.pass(Millis(1));
            }
            Lesson::Pass(length) => self.pass(*length),
            Lesson::Lead => {
                self.facts.lead_begins(NOW);
                self.pass(Millis(1));
                self.prepare();
            }
        }
        self.decide();
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
