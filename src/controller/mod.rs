//! The controller: watch -> event -> engine -> effect -> completion.
//!
//! `plan`'s engine decides. Here is what takes time: watches, requests, calls, a clock, and the one task
//! that passes what they say to the engine.

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
use events::{Events, Poster};
use lease::LeaderElector;
use reconciler::{Parts, Reconciler};
pub use watch::Observer;
use watch::Restorations;

/// Capacity of the channel of facts; watches block when it is full.
const FACTS: usize = 1024;
/// How long Events that wait are still posted at the end.
const LAST_EVENTS: Duration = Duration::from_secs(1);

/// What the controller is given.
pub struct Options {
    /// For everything but reading and writing the lease. Without retries of its own: what is repeated is decided here.
    pub client: Client,
    /// For reading and writing the lease alone. Without retries of its own.
    pub lease_client: Client,
    /// Where the addresses are attached.
    pub cloud: Ec2,
    /// Where it counts.
    pub metrics: Metrics,
    /// Tells it to end: nothing is decided from then on.
    pub stop: CancellationToken,
    /// The namespace of the `Lease`.
    pub namespace: String,
    /// This process's name in the `Lease`, unique to it.
    pub identity: String,
    /// None: there is no other replica, and no `Lease`.
    pub election: Option<Timings>,
    /// How often each subnet's interfaces are listed.
    pub inventory_interval: Duration,
    /// The calls that change EC2.
    pub budget: Budget,
    /// Is shown what the watches show: the webhook of the process needs no watches of its own.
    pub observer: Option<Observer>,
    /// Called once, when every kind has been listed.
    pub on_synced: Box<dyn FnOnce() + Send>,
}

/// Runs until it is told to stop. Then what is in flight is awaited, and after it the lease given back (R6.13).
///
/// # Errors
/// A task of it ended or panicked: a fault of ours. The lease is given back then too.
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
    let poster = Poster::new(
        options.client,
        options.identity.clone(),
        clock,
        options.metrics.clone(),
    );
    let mut posting = JoinSet::new();
    // A tracker must be closed before `wait` can end; tasks can still be added.
    let requests = TaskTracker::new();
    requests.close();
    posting.spawn(poster.run(queue, requests.clone()));

    let first = if elector.is_some() {
        Leadership::default()
    } else {
        Leadership::ALWAYS
    };
    let (leadership_sender, leadership) = tokio::sync::watch::channel(first);
    let release = CancellationToken::new();
    let mut electing = JoinSet::new();
    if let Some(elector) = elector {
        electing.spawn(elector.run(leadership_sender, release.clone()));
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
        died = death(&mut watches, &mut electing) => {
            // The lease goes back after the last call has ended, whatever ended the rest.
            stop.cancel();
            let _ = reconciling.await;
            Err(died)
        }
    };
    release.cancel();
    // Giving back has a limit of its own. The last Events are posted meanwhile: their queue is closed,
    // since the reconciler is gone.
    let _ = tokio::join!(
        electing.join_next(),
        tokio::time::timeout(LAST_EVENTS, posting.join_next())
    );
    ended
}

/// The first task that ends although it runs for ever.
async fn death(watches: &mut JoinSet<&'static str>, electing: &mut JoinSet<()>) -> Error {
    let electing_it = "electing the lease";
    let (died, task) = tokio::select! {
        Some(died) = watches.join_next() => (died, "a watch"),
        Some(died) = electing.join_next() => (died.map(|()| electing_it), electing_it),
    };
    match died {
        Ok(task) => Error::Ended { task },
        Err(source) => Error::Panicked { task, source },
    }
}
