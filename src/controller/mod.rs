//! The controller: watch -> event -> engine -> effect -> completion.
//!
//! The engine of `plan` decides. This module contains the I/O: watches, requests, calls, the clock, and the one task
//! that passes their results to the engine.

mod apis;
mod clock;
mod effects;
mod error;
mod events;
mod lease;
mod object_cache;
mod reconciler;
mod reports;
mod store_revision;
mod trace;
mod watch;

use std::time::Duration;

use kube::Client;
use mooring_plan::buckets::Budget;
use mooring_plan::facts::Settings;
use mooring_plan::lease::{Leadership, Timings};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cloud::ec2::Ec2;
use crate::metrics::Metrics;
use apis::Apis;
use clock::Clock;
use effects::Effects;
pub use error::Error;
use error::Failure;
use events::Events;
use lease::{LeaderElector, Signals};
use reconciler::{Parts, Reconciler};
pub use watch::Observer;
use watch::Restorations;

/// Capacity of the channel of facts; watches block when it is full.
const FACTS: usize = 1024;
/// Time limit for posting queued Events during the shutdown.
const LAST_EVENTS: Duration = Duration::from_secs(1);

/// The inputs of the controller.
pub struct Options {
    /// For all requests except reads and writes of the lease. It must not retry by itself: the engine decides on
    /// retries.
    pub client: Client,
    /// For reads and writes of the lease only. It must not retry by itself.
    pub lease_client: Client,
    /// The client of EC2.
    pub cloud: Ec2,
    /// Shared with the webhook and the EC2 client, and served at `/metrics`.
    pub metrics: Metrics,
    /// Starts the shutdown when cancelled: no decision is made from then on.
    pub stop: CancellationToken,
    /// The namespace of the `Lease`.
    pub namespace: String,
    /// The unique identity of this process in the `Lease`.
    pub identity: String,
    /// Timings of the election. None: there is no other replica and no `Lease`.
    pub election: Option<Timings>,
    /// Time between two inventories of a subnet.
    pub inventory_interval: Duration,
    /// Limits for the mutating calls of EC2.
    pub budget: Budget,
    /// Receives all watch events, so that the webhook in the same process needs no watches of its own.
    pub observer: Option<Observer>,
    /// Called once, when all kinds have been listed.
    pub on_synced: Box<dyn FnOnce() + Send>,
}

/// Runs until `stop` is cancelled. Then it waits for the requests in flight, and releases the lease after them (R6.13).
///
/// # Errors
/// A task ended or panicked, because of a bug in Mooring. The lease is released in this case too.
pub async fn run(options: Options) -> Result<(), Error> {
    let clock = Clock::start();
    options.metrics.reconcile_errors_of(Failure::reasons());
    let apis = Apis::new(options.client.clone());
    let (fact_sender, facts) = mpsc::channel(FACTS);
    let mut watches = JoinSet::new();
    let elector = options.election.map(|timings| {
        LeaderElector::new(
            options.lease_client,
            apis.client(),
            &options.namespace,
            &options.identity,
            timings,
            clock,
            options.metrics.clone(),
        )
    });
    let restorations = match &elector {
        Some(elector) => Restorations::ByLease(elector.revision()),
        None => Restorations::ByList(options.inventory_interval),
    };
    watch::spawn(
        &mut watches,
        &apis,
        &fact_sender,
        &restorations,
        options.observer.as_ref(),
        &options.metrics,
    );
    drop(fact_sender);

    let (events, queue) = Events::queue(options.metrics.clone());
    let mut posting = JoinSet::new();
    // `wait` can return only after the tracker was closed. Tasks can still be added to a closed tracker.
    let requests = TaskTracker::new();
    requests.close();
    posting.spawn(events::post(
        options.client,
        options.identity,
        clock,
        options.metrics.clone(),
        queue,
        requests.clone(),
    ));

    let first = if elector.is_some() {
        Leadership::default()
    } else {
        Leadership::ALWAYS
    };
    let (leadership_sender, leadership) = tokio::sync::watch::channel(first);
    let (release, signals) = (CancellationToken::new(), Signals::default());
    let mut electing = JoinSet::new();
    if let Some(elector) = elector {
        electing.spawn(elector.run(leadership_sender, signals.clone(), release.clone()));
    } else {
        let released = release.clone();
        electing.spawn(async move {
            released.cancelled().await;
            drop(leadership_sender);
        });
    }

    let parts = Parts {
        effects: Effects {
            apis,
            cloud: options.cloud,
            clock,
            metrics: options.metrics,
        },
        facts,
        leadership,
        signals,
        events,
        settings: Settings {
            inventory_interval: options.inventory_interval,
        },
        budget: options.budget,
        on_synced: options.on_synced,
        requests,
    };
    let stop = options.stop.child_token();
    let reconciling = Reconciler::new(parts).run(stop.clone());
    let mut reconciling = std::pin::pin!(reconciling);
    let ended = tokio::select! {
        ended = &mut reconciling => ended,
        failure = first_failure(&mut watches, &mut electing) => {
            // The lease is released after the last call has ended, for any cause of the shutdown.
            stop.cancel();
            let _ = reconciling.await;
            Err(failure)
        }
    };
    release.cancel();
    // The release has its own time limit. The last Events are posted meanwhile: the reconciler was dropped, so
    // their queue is closed.
    let _ = tokio::join!(
        electing.join_next(),
        tokio::time::timeout(LAST_EVENTS, posting.join_next())
    );
    ended
}

/// Waits for the first task that ends although it must not, and returns the error.
async fn first_failure(watches: &mut JoinSet<&'static str>, electing: &mut JoinSet<()>) -> Error {
    let electing_it = "electing the lease";
    let (ended, task) = tokio::select! {
        Some(ended) = watches.join_next() => (ended, "a watch"),
        Some(ended) = electing.join_next() => (ended.map(|()| electing_it), electing_it),
    };
    match ended {
        Ok(task) => Error::Ended { task },
        Err(source) => Error::Panicked { task, source },
    }
}
