//! The version of the list of a kind, which shows that the API server was restored from a backup. The watch events of
//! kube do not contain it, so it is requested after each relist. Between relists the answers about the `Lease` show a
//! restoration; without a `Lease` the version is requested in each interval.
//! Rules: R1.25, R7.5.

use std::sync::Arc;
use std::time::Duration;

use mooring_plan::facts::Fact;
use mooring_plan::store_revision::{KnownVersions, Revision};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Interval, MissedTickBehavior};

use super::watched_kind::WatchedKind;
use crate::api::list_version::list_version;
use crate::controller::error::Failure;
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

/// The version of the list of one kind, and the receivers of a change.
pub(super) struct ListVersion {
    watched: WatchedKind,
    facts: mpsc::Sender<Fact>,
    /// Notified when the watch has to be restarted.
    set_back: Arc<Notify>,
    metrics: Metrics,
    known: KnownVersions,
}

/// The receiver of the facts was dropped.
struct Closed;

impl ListVersion {
    pub(super) fn new(
        watched: WatchedKind,
        facts: mpsc::Sender<Fact>,
        set_back: Arc<Notify>,
        metrics: Metrics,
    ) -> Self {
        Self {
            watched,
            facts,
            set_back,
            metrics,
            known: KnownVersions::default(),
        }
    }

    /// Follows the version. Requests are made in sequence: answers in the wrong order would look like a restoration.
    pub(super) async fn follow(mut self, relisted: Arc<Notify>, by: Restorations) {
        // The first relist happens at once, so the first tick is not needed earlier.
        let (mut revision, mut ticks) = match by {
            Restorations::ByLease(revision) => (Some(revision), None),
            Restorations::ByList(interval) => (None, Some(interval_after(interval))),
        };
        loop {
            let step = tokio::select! {
                () = relisted.notified() => self.ask().await,
                () = tick(&mut ticks) => self.ask().await,
                Some(now) = next(&mut revision) => self.lease_shows(now).await,
            };
            if step.is_err() {
                return;
            }
        }
    }

    async fn lease_shows(&mut self, revision: Revision) -> Result<(), Closed> {
        if self.known.lease_shows(revision) {
            self.report().await?;
        }
        Ok(())
    }

    async fn ask(&mut self) -> Result<(), Closed> {
        let WatchedKind { kind, selector, .. } = self.watched;
        let version = match list_version(&self.watched.api(), kind, selector).await {
            Ok(version) => version,
            Err(error) => {
                let failure = Failure::from(error);
                self.metrics.reconcile_error(failure.reason());
                tracing::warn!(
                    error = chain(&failure),
                    "the version of a list is not known"
                );
                return Ok(());
            }
        };
        match version {
            Some(version) if self.known.list_shows(version) => self.report().await,
            _ => Ok(()),
        }
    }

    /// Reports a restoration. The watch receives nothing until the version from which it continues is reached again,
    /// which may take hours (R7.5), so it is restarted.
    async fn report(&self) -> Result<(), Closed> {
        let kind = self.watched.kind;
        tracing::warn!(?kind, "the API server was restored from a backup");
        // The fact decides how the new list is read, so it is sent first.
        let sent = self.facts.send(Fact::Restored(kind)).await;
        sent.map_err(|_| Closed)?;
        self.set_back.notify_one();
        Ok(())
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
