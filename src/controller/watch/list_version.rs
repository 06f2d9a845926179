//! The version of the list of a kind. If it decreases, the API server was restored from a backup. The watch events of
//! kube do not contain it, so it is requested after each relist. Between relists the answers about the `Lease` show it;
//! without a `Lease` it is requested in each interval. A watch that continues from a version before the restoration
//! receives nothing until that version is reached again, which may take hours, so the watch is restarted.
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

/// How a restoration is detected between relists.
#[derive(Clone)]
pub(in crate::controller) enum Restorations {
    /// By the revision that the answers about the `Lease` show.
    ByLease(watch::Receiver<Revision>),
    /// By a request in each interval, because there is no `Lease`.
    ByList(Duration),
}

/// The version of the list of one kind, and the receivers of a decrease.
pub(super) struct ListVersion {
    shown: WatchedKind,
    facts: mpsc::Sender<Fact>,
    /// Notified when the watch has to be restarted.
    set_back: Arc<Notify>,
    metrics: Metrics,
    /// The highest known version. All kinds are in one store, so the revision of the `Lease` counts too.
    stands_at: ResourceVersion,
}

/// The receiver of the facts was dropped.
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

    /// Follows the version. Requests are made in sequence: answers in the wrong order would look like a restoration.
    pub(super) async fn follow(mut self, relisted: Arc<Notify>, by: Restorations) {
        // The first relist happens at once, so the first tick is not needed earlier.
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

    /// Applies the revision from the `Lease`. A list after the restoration may have shown the decrease already.
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
        // The engine compares with the version that it received last, which may be old.
        self.tell(self.stands_at).await?;
        self.stands_at = version;
        self.tell(version).await?;
        // Restart the watch after the fact was sent, because the fact decides how the new list is read.
        self.set_back.notify_one();
        Ok(())
    }

    async fn tell(&self, version: ResourceVersion) -> Result<(), Closed> {
        let fact = Fact::Listed(self.shown.kind, version);
        self.facts.send(fact).await.map_err(|_| Closed)
    }
}

/// An interval whose first tick comes after one period.
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

/// The next change of the revision. None: its sender was dropped.
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
