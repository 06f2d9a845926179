//! The processes of Mooring: starts, kills, stops and restarts them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mooring::cloud::ec2::Ec2;
use mooring::controller;
use mooring::metrics::Metrics;
use mooring_plan::buckets::Budget;
use mooring_plan::lease::Timings;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::api_server::ApiServer;
use crate::cloud::{Cloud, configuration};
use crate::decisions::PROCESS;
use crate::log::Log;

/// The namespace of the `Lease`.
pub const NAMESPACE: &str = "mooring-system";

/// Options of the processes.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of processes.
    pub processes: usize,
    /// Whether they elect a leader.
    pub election: bool,
    /// The timings of the election.
    pub leases: [Timings; 2],
    /// `--inventory-interval`
    pub interval: Duration,
}

/// One process of Mooring.
struct Process {
    task: JoinHandle<()>,
    stop: CancellationToken,
    metrics: Metrics,
}

/// All processes of Mooring.
pub struct Replicas {
    api: ApiServer,
    cloud: Cloud,
    log: Log,
    settings: Settings,
    processes: Vec<Option<Process>>,
    /// The number of starts.
    started: u64,
    /// The error of a process that ended without a request.
    died: Arc<Mutex<Option<String>>>,
}

/// The name of a process in the histories.
#[must_use]
pub fn user(index: usize) -> String {
    format!("mooring-{index}")
}

/// Whether this client is a process of Mooring.
#[must_use]
pub fn is_ours(user: &str) -> bool {
    user.starts_with("mooring-")
}

impl Replicas {
    /// Without a running process.
    #[must_use]
    pub fn new(api: ApiServer, cloud: Cloud, log: Log, settings: Settings) -> Self {
        Self {
            api,
            cloud,
            log,
            settings,
            processes: (0..settings.processes).map(|_| None).collect(),
            started: 0,
            died: Arc::default(),
        }
    }

    /// The options of the processes.
    #[must_use]
    pub const fn settings(&self) -> Settings {
        self.settings
    }

    /// Starts all processes that do not run.
    pub fn start_all(&mut self) {
        for index in 0..self.processes.len() {
            self.start(index);
        }
    }

    /// Starts one process, if it does not run.
    pub fn start(&mut self, index: usize) {
        if self.processes.get(index).is_none_or(Option::is_some) {
            return;
        }
        self.started += 1;
        let user = user(index);
        let identity = format!("{user}-{}", self.started);
        let metrics = Metrics::new();
        let stop = CancellationToken::new();
        let cloud = Ec2::new(&configuration(&self.cloud, &user), metrics.clone());
        let options = controller::Options {
            client: self.api.client(&user),
            lease_client: self.api.client(&user),
            cloud,
            metrics: metrics.clone(),
            stop: stop.clone(),
            namespace: NAMESPACE.to_owned(),
            identity: identity.clone(),
            election: self
                .settings
                .leases
                .get(index)
                .copied()
                .filter(|_| self.settings.election),
            inventory_interval: self.settings.interval,
            budget: Budget::default(),
            observer: None,
            on_synced: Box::new(|| ()),
        };
        self.log.note(format!("process  {identity} starts"));
        let (died, name) = (Arc::clone(&self.died), identity);
        let task = tokio::spawn(async move {
            let traced = tracing::info_span!(PROCESS, user);
            if let Err(error) = controller::run(options).instrument(traced).await {
                let mut died = died
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                died.get_or_insert(format!(
                    "{name} ended: {}",
                    mooring::telemetry::chain(&error)
                ));
            }
        });
        if let Some(place) = self.processes.get_mut(index) {
            *place = Some(Process {
                task,
                stop,
                metrics,
            });
        }
    }

    /// `kill -9`: the process ends at once. Its requests are still in progress.
    pub async fn kill(&mut self, index: usize) {
        let Some(process) = self.processes.get_mut(index).and_then(Option::take) else {
            return;
        };
        self.log
            .crash(format!("process  {} is killed", user(index)));
        process.task.abort();
        let _ = process.task.await;
    }

    /// SIGTERM: the process shuts down in order, while the simulation continues.
    pub fn stop(&mut self, index: usize) {
        let Some(process) = self.processes.get_mut(index).and_then(Option::take) else {
            return;
        };
        self.log
            .fault(format!("process  {} gets SIGTERM", user(index)));
        process.stop.cancel();
    }

    /// Whether the process runs.
    #[must_use]
    pub fn runs(&self, index: usize) -> bool {
        self.processes.get(index).is_some_and(Option::is_some)
    }

    /// The error of a process that ended without a request. None: there is none.
    #[must_use]
    pub fn died(&self) -> Option<String> {
        let died = self
            .died
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        died.clone()
    }

    /// The metrics of each running process.
    pub fn metrics(&self) -> impl Iterator<Item = &Metrics> {
        self.processes
            .iter()
            .flatten()
            .map(|process| &process.metrics)
    }
}
