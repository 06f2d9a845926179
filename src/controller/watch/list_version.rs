//! The version of the list of a kind. If it decreases, the API server was restored from a backup. The watch events of
//! kube do not contain it, so it is requested after each relist. Between relists the answers about the `Lease` show it;
//! without a `Lease` it is requested in each interval. A watch that continues from a version before the restoration
//! receives nothing until that version is reached again, which may take hours, so the watch is restarted.
//! The Leases can be in another store than the kind, so a version of a list is never compared with their revision.
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
    /// The highest version of the lists since the last restoration. The engine was told it last.
    listed: ResourceVersion,
    /// The highest revision that the `Lease` showed since then. With one store the lists are rarely that new.
    revision: ResourceVersion,
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
            listed: ResourceVersion(0),
            revision: ResourceVersion(0),
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
        let highest = self.listed.max(self.revision);
        if restored && version < highest {
            self.revision = version;
            // With two stores the next list can have a lower version than the `Lease`. That is no second restoration.
            return self.went_back(highest, self.listed.min(version)).await;
        }
        self.revision = self.revision.max(version);
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
            Some(Ok(version)) if version < self.listed => {
                // The `Lease` shows this restoration too, if it is in the same store.
                self.revision = self.revision.min(version);
                self.went_back(self.listed, version).await
            }
            Some(Ok(version)) => {
                self.listed = version;
                self.tell(version).await
            }
            _ => Ok(()),
        }
    }

    async fn went_back(
        &mut self,
        from: ResourceVersion,
        to: ResourceVersion,
    ) -> Result<(), Closed> {
        tracing::warn!(kind = ?self.shown.kind, "the API server was restored from a backup");
        // The engine compares with the version that it received last, which may be old.
        self.tell(from).await?;
        self.listed = to;
        self.tell(to).await?;
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

#[cfg(test)]
mod tests;
