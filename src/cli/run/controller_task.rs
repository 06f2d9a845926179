//! When the controller of the process starts, and with what.

use std::sync::Arc;
use std::time::Duration;

use mooring_plan::buckets::Budget;
use mooring_plan::lease::Timings;
use tokio_util::sync::CancellationToken;

use crate::admission::Caches;
use crate::cli::clients::Clients;
use crate::cli::pod_events::PodEvents;
use crate::cli::region;
use crate::cloud::ec2::Ec2;
use crate::controller::{self, Observer, Options};
use crate::metrics::Metrics;
use crate::supervise::{Stage, Supervisor};
use crate::telemetry::{Readiness, Requirement};

/// What the flags say of the controller.
pub(super) struct ControllerArgs {
    pub namespace: String,
    pub identity: String,
    pub election: Option<Timings>,
    pub inventory_interval: Duration,
    pub budget: Budget,
}

/// The controller of this process.
pub(super) enum ControllerTask {
    /// There is none (`--controller=false`).
    Off,
    /// It starts now.
    Now(Ec2),
    /// It starts when a region of AWS is known. Until then this process must not lead: no call of EC2 can be made, and
    /// another replica can have a region. The webhook needs none.
    Later,
}

impl ControllerTask {
    pub(super) async fn of(controller: bool, metrics: &Metrics) -> Self {
        if !controller {
            return Self::Off;
        }
        let cloud = Ec2::from_environment(metrics.clone()).await;
        cloud.map_or(Self::Later, Self::Now)
    }

    /// True if its watches fill the caches of the webhook. Otherwise the webhook has watches of its own.
    pub(super) const fn fills_caches(&self) -> bool {
        matches!(self, Self::Now(_))
    }

    /// Starts the task. `caches` are those of the webhook, if there is one.
    pub(super) fn start(
        self,
        settings: ControllerArgs,
        clients: Clients,
        caches: Option<Caches>,
        supervisor: &mut Supervisor,
        readiness: &Readiness,
        metrics: &Metrics,
    ) {
        let (task, stop) = ("the controller", supervisor.stop(Stage::Deciding));
        match self {
            Self::Off => {
                tracing::info!("this process runs no controller (--controller=false)");
                readiness.set(Requirement::Watches, true);
            }
            Self::Now(cloud) => {
                let options = options(settings, clients, caches, cloud, readiness, metrics, stop);
                supervisor.spawn(Stage::Deciding, task, controller::run(options));
            }
            Self::Later => {
                // Reviews do not wait for the controller, so a rollout of the default Deployment to a configuration without
                // a region is completed, and then none leads. One of a process without a webhook stops.
                readiness.set(Requirement::Watches, caches.is_some());
                let events = PodEvents::start(&clients.general, &settings.namespace);
                let (ready, counted) = (readiness.clone(), metrics.clone());
                supervisor.spawn(Stage::Deciding, task, async move {
                    let look = || Ec2::from_environment(counted.clone());
                    let cloud = tokio::select! {
                        () = stop.cancelled() => return Ok(()),
                        cloud = region::wait(look, events) => cloud,
                    };
                    let options = options(settings, clients, None, cloud, &ready, &counted, stop);
                    controller::run(options).await
                });
            }
        }
    }
}

fn options(
    settings: ControllerArgs,
    clients: Clients,
    caches: Option<Caches>,
    cloud: Ec2,
    readiness: &Readiness,
    metrics: &Metrics,
    stop: CancellationToken,
) -> Options {
    let ready = readiness.clone();
    let options = Options {
        client: clients.general,
        lease_client: clients.lease,
        cloud,
        metrics: metrics.clone(),
        stop,
        namespace: settings.namespace,
        identity: settings.identity,
        election: settings.election,
        inventory_interval: settings.inventory_interval,
        budget: settings.budget,
        // After the controller has ended, the caches are not updated any more. Until the drain is over, the webhook
        // still uses them: the objects that a pod or a refusal depends on are always read again.
        observer: caches
            .map(|caches| -> Observer { Arc::new(move |kind, event| caches.see(kind, event)) }),
        on_synced: Box::new(move || ready.set(Requirement::Watches, true)),
    };
    tracing::info!(identity = options.identity, "starting the controller");
    options
}
