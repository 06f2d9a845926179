//! What the API server shows, as facts: for each kind one task that watches it, and one that follows the version of the
//! kind's list.
//!
//! An error never changes a fact about an object: "cannot list" does not mean "gone". Only a complete list shows which
//! objects do not exist any more.

mod list_version;
mod relist_diff;
mod watched_kind;

use std::sync::Arc;

use futures::TryStreamExt as _;
use kube::api::DynamicObject;
use kube::runtime::watcher::Event;
use mooring_plan::facts::{Fact, Kind};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use super::apis::Apis;
use crate::metrics::Metrics;
use crate::telemetry::chain;
use list_version::ListVersion;
pub(super) use list_version::Restorations;
use relist_diff::RelistDiff;
use watched_kind::WatchedKind;

/// Called with every watch event before the event has any effect.
pub type Observer = Arc<dyn Fn(Kind, &Event<DynamicObject>) + Send + Sync>;

/// Starts the watches. They run until they are aborted or their receiver is dropped.
pub(super) fn spawn(
    tasks: &mut JoinSet<&'static str>,
    apis: &Apis,
    facts: &mpsc::Sender<Fact>,
    restorations: &Restorations,
    observer: Option<&Observer>,
    metrics: &Metrics,
) {
    for kind in Kind::ALL {
        let watched = WatchedKind::of(kind, apis);
        let relisted = Arc::new(Notify::new());
        let set_back = Arc::new(Notify::new());
        let version = ListVersion::new(
            watched.clone(),
            facts.clone(),
            Arc::clone(&set_back),
            metrics.clone(),
        );
        let versions = version.follow(Arc::clone(&relisted), restorations.clone());
        tasks.spawn(async move {
            versions.await;
            "the version of a list"
        });
        let watching = watch(
            watched,
            observer.cloned(),
            facts.clone(),
            relisted,
            set_back,
            metrics.clone(),
        );
        tasks.spawn(async move {
            watching.await;
            "a watch"
        });
    }
}

async fn watch(
    watched: WatchedKind,
    observer: Option<Observer>,
    facts: mpsc::Sender<Fact>,
    relisted: Arc<Notify>,
    set_back: Arc<Notify>,
    metrics: Metrics,
) {
    let mut events = watched.events();
    let mut known = RelistDiff::default();
    let mut synced = false;
    loop {
        let next = tokio::select! {
            biased;
            () = set_back.notified() => {
                watched.reset_versions();
                events = watched.events();
                continue;
            }
            next = events.try_next() => next,
        };
        let event = match next {
            Ok(Some(event)) => event,
            Ok(None) => return,
            Err(error) => {
                metrics.reconcile_error("Watch");
                tracing::warn!(kind = ?watched.kind, error = chain(&error), "a watch was interrupted");
                continue;
            }
        };
        if let Some(observer) = &observer {
            observer(watched.kind, &event);
        }
        let mut changes = Vec::new();
        match event {
            Event::Init => known.begin(),
            Event::Apply(object) | Event::InitApply(object) => {
                if let Some(key) = watched.key(&object) {
                    known.see(key);
                }
                match watched.read(&object) {
                    Ok(fact) => changes.push(fact),
                    // Keep what is known: an object that cannot be read is not gone.
                    Err(error) => {
                        metrics.reconcile_error("Unreadable");
                        tracing::error!(
                            error = chain(&error),
                            "an object cannot be read and is left alone"
                        );
                        changes.extend(watched.unreadable(&object, &error));
                    }
                }
            }
            Event::Delete(object) => {
                if let Some(key) = watched.key(&object) {
                    changes.extend(watched.deleted(&key));
                    known.forget(&key);
                }
            }
            Event::InitDone => {
                changes.extend(known.done().iter().filter_map(|key| watched.vanished(key)));
                if !std::mem::replace(&mut synced, true) {
                    changes.push(Fact::Synced(watched.kind));
                }
                relisted.notify_one();
            }
        }
        for fact in changes {
            if facts.send(fact).await.is_err() {
                return;
            }
        }
    }
}
