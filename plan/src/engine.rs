//! The driver around the decisions, without I/O: events go in, effects come out.
//!
//! A caller (the controller, a model, a simulation) passes what watches and completed requests say to
//! [`Engine::handle`], carries out what [`Engine::poll`] returns, and calls `poll` again no later than
//! [`Engine::wake_at`]. The engine knows no clock: `now` comes with each call and never goes back.
//!
//! At most one step of an IP, one round of steps of a block and one inventory of a subnet are in flight
//! at a time; different ones do not wait for each other.
//!
//! ```
//! use core::time::Duration;
//!
//! use mooring_plan::engine::{Engine, Event, Pacing};
//! use mooring_plan::facts::{Fact, Kind, Settings};
//! use mooring_plan::lease::Leadership;
//! use mooring_plan::time::Instant;
//!
//! let settings = Settings { inventory_interval: Duration::from_secs(60) };
//! let mut engine = Engine::new(settings, Pacing::On);
//! let now = Instant::START;
//! engine.handle(Event::Leadership(Leadership::ALWAYS), now);
//! for kind in Kind::ALL {
//!     engine.handle(Event::Fact(Fact::Synced(kind)), now);
//! }
//! while let Some(effect) = engine.poll(now) {
//!     // Carry it out, then pass what came of it to `engine.handle(Event::Completed(..), now)`.
//!     println!("{effect:?}");
//! }
//! assert!(engine.wake_at(now) > now);
//! ```

mod block_schedule;
mod blocks;
mod call_queue;
mod calls;
mod claim_timers;
mod completed;
mod event_dedup;
mod failover_timers;
mod inventories;
mod inventory_schedule;
mod leadership;
mod node_schedule;
mod nodes;
mod pending_event;
mod reconcile;
mod repeat_limiter;
mod timestamps;
mod tombstones;
mod work_queue;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;

use crate::address::Address;
use crate::buckets::{Buckets, Budget};
use crate::facts::{Affected, CallError, Contradiction, Fact, Facts, Settings};
use crate::lease::Leadership;
use crate::names::{BlockName, InterfaceId, IpName, NodeName, SubnetId};
use crate::outcome::{Action, Outcome};
use crate::step::{BlockStep, CallGroup, Moved, NodeStep, Notice, Read, Write};
use crate::time::Instant;
use block_schedule::BlockSchedule;
use call_queue::CallQueue;
use claim_timers::ClaimTimers;
use event_dedup::EventDedup;
pub use failover_timers::FailoverPart;
use failover_timers::FailoverTimers;
use inventory_schedule::InventorySchedule;
use node_schedule::NodeSchedule;
use pending_event::PendingEvent;
pub use reconcile::Reconciled;
use repeat_limiter::RepeatLimiter;
use tombstones::Tombstones;
use work_queue::WorkQueue;

/// No timer fires sooner than this, whatever a decision says.
const SHORTEST_TIMER: Duration = Duration::from_millis(20);

/// What an engine is told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// A watch shows something.
    Fact(Fact),
    /// An effect has ended.
    Completed(Work, Completion),
    /// A request of [`Effect::Calls`] has ended.
    Called(CallGroup, Vec<(IpName, Address)>, Result<(), CallError>),
    /// What the lease says now.
    Leadership(Leadership),
}

/// What can be in flight: the key of an effect and of its completion.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// A step of an IP.
    Ip(IpName),
    /// A round of steps of a block.
    Block(BlockName),
    /// A step of a node.
    Node(NodeName),
    /// An inventory of a subnet.
    Inventory(SubnetId),
    /// The list of all IPs.
    Ips,
}

/// What came of an effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Completion {
    /// What its answers say.
    pub facts: Vec<Fact>,
    /// The reads of EC2 that were made, and how each failed; None: it did not.
    pub called: Vec<(Action, Option<Outcome>)>,
}

impl From<Fact> for Completion {
    fn from(fact: Fact) -> Self {
        Self::from(Vec::from([fact]))
    }
}

impl From<Vec<Fact>> for Completion {
    fn from(facts: Vec<Fact>) -> Self {
        Self {
            facts,
            called: Vec::new(),
        }
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// A read for an IP. It ends with [`Work::Ip`].
    Read(IpName, Read),
    /// A write for an IP. It ends with [`Work::Ip`].
    Write {
        /// The IP.
        ip: IpName,
        /// The write.
        write: Write,
        /// Does it bring the address to another place?
        moved: Moved,
    },
    /// One request to EC2 for the addresses of these IPs. It ends with [`Event::Called`].
    Calls(CallGroup, Vec<(IpName, Address)>),
    /// Requests for a block, in any order. They end together with [`Work::Block`].
    BlockSteps(BlockName, Vec<BlockStep>),
    /// A request for a node. It ends with [`Work::Node`].
    NodeStep(NodeName, NodeStep),
    /// A complete list of a subnet's interfaces. It ends with [`Work::Inventory`].
    Inventory(SubnetId),
    /// A quorum list of all IPs. It ends with [`Work::Ips`].
    ListIps,
    /// Post a Kubernetes Event. Nothing waits for it.
    Post(Notice),
    /// Something for metrics and logs.
    Report(Report),
}

/// What metrics and logs show.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Report {
    /// Every kind has been listed.
    Synced,
    /// This process decides from now on, or no longer.
    Leading(bool),
    /// A claim was recorded; the time since it began.
    Attached(Duration),
    /// The same of a claim that took the address from another place or pod.
    Moved(Duration),
    /// A part of a failover that a taint of ours began has ended; how long it took.
    Failover(FailoverPart, Duration),
    /// An inventory of a subnet contradicts EC2's own answers.
    Contradicted(SubnetId, Contradiction),
    /// How many addresses of each block are in each state.
    Addresses(BTreeMap<(BlockName, &'static str), u64>),
    /// How many addresses of each block with a probe its target sees, or does not see.
    Probed(BTreeMap<(BlockName, &'static str), u64>),
    /// Is the release brake of this block engaged?
    Brake(BlockName, bool),
    /// The subnets that are listed from now on, and no others.
    Subnets(Vec<SubnetId>),
    /// A complete inventory; the time since it began.
    Inventory(SubnetId, Duration),
    /// How many calls of this action may be made at once.
    Tokens(Action, u64),
}

/// Whether time between requests is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pacing {
    /// As in production.
    On,
    /// For a model checker, to which each length of time is another state: no token buckets, no repeat
    /// limit, no intervals of blocks, and no Events and reports, whose deduplication remembers times. Each IP is read on
    /// its own, not in a list.
    Off,
}

/// The driver.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Engine {
    facts: Facts,
    pacing: Pacing,
    leadership: Leadership,
    leading: bool,
    /// When the list of all IPs was begun that is in flight. No step of an IP is begun meanwhile.
    listing: Option<Instant>,
    synced: bool,
    queue: WorkQueue,
    calls: CallQueue,
    /// The step of each IP that is in flight.
    in_flight: BTreeMap<IpName, InFlight>,
    /// How many of them share a request with another one.
    together: usize,
    repeats: RepeatLimiter,
    buckets: Buckets,
    tombstones: Tombstones,
    claims: ClaimTimers,
    dedup: EventDedup,
    failovers: FailoverTimers,
    blocks: BlockSchedule,
    nodes: NodeSchedule,
    inventories: InventorySchedule,
    outbox: VecDeque<Effect>,
}

/// A step of an IP that is in flight.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct InFlight {
    /// When its request was begun.
    begun: Instant,
    /// What is to be posted if it is done.
    event: Option<PendingEvent>,
    /// The interfaces that the IP may call for after it.
    concerns: Vec<InterfaceId>,
}

impl Engine {
    /// An engine that knows nothing yet and does not lead.
    #[must_use]
    pub fn new(settings: Settings, pacing: Pacing) -> Self {
        Self {
            facts: Facts::new(settings),
            pacing,
            leadership: Leadership::default(),
            leading: false,
            listing: None,
            synced: false,
            queue: WorkQueue::default(),
            calls: CallQueue::default(),
            in_flight: BTreeMap::new(),
            together: 0,
            repeats: RepeatLimiter::default(),
            buckets: Buckets::new(),
            tombstones: Tombstones::default(),
            claims: ClaimTimers::default(),
            dedup: EventDedup::default(),
            failovers: FailoverTimers::default(),
            blocks: BlockSchedule::default(),
            nodes: NodeSchedule::default(),
            inventories: InventorySchedule::default(),
            outbox: VecDeque::new(),
        }
    }

    /// The same, with this budget for mutating calls to EC2.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.buckets = self.buckets.with_budget(budget);
        self
    }

    /// What it knows.
    #[must_use]
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Takes an event. What follows from it comes out of [`Self::poll`].
    pub fn handle(&mut self, event: Event, now: Instant) {
        match event {
            Event::Fact(fact) => self.apply_fact(fact, now, now),
            Event::Completed(work, completion) => self.completed(work, completion, now),
            Event::Called(group, ips, result) => self.called(&group, &ips, &result, now),
            Event::Leadership(leadership) => self.leadership = leadership,
        }
        self.follow_leadership(now);
    }

    /// The next effect; None: nothing is to be done before [`Self::wake_at`] or the next event.
    pub fn poll(&mut self, now: Instant) -> Option<Effect> {
        if let Some(effect) = self.outbox.pop_front() {
            return Some(effect);
        }
        self.follow_leadership(now);
        if self.leading {
            self.begin_inventories(now);
            self.begin_steps(now);
            self.begin_calls(now);
            self.begin_blocks(now);
            self.begin_nodes(now);
        }
        self.outbox.pop_front()
    }

    /// When [`Self::poll`] has something to do although no event came: later than `now`, or never.
    #[must_use]
    pub fn wake_at(&self, now: Instant) -> Instant {
        if !self.leading {
            return Instant::NEVER;
        }
        let moments = [
            self.leadership.ends(),
            // No step begins before the list of all IPs has ended.
            self.queue.next_timer().filter(|_| self.listing.is_none()),
            self.calls.next(),
            Some(self.blocks.next()),
            self.nodes.next(),
            self.inventories.next(&self.facts),
        ];
        let earliest = moments.into_iter().flatten().min();
        let earliest = earliest.unwrap_or(Instant::NEVER);
        earliest.max(now.plus(SHORTEST_TIMER))
    }

    /// Takes a fact; `begun` is when the request that it answers was begun.
    fn apply_fact(&mut self, fact: Fact, begun: Instant, now: Instant) {
        let fact = self.tombstones.filter(fact, begun, &self.facts);
        // What is remembered here of an IP that is gone goes with it, when it is reconciled.
        if let Fact::IpGone(name, _) | Fact::IpRead(name, None) = &fact {
            self.queue.push(name.clone());
        }
        if let Fact::InventoryDone(subnet, list) = &fact {
            for contradiction in self.facts.contradictions(subnet, list, begun) {
                self.report(Report::Contradicted(subnet.clone(), contradiction));
            }
        }
        match self.facts.apply(fact, begun, now) {
            Affected::Nothing => {}
            Affected::One(ip) => {
                let block = self.facts.block_of(&ip);
                self.touch_block(block.as_ref());
                self.queue.push(ip);
            }
            Affected::Several(ips) => {
                self.touch_block(None);
                self.queue.extend(ips.iter());
            }
            Affected::All => {
                self.touch_block(None);
                self.queue.extend(self.facts.ip_names());
            }
        }
        if !self.synced && self.facts.synced() {
            self.synced = true;
            self.report(Report::Synced);
        }
    }

    /// Posts those of the notices that are new.
    fn post_new(&mut self, notices: Vec<Notice>, now: Instant) {
        if self.pacing == Pacing::On {
            let new = self.dedup.new_ones(notices, now);
            self.outbox.extend(new.into_iter().map(Effect::Post));
        }
    }

    fn is_paced(&self) -> bool {
        self.pacing == Pacing::On
    }

    fn report(&mut self, report: Report) {
        if self.is_paced() {
            self.outbox.push_back(Effect::Report(report));
        }
    }

    /// Takes a token for a call.
    ///
    /// # Errors
    /// The moment to ask again.
    fn take_token(&mut self, action: Action, now: Instant) -> Result<(), Instant> {
        match self.pacing {
            Pacing::On => self.buckets.take(action, now),
            Pacing::Off => Ok(()),
        }
    }
}
