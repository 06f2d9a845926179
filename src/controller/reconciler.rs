//! The one task that owns the engine. It passes events to the engine, and carries out effects in separate tasks, whose
//! results are events again. This task does no I/O, so that it is never late for an event.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use mooring_plan::buckets::Budget;
use mooring_plan::ec2::CALL_LIMIT;
use mooring_plan::engine::{
    BLOCK_STEPS_AT_ONCE, Completion, Effect, Engine, Event, Pacing, Report, Work,
};
use mooring_plan::facts::{Fact, Settings};
use mooring_plan::lease::Leadership;
use mooring_plan::names::BlockName;
use mooring_plan::step::BlockStep;
use mooring_plan::time;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::effects::Effects;
use super::error::Error;
use super::events::Events;
use super::lease::Signals;
use super::reports::Reports;
use super::trace;

/// Time limit for effects in flight during the shutdown: that of a call to EC2 and its answer. A list of interfaces can
/// take longer. It is dropped then, because it changes nothing.
const FINISH: Duration = CALL_LIMIT.saturating_add(Duration::from_secs(1));
/// The most facts that are applied before new effects are started.
const BATCH: usize = 256;

/// The inputs of the reconciler.
pub(super) struct Parts {
    pub(super) effects: Effects,
    pub(super) facts: mpsc::Receiver<Fact>,
    pub(super) leadership: watch::Receiver<Leadership>,
    pub(super) signals: Signals,
    pub(super) events: Events,
    pub(super) settings: Settings,
    pub(super) budget: Budget,
    pub(super) on_synced: Box<dyn FnOnce() + Send>,
    pub(super) requests: TaskTracker,
}

/// The task that owns the engine.
pub(super) struct Reconciler {
    engine: Engine,
    effects: Effects,
    facts: mpsc::Receiver<Fact>,
    leadership: watch::Receiver<Leadership>,
    signals: Signals,
    events: Events,
    reports: Reports,
    /// The effects in flight. Each returns the event with its result.
    in_flight: JoinSet<Event>,
    /// Tracks the reads and writes of IPs and pods in flight, because Events wait for them.
    requests: TaskTracker,
    on_synced: Option<Box<dyn FnOnce() + Send>>,
}

impl Reconciler {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            engine: Engine::new(parts.settings, Pacing::On).with_budget(parts.budget),
            reports: Reports::new(parts.effects.metrics.clone()),
            effects: parts.effects,
            facts: parts.facts,
            leadership: parts.leadership,
            signals: parts.signals,
            events: parts.events,
            in_flight: JoinSet::new(),
            requests: parts.requests,
            on_synced: Some(parts.on_synced),
        }
    }

    /// Runs until `stop` is cancelled. Then it starts no more effects and waits for those in flight.
    pub(super) async fn run(mut self, stop: CancellationToken) -> Result<(), Error> {
        let mut batch = Vec::with_capacity(BATCH);
        self.follow_leadership();
        let ended = loop {
            let now = self.now();
            while let Some(effect) = self.engine.poll(now) {
                self.begin(effect);
            }
            let (clock, wake) = (self.effects.clock, self.engine.wake_at(now));
            tokio::select! {
                biased;
                () = stop.cancelled() => break Ok(()),
                Some(ended) = self.in_flight.join_next() => match ended {
                    Ok(completed) => self.handle(completed),
                    Err(source) => break Err(Error::Panicked { task: "a step", source }),
                },
                count = self.facts.recv_many(&mut batch, BATCH) => {
                    if count == 0 {
                        break Err(Error::Ended { task: "every watch" });
                    }
                    for fact in batch.drain(..) {
                        self.handle(Event::Fact(fact));
                    }
                }
                changed = self.leadership.changed() => {
                    if changed.is_err() {
                        break Err(Error::Ended { task: "the lease" });
                    }
                    self.follow_leadership();
                }
                () = clock.until(wake) => {}
            }
        };
        self.finish().await;
        ended
    }

    async fn finish(&mut self) {
        self.reports.show(Report::Leading(false));
        let count = self.in_flight.len();
        let all = async { while self.in_flight.join_next().await.is_some() {} };
        if count > 0 && tokio::time::timeout(FINISH, all).await.is_err() {
            tracing::warn!(count, "effects in flight did not end in time");
        }
    }

    fn now(&self) -> time::Instant {
        self.effects.clock.now()
    }

    fn handle(&mut self, event: Event) {
        self.engine.handle(event, self.now());
    }

    fn follow_leadership(&mut self) {
        let leadership = *self.leadership.borrow_and_update();
        self.handle(Event::Leadership(leadership));
    }

    fn begin(&mut self, effect: Effect) {
        let effects = self.effects.clone();
        match effect {
            Effect::Read(ip, read) => {
                tracing::debug!(%ip, ?read, "reading");
                let request = self.requests.track_future(async move {
                    let completion = effects.read(&ip, read).await;
                    Event::Completed(Work::Ip(ip), completion)
                });
                self.in_flight.spawn(request);
            }
            Effect::Write { ip, write, moved } => {
                trace::write(&ip, &write);
                let request = self.requests.track_future(async move {
                    let completion = effects.write(&ip, write, moved).await;
                    Event::Completed(Work::Ip(ip), completion)
                });
                self.in_flight.spawn(request);
            }
            Effect::Calls(group, ips) => {
                self.in_flight.spawn(async move {
                    let result = effects.call(&group, &ips).await;
                    Event::Called(group, ips, result)
                });
            }
            Effect::BlockSteps(block, steps) => {
                trace::block_steps(&block, &steps);
                self.in_flight.spawn(block_steps(effects, block, steps));
            }
            Effect::NodeStep(node, step) => {
                trace::node_step(&node, &step);
                self.in_flight.spawn(async move {
                    let completion = effects.node_step(&node, step).await;
                    Event::Completed(Work::Node(node), completion)
                });
            }
            Effect::Inventory(subnet) => {
                self.in_flight.spawn(async move {
                    let completion = effects.inventory(subnet.clone()).await;
                    Event::Completed(Work::Inventory(subnet), completion)
                });
            }
            Effect::ListIps => {
                self.in_flight
                    .spawn(async move { Event::Completed(Work::Ips, effects.list_ips().await) });
            }
            Effect::Resign => self.signals.resign.notify_one(),
            Effect::Post(notice) => self.events.report(notice),
            Effect::Report(report) => {
                if report == Report::Synced
                    && let Some(on_synced) = self.on_synced.take()
                {
                    on_synced();
                    self.signals.listed.notify_one();
                }
                self.reports.show(report);
            }
        }
    }
}

async fn block_steps(effects: Effects, block: BlockName, steps: Vec<BlockStep>) -> Event {
    let steps = steps
        .into_iter()
        .map(|step| effects.block_step(&block, step));
    let mut all = Completion::default();
    let mut done = stream::iter(steps).buffer_unordered(BLOCK_STEPS_AT_ONCE);
    while let Some(one) = done.next().await {
        all.facts.extend(one.facts);
        all.called.extend(one.called);
    }
    drop(done);
    Event::Completed(Work::Block(block), all)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mooring_plan::buckets::Budget;
    use mooring_plan::engine::Effect;
    use mooring_plan::facts::Settings;
    use mooring_plan::lease::Leadership;
    use mooring_plan::names::{IpName, ResourceVersion, SubnetId};
    use mooring_plan::step::{Moved, Read, Write};
    use tokio::sync::{mpsc, watch};
    use tokio_util::task::TaskTracker;

    use super::{Effects, Events, Parts, Reconciler, Signals};
    use crate::fake_api::{api_server, failure};

    /// A reconciler whose API server has no object.
    fn reconciler(requests: TaskTracker) -> Reconciler {
        let effects = Effects::of_client(api_server(|_, _, _| failure(404)));
        let metrics = effects.metrics.clone();
        Reconciler::new(Parts {
            effects,
            facts: mpsc::channel(1).1,
            leadership: watch::channel(Leadership::default()).1,
            signals: Signals::default(),
            events: Events::queue(metrics).0,
            settings: Settings {
                inventory_interval: Duration::from_mins(1),
            },
            budget: Budget::default(),
            on_synced: Box::new(|| ()),
            requests,
        })
    }

    #[tokio::test]
    async fn events_wait_for_reads_and_writes_of_an_ip_and_for_nothing_else() {
        let requests = TaskTracker::new();
        requests.close();
        let mut reconciler = reconciler(requests.clone());
        let (ip, version) = (IpName::new("partner"), ResourceVersion(1));

        reconciler.begin(Effect::Read(ip.clone(), Read::Ip(ip.clone())));
        assert_eq!(requests.len(), 1);
        let write = Write::RemoveFinalizer {
            ip: ip.clone(),
            version,
        };
        reconciler.begin(Effect::Write {
            ip,
            write,
            moved: Moved::No,
        });
        assert_eq!(requests.len(), 2);
        while reconciler.in_flight.join_next().await.is_some() {}
        assert!(requests.is_empty());

        reconciler.begin(Effect::ListIps);
        reconciler.begin(Effect::Inventory(SubnetId::new("subnet-1")));
        assert!(requests.is_empty());
    }
}
