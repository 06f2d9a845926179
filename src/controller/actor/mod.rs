//! The one task that knows: facts go in, one step for each IP comes out, and its answer goes in again.
//!
//! At most one step is in flight for an IP; different IPs do not wait for each other. Everything that
//! takes time happens in other tasks, so that this one is never late for a fact.

mod blocks;
mod decided;
mod gone;
mod inventories;
mod news;
mod pace;
mod progress;
mod queue;
mod said;
mod steps;

use std::collections::BTreeSet;
use std::time::Duration;

use mooring_plan::buckets::Buckets;
use mooring_plan::classify::Outcome;
use mooring_plan::facts::{Fact, Facts, Settings, Touched};
use mooring_plan::names::{BlockName, IpName, Millis, SubnetId};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::effects::{Answer, Effects};
use super::error::Error;
use super::events::Events;
use super::lease::Lead;
use crate::cloud::Cloud;
use blocks::Blocks;
use gone::Gone;
use inventories::Inventories;
use news::Told;
use pace::Pace;
use progress::Progress;
use queue::Queue;
use said::Said;

/// What is in flight when deciding ends is awaited so long: a call to EC2 takes 5 s at most.
const FINISH: Duration = Duration::from_secs(6);
/// So many facts are taken before steps are decided again.
const BATCH: usize = 256;
/// Nothing is looked at again sooner than this, whatever a decision says.
const SOON: Millis = Millis(20);

/// Something that was in flight has landed.
struct Landed {
    what: Flight,
    /// When its request was begun.
    begun: Millis,
    answer: Answer,
}

/// What can be in flight.
enum Flight {
    /// A step of an IP, with what is to be told if it was done.
    Ip(IpName, Option<Told>),
    /// The steps of a block.
    Block(BlockName),
    /// An inventory of a subnet.
    Inventory(SubnetId),
}

/// What the actor is given.
pub(super) struct Parts<C> {
    pub(super) effects: Effects<C>,
    pub(super) facts: mpsc::Receiver<Fact>,
    pub(super) lead: watch::Receiver<Lead>,
    pub(super) events: Events,
    pub(super) settings: Settings,
    pub(super) on_synced: Box<dyn FnOnce() + Send>,
}

/// The actor.
pub(super) struct Actor<C> {
    facts: Facts,
    buckets: Buckets,
    effects: Effects<C>,
    inbox: mpsc::Receiver<Fact>,
    lead: watch::Receiver<Lead>,
    events: Events,
    flights: JoinSet<Landed>,
    /// IPs with a step in flight.
    busy: BTreeSet<IpName>,
    queue: Queue,
    pace: Pace,
    progress: Progress,
    said: Said,
    gone: Gone,
    blocks: Blocks,
    inventories: Inventories,
    leading: bool,
    on_synced: Option<Box<dyn FnOnce() + Send>>,
}

impl<C: Cloud> Actor<C> {
    pub(super) fn new(parts: Parts<C>) -> Self {
        Self {
            facts: Facts::new(parts.settings),
            buckets: Buckets::new(),
            effects: parts.effects,
            inbox: parts.facts,
            lead: parts.lead,
            events: parts.events,
            flights: JoinSet::new(),
            busy: BTreeSet::new(),
            queue: Queue::default(),
            pace: Pace::default(),
            progress: Progress::default(),
            said: Said::default(),
            gone: Gone::default(),
            blocks: Blocks::default(),
            inventories: Inventories::default(),
            leading: false,
            on_synced: Some(parts.on_synced),
        }
    }

    /// Runs until it is told to stop; then decides nothing more and waits for what is in flight.
    pub(super) async fn run(mut self, stop: CancellationToken) -> Result<(), Error> {
        let mut batch = Vec::with_capacity(BATCH);
        let ended = loop {
            let now = self.now();
            self.follow_lead(now);
            self.launch(now);
            let clock = self.effects.clock;
            let wake = self.wake(now);
            tokio::select! {
                biased;
                () = stop.cancelled() => break Ok(()),
                Some(landed) = self.flights.join_next() => match landed {
                    Ok(landed) => self.land(landed),
                    Err(source) => break Err(Error::Panicked { task: "a step", source }),
                },
                heard = self.inbox.recv_many(&mut batch, BATCH) => {
                    if heard == 0 {
                        break Err(Error::Ended { task: "every watch" });
                    }
                    for fact in batch.drain(..) {
                        self.hear(fact, None);
                    }
                }
                changed = self.lead.changed() => if changed.is_err() {
                    break Err(Error::Ended { task: "the lease" });
                },
                () = clock.until(wake) => {}
            }
        };
        self.finish().await;
        ended
    }

    async fn finish(&mut self) {
        self.effects.metrics.leader(false);
        let count = self.flights.len();
        let all = async { while self.flights.join_next().await.is_some() {} };
        if count > 0 && tokio::time::timeout(FINISH, all).await.is_err() {
            tracing::warn!(count, "what was in flight did not end in time");
        }
    }

    fn now(&self) -> Millis {
        self.effects.clock.now()
    }

    fn lead(&self) -> Lead {
        *self.lead.borrow()
    }

    /// Takes a fact; `begun` is when the request that it answers was begun.
    fn hear(&mut self, fact: Fact, begun: Option<Millis>) {
        let now = self.now();
        let begun = begun.unwrap_or(now);
        let fact = self.gone.filter(fact, begun, &self.facts);
        // What is remembered here of one that is gone goes with it, at its turn.
        if let Fact::IpGone(name, _) | Fact::IpRead(name, None) = &fact {
            self.queue.push(name.clone());
        }
        if let Fact::InventoryDone(subnet, list) = &fact {
            self.compare(subnet, list, begun);
        }
        match self.facts.apply(fact, begun, now) {
            Touched::Nothing => {}
            Touched::One(ip) => {
                match self.facts.block_of(&ip) {
                    Some(block) => self.blocks.touch(&block),
                    None => self.blocks.touch_all(),
                }
                self.queue.push(ip);
            }
            Touched::Several(ips) => {
                self.blocks.touch_all();
                self.queue.extend(ips.iter());
            }
            Touched::All => {
                self.blocks.touch_all();
                self.queue.extend(self.facts.ip_names());
            }
        }
        if self.on_synced.is_some()
            && self.facts.synced()
            && let Some(on_synced) = self.on_synced.take()
        {
            tracing::info!("every kind has been listed");
            on_synced();
        }
    }

    fn land(&mut self, landed: Landed) {
        let now = self.now();
        for (action, outcome) in &landed.answer.called {
            if *outcome == Some(Outcome::Throttled) {
                self.buckets.throttled(*action, now);
            }
        }
        let done = news::done(&landed.answer.facts);
        let looked = |fact: &Fact| matches!(fact, Fact::InventoryDone(..));
        let complete = landed.answer.facts.iter().any(looked);
        for fact in landed.answer.facts {
            self.hear(fact, Some(landed.begun));
        }
        match landed.what {
            Flight::Ip(ip, told) => {
                self.busy.remove(&ip);
                if let Some(told) = told.filter(|_| done) {
                    self.tell(&ip, told, now);
                }
                self.queue.push(ip);
            }
            Flight::Block(block) => self.blocks.landed(&block),
            Flight::Inventory(subnet) => {
                self.inventories.landed(&subnet);
                if complete {
                    let (ago, metrics) = (now.since(landed.begun), &self.effects.metrics);
                    self.inventories.show_done(&subnet, ago, metrics);
                }
            }
        }
    }

    /// Notices that leadership came or went. Nobody leads before every kind was listed.
    fn follow_lead(&mut self, now: Millis) {
        let lead = *self.lead.borrow_and_update();
        // What is listed after it has begun to lead would not be read before it is acted on.
        let leading = lead.holds(now) && self.facts.synced();
        if leading == self.leading {
            return;
        }
        self.leading = leading;
        self.effects.metrics.leader(leading);
        if leading {
            tracing::info!("leading");
            self.facts.lead_begins(now);
            self.queue.extend(self.facts.ip_names());
            self.blocks.touch_all();
        } else {
            tracing::info!("no longer leading");
            self.blocks.forget_gauges(&self.effects.metrics);
            self.inventories.forget_gauges(&self.effects.metrics);
        }
    }

    /// Begins everything that is to be done now.
    fn launch(&mut self, now: Millis) {
        if !self.leading {
            return;
        }
        self.launch_inventories(now);
        self.launch_steps(now);
        self.launch_blocks(now);
    }

    /// When to look again although nothing happened.
    fn wake(&self, now: Millis) -> Millis {
        if !self.leading {
            return Millis(u64::MAX);
        }
        let moments = [
            self.lead().ends(),
            self.queue.next(),
            Some(self.blocks.next()),
            self.inventories.next(&self.facts),
        ];
        let earliest = moments
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(Millis(u64::MAX));
        earliest.max(now.plus(SOON))
    }
}
