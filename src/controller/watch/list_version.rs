//! At which version a kind's list stands: a number that goes down means that the API server was restored
//! from a backup. kube's watch events do not carry it. After a relist it is asked for; else the answers about the
//! `Lease` show it, and without a `Lease` it is asked for in each interval. A watch that goes on from a version
//! of before receives nothing until that version is reached again, which may take hours: it is restarted.
//! Rules: R1.25, R7.5.

use std::sync::Arc;
use std::time::Duration;

use kube::api::ListParams;
use mooring_plan::facts::Fact;
use mooring_plan::names::ResourceVersion;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Interval, MissedTickBehavior};

use super::watched_kind::WatchedKind;
use crate::api::read;
use crate::controller::effects::with_timeout;
use crate::controller::store_revision::Revision;
use crate::metrics::Metrics;
use crate::telemetry::chain;

/// By what a restoration is noticed between relists.
#[derive(Clone)]
pub(in crate::controller) enum Restorations {
    /// By the revision that the answers about the `Lease` show.
    ByLease(watch::Receiver<Revision>),
    /// By a question in each interval: there is no `Lease`.
    ByList(Duration),
}

/// The version of the list of one kind, and who is told that it went down.
pub(super) struct ListVersion {
    shown: WatchedKind,
    facts: mpsc::Sender<Fact>,
    /// Told when the watch has to be restarted.
    set_back: Arc<Notify>,
    metrics: Metrics,
    /// The highest that is known. Every kind is in one store, so that the revision of the `Lease` counts as well.
    stands_at: ResourceVersion,
}

/// The receiver of the facts is gone.
struct Closed;

impl ListVersion {
    pub(super) fn new(
        shown: WatchedKind,
        facts: mpsc::Sender<Fact>,
        set_back: Arc<Notify>,
        metrics: Metrics,
    ) -> Self {
        Self {
            shown,
            facts,
            set_back,
            metrics,
            stands_at: ResourceVersion(0),
        }
    }

    /// Follows it. One answer comes after the other: two that overtook each other would look like a backup.
    pub(super) async fn follow(mut self, relisted: Arc<Notify>, by: Restorations) {
        // The first relist comes at once.
        let (mut revision, mut ticks) = match by {
            Restorations::ByLease(revision) => (Some(revision), None),
            Restorations::ByList(interval) => (None, Some(interval_after(interval))),
        };
        let mut restorations = 0;
        loop {
            let step = tokio::select! {
                () = relisted.notified() => self.ask().await,
                () = tick(&mut ticks) => self.ask().await,
                Some(now) = next(&mut revision) => {
                    let restored = now.restorations != restorations;
                    restorations = now.restorations;
                    self.revision_is(now.highest, restored).await
                }
            };
            if step.is_err() {
                return;
            }
        }
    }

    /// What the `Lease` shows. A list that was asked for after the restoration may have shown it before.
    async fn revision_is(
        &mut self,
        version: ResourceVersion,
        restored: bool,
    ) -> Result<(), Closed> {
        if restored && version < self.stands_at {
            return self.went_back(version).await;
        }
        self.stands_at = self.stands_at.max(version);
        Ok(())
    }

    async fn ask(&mut self) -> Result<(), Closed> {
        let mut params = ListParams::default().limit(1);
        params.label_selector = self.shown.selector.map(str::to_owned);
        let doing = || {
            format!(
                "asking for the version of the list of {:?}",
                self.shown.kind
            )
        };
        let list = match with_timeout(doing, self.shown.api().list_metadata(&params)).await {
            Ok(list) => list,
            Err(failure) => {
                self.metrics.reconcile_error(failure.reason());
                tracing::warn!(
                    error = chain(&failure),
                    "the version of a list is not known"
                );
                return Ok(());
            }
        };
        let version = list.metadata.resource_version.as_deref().map(read::version);
        match version {
            Some(Ok(version)) if version < self.stands_at => self.went_back(version).await,
            Some(Ok(version)) => {
                self.stands_at = version;
                self.tell(version).await
            }
            _ => Ok(()),
        }
    }

    async fn went_back(&mut self, version: ResourceVersion) -> Result<(), Closed> {
        tracing::warn!(kind = ?self.shown.kind, "the API server was restored from a backup");
        // The engine compares with what it was told last, which may be long ago.
        self.tell(self.stands_at).await?;
        self.stands_at = version;
        self.tell(version).await?;
        // After that fact: it decides how the new list is read.
        self.set_back.notify_one();
        Ok(())
    }

    async fn tell(&self, version: ResourceVersion) -> Result<(), Closed> {
        let fact = Fact::Listed(self.shown.kind, version);
        self.facts.send(fact).await.map_err(|_| Closed)
    }
}

/// The first tick comes after the interval.
fn interval_after(interval: Duration) -> Interval {
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + interval, interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

async fn tick(ticks: &mut Option<Interval>) {
    match ticks {
        Some(ticks) => drop(ticks.tick().await),
        None => std::future::pending().await,
    }
}

/// The next change of the revision; None: its sender is gone.
async fn next(revision: &mut Option<watch::Receiver<Revision>>) -> Option<Revision> {
    let Some(receiver) = revision else {
        return std::future::pending().await;
    };
    if receiver.changed().await.is_err() {
        *revision = None;
        return None;
    }
    Some(*receiver.borrow_and_update())
}
