//! At which version a kind's list stands: a number that goes down means that the API server was restored
//! from a backup. kube's watch events do not carry it, so it is asked for. A watch that goes on from a version
//! of before receives nothing until that version is reached again, which may take hours: it is restarted.
//! Rules: R1.25, R7.5.

use std::sync::Arc;
use std::time::Duration;

use kube::api::ListParams;
use mooring_plan::facts::Fact;
use tokio::sync::{Notify, mpsc};
use tokio::time::MissedTickBehavior;

use super::watched_kind::WatchedKind;
use crate::api::read;
use crate::controller::effects::with_timeout;
use crate::metrics::Metrics;
use crate::telemetry::chain;

/// Asks after each relist and each interval, one answer after the other: two that overtook each other
/// would look like a backup.
pub(super) async fn ask(
    shown: WatchedKind,
    facts: mpsc::Sender<Fact>,
    relisted: Arc<Notify>,
    set_back: Arc<Notify>,
    interval: Duration,
    metrics: Metrics,
) {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick comes at once, and the first relist will.
    ticks.tick().await;
    let mut params = ListParams::default().limit(1);
    params.label_selector = shown.selector.map(str::to_owned);
    let mut stood_at = None;
    loop {
        tokio::select! {
            () = relisted.notified() => {}
            _ = ticks.tick() => {}
        }
        let doing = || format!("asking for the version of the list of {:?}", shown.kind);
        match with_timeout(doing, shown.api().list_metadata(&params)).await {
            Ok(list) => {
                let version = list.metadata.resource_version.as_deref().map(read::version);
                if let Some(Ok(version)) = version {
                    let back = stood_at
                        .replace(version)
                        .is_some_and(|before| version < before);
                    if facts.send(Fact::Listed(shown.kind, version)).await.is_err() {
                        return;
                    }
                    // After that fact: it decides how the new list is read.
                    if back {
                        tracing::warn!(kind = ?shown.kind, "the API server was restored from a backup");
                        set_back.notify_one();
                    }
                }
            }
            Err(failure) => {
                metrics.reconcile_error(failure.reason());
                tracing::warn!(
                    error = chain(&failure),
                    "the version of a list is not known"
                );
            }
        }
    }
}
