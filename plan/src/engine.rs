//! The engine runs the decisions without I/O: it takes events and returns effects.
//! Rule: R1.3.
//!
//! A caller (the controller, alone or in a simulation) passes events of watches and completed requests to
//! [`Engine::handle`], carries out the effects that [`Engine::poll`] returns, and calls `poll` again no later than
//! [`Engine::wake_at`]. The engine has no clock: `now` is passed with each call and never decreases. A model checker
//! calls `handle` too, but not `poll`: it chooses which IP is decided next ([`Engine::reconcile`]), and checks that the
//! queue has each IP with a new step.
//!
//! At most one step per IP, one round of steps per block and one inventory per subnet are in flight at a time.
//! Different IPs, blocks and subnets do not wait for each other.
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
//!     // Carry it out, then pass the result to `engine.handle(Event::Completed(..), now)`.
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
mod messages;
mod node_schedule;
mod nodes;
mod pending_event;
mod reconcile;
mod repeat_limiter;
mod silence;
#[cfg(feature = "timestamps")]
mod timestamps;
mod tombstones;
mod work_queue;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;

use crate::buckets::{Buckets, Budget};
use crate::facts::{Affected, Fact, Facts, Settings};
use crate::lease::Leadership;
use crate::names::{InstanceId, InterfaceId, IpName};
use crate::outcome::Action;
use crate::step::Notice;
use crate::time::Instant;
use block_schedule::BlockSchedule;
pub use blocks::BLOCK_STEPS_AT_ONCE;
use call_queue::CallQueue;
use claim_timers::ClaimTimers;
use event_dedup::EventDedup;
pub use failover_timers::FailoverPart;
use failover_timers::FailoverTimers;
use inventory_schedule::InventorySchedule;
pub use messages::{Completion, Effect, Event, Report, Work};
use node_schedule::NodeSchedule;
use pending_event::PendingEvent;
pub use reconcile::Reconciled;
use repeat_limiter::RepeatLimiter;
use silence::Silence;
use tombstones::Tombstones;
use work_queue::WorkQueue;

/// Minimum delay of a timer.
const SHORTEST_TIMER: Duration = Duration::from_millis(20);

/// Whether the engine limits the rate of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pacing {
    /// Requests are paced, as in production.
    On,
    /// For a model checker, where each different time is another state: no token buckets, no repeat limit, no
    /// intervals of blocks, and no Events and reports, because their deduplication remembers times. Each IP is read
    /// alone, not in a list.
    Off,
}

/// Decides what to do next: takes events, returns effects. See the example in the module documentation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Engine {
    facts: Facts,
    pacing: Pacing,
    leadership: Leadership,
    leading: bool,
    /// When the list of all IPs in flight was begun. No step of an IP begins while it is in flight.
    listing: Option<Instant>,
    queue: WorkQueue,
    calls: CallQueue,
    /// The step of each IP that is in flight.
    in_flight: BTreeMap<IpName, InFlight>,
    /// Number of steps in flight minus the number of their requests (several calls can share one request).
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
    silence: Silence,
    outbox: VecDeque<Effect>,
}

/// A step of an IP that is in flight.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct InFlight {
    /// When its request was begun.
    begun: Instant,
    /// The Event to post if the write succeeds.
    event: Option<PendingEvent>,
    /// The ENIs for which this IP can need a call after this step.
    concerns: Vec<InterfaceId>,
    /// The instance that is read.
    instance: Option<InstanceId>,
}

impl Engine {
    /// An engine without facts that does not lead.
    #[must_use]
    pub fn new(settings: Settings, pacing: Pacing) -> Self {
        Self {
            facts: Facts::new(settings),
            pacing,
            leadership: Leadership::default(),
            leading: false,
            listing: None,
            queue: WorkQueue::default(),
            calls: CallQueue::default(),
            in_flight: BTreeMap::new(),
            together: 0,
            repeats: RepeatLimiter::default(),
            buckets: Buckets::default(),
            tombstones: Tombstones::default(),
            claims: ClaimTimers::default(),
            dedup: EventDedup::default(),
            failovers: FailoverTimers::default(),
            blocks: BlockSchedule::default(),
            nodes: NodeSchedule::default(),
            inventories: InventorySchedule::default(),
            silence: Silence::default(),
            outbox: VecDeque::new(),
        }
    }

    /// Sets the budget for mutating calls to EC2.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.buckets = self.buckets.with_budget(budget);
        self
    }

    /// The known facts.
    #[must_use]
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Handles an event. [`Self::poll`] returns the effects that follow.
    pub fn handle(&mut self, event: Event, now: Instant) {
        match event {
            Event::Fact(fact) => self.apply_fact(fact, now, now),
            Event::Completed(work, completion) => self.completed(work, completion, now),
            Event::Called(group, ips, result) => self.called(&group, &ips, &result, now),
            Event::Leadership(leadership) => self.leadership = leadership,
        }
        self.follow_leadership(now);
    }

    /// The next effect. None: nothing to do until [`Self::wake_at`] or the next event.
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

    /// When to call [`Self::poll`] again if no event comes: later than `now`, or [`Instant::NEVER`].
    #[must_use]
    pub fn wake_at(&self, now: Instant) -> Instant {
        if !self.leading {
            return Instant::NEVER;
        }
        let moments = [
            self.leadership.ends(),
            // No step begins while the list of all IPs is in flight.
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

    /// Applies a fact. `begun` is when the request that it answers was begun.
    fn apply_fact(&mut self, fact: Fact, begun: Instant, now: Instant) {
        let fact = self.tombstones.filter(fact, begun, &self.facts);
        // The reconciliation of an IP that is gone removes what the engine remembers of it.
        let gone = match &fact {
            Fact::IpGone(name, _) | Fact::IpRead(name, None) => Some(name.clone()),
            _ => None,
        };
        if let Fact::InventoryDone(subnet, list) = &fact {
            for contradiction in self.facts.contradictions(subnet, list, begun) {
                self.report(Report::Contradicted(subnet.clone(), contradiction));
            }
        }
        if let Fact::Restored(_) = fact {
            // A deleted IP can come back with its UID.
            self.tombstones = Tombstones::default();
        }
        let synced = self.facts.synced();
        let affected = self.facts.apply(fact, begun, now);
        if self.leading {
            self.queue.extend(gone.iter());
            self.queue_affected(affected);
        } else if let Some(gone) = gone.filter(|gone| !self.facts.knows(gone)) {
            // When this process leads, every IP is queued.
            self.forget(&gone);
        }
        if !synced && self.facts.synced() {
            self.report(Report::Synced);
        }
    }

    /// Queues the IPs that a fact affects, and their blocks.
    fn queue_affected(&mut self, affected: Affected) {
        match affected {
            Affected::Nothing => {}
            Affected::One(ip) => {
                let block = self.facts.block_of(&ip);
                self.mark_affected(block.as_ref());
                self.queue.push(ip);
            }
            Affected::Several(ips) => {
                self.mark_affected(None);
                self.queue.extend(ips.iter());
            }
            Affected::All => {
                self.mark_affected(None);
                self.queue.extend(self.facts.ip_names());
            }
        }
    }

    /// Posts the notices that were not posted yet.
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
    /// No token is available: when to try again.
    fn take_token(&mut self, action: Action, now: Instant) -> Result<(), Instant> {
        match self.pacing {
            Pacing::On => self.buckets.take(action, now),
            Pacing::Off => Ok(()),
        }
    }
}
