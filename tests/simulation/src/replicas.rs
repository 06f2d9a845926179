//! The processes of Mooring: started, killed, stopped for a while and started again.

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

/// How the processes are run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How many there are.
    pub processes: usize,
    /// Do they elect a leader?
    pub election: bool,
    /// Of each process that elects.
    pub leases: [Timings; 2],
    /// `--inventory-interval`
    pub interval: Duration,
}

/// One process.
struct Process {
    task: JoinHandle<()>,
    stop: CancellationToken,
    metrics: Metrics,
}

/// All of them.
pub struct Replicas {
    api: ApiServer,
    cloud: Cloud,
    log: Log,
    settings: Settings,
    processes: Vec<Option<Process>>,
    /// How often one was started.
    started: u64,
    /// Why one ended that should not have.
    died: Arc<Mutex<Option<String>>>,
}

/// The name by which a process shows in the histories.
#[must_use]
pub fn user(index: usize) -> String {
    format!("mooring-{index}")
}

/// Is this one of ours?
#[must_use]
pub fn is_ours(user: &str) -> bool {
    user.starts_with("mooring-")
}

impl Replicas {
    /// None is started yet.
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

    /// How they are run.
    #[must_use]
    pub const fn settings(&self) -> Settings {
        self.settings
    }

    /// Starts those that do not run.
    pub fn start_all(&mut self) {
        for index in 0..self.processes.len() {
            self.start(index);
        }
    }

    /// Starts one, if it does not run.
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
        self.log.say(format!("process  {identity} starts"));
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

    /// `kill -9`: the process ends at once; its requests are still in progress.
    pub async fn kill(&mut self, index: usize) {
        let Some(process) = self.processes.get_mut(index).and_then(Option::take) else {
            return;
        };
        self.log
            .crash(format!("process  {} is killed", user(index)));
        process.task.abort();
        let _ = process.task.await;
    }

    /// SIGTERM: the process shuts down in order, in parallel with the world.
    pub fn stop(&mut self, index: usize) {
        let Some(process) = self.processes.get_mut(index).and_then(Option::take) else {
            return;
        };
        self.log
            .fault(format!("process  {} gets SIGTERM", user(index)));
        process.stop.cancel();
    }

    /// Does it run?
    #[must_use]
    pub fn runs(&self, index: usize) -> bool {
        self.processes.get(index).is_some_and(Option::is_some)
    }

    /// Why one ended that should not have.
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
