//! `mooring run`.

mod controller_task;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use clap::{ArgAction, Args as ClapArgs, value_parser};
use mooring_plan::admission::tolerations::Defaults;
use mooring_plan::buckets::Budget;
use mooring_plan::lease::Timings;
use rustls::crypto::aws_lc_rs;

use super::authorize;
use super::certificate;
use super::clients::{Clients, clients};
use super::duration::duration;
use super::files;
use super::identity::identity;
use super::listen::listen;
use super::signals::signals;
use crate::admission::{self, Caches, KubeReader, Webhook};
use crate::metrics::Metrics;
use crate::supervise::{BoxError, Stage, Supervisor, Times, serve_http};
use crate::telemetry::{self, LogFormat, Readiness, Requirement};
use controller_task::{ControllerArgs, ControllerTask};

/// Time limit for the shutdown of the controller. A call in flight that changes EC2 ends within 5 s, then
/// the lease is released.
const DECIDING: Duration = Duration::from_secs(8);
/// Time limit for reviews that were begun before the end of the drain. The API server waits at most 4 s for one.
const CLOSING: Duration = Duration::from_secs(6);

/// The flags of `mooring run`.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Address of the webhook
    #[arg(long, env = "MOORING_WEBHOOK_ADDR", default_value = "[::]:8443")]
    webhook_addr: SocketAddr,
    /// Address of /healthz, /readyz and /metrics
    #[arg(long, env = "MOORING_HTTP_ADDR", default_value = "[::]:8080")]
    http_addr: SocketAddr,
    #[command(flatten)]
    certificate: certificate::Args,
    #[command(flatten)]
    authorize: authorize::Args,
    /// Namespace of the Lease, of the certificate's Secret and of this process's pod
    #[arg(long, env = "MOORING_NAMESPACE", default_value = "mooring-system")]
    namespace: String,
    /// Name of this replica in the Lease [default: the pod's or the host's name and a random suffix]
    #[arg(long, env = "MOORING_IDENTITY")]
    identity: Option<String>,
    /// Whether to run the controller. Without it only the webhook runs, and the only writes are the certificate (with
    /// --tls=self-managed) and Events about it
    #[arg(long, env = "MOORING_CONTROLLER", default_value_t = true, action = ArgAction::Set)]
    controller: bool,
    /// Whether to run the webhook. Without it only the controller runs, and no certificate is needed
    #[arg(long, env = "MOORING_WEBHOOK", default_value_t = true, action = ArgAction::Set)]
    webhook: bool,
    /// Whether to act only while holding the Lease
    #[arg(long, env = "MOORING_LEADER_ELECT", default_value_t = true, action = ArgAction::Set)]
    leader_elect: bool,
    /// How long other replicas wait after the last renewal of the Lease before they take it
    #[arg(long, env = "MOORING_LEASE_DURATION", default_value = "15s", value_parser = duration)]
    lease_duration: Duration,
    /// How long the holder tries to renew the Lease before it stops leading
    #[arg(long, env = "MOORING_LEASE_RENEW_DEADLINE", default_value = "10s", value_parser = duration)]
    lease_renew_deadline: Duration,
    /// Time between two attempts to take or renew the Lease
    #[arg(long, env = "MOORING_LEASE_RETRY_PERIOD", default_value = "2s", value_parser = duration)]
    lease_retry_period: Duration,
    /// Time between two lists of the network interfaces of a subnet
    #[arg(long, env = "MOORING_INVENTORY_INTERVAL", default_value = "60s", value_parser = duration)]
    inventory_interval: Duration,
    /// Burst of the token bucket of each mutating action of EC2. EC2 allows 100 for all programs of an account
    #[arg(long, env = "MOORING_EC2_BURST", default_value_t = Budget::default().burst, value_parser = value_parser!(u64).range(1..))]
    ec2_burst: u64,
    /// Rate of the token bucket, in calls per second. EC2 allows an account 5
    #[arg(long, env = "MOORING_EC2_PER_SECOND", default_value_t = Budget::default().per_second, value_parser = value_parser!(u64).range(1..))]
    ec2_per_second: u64,
    /// How long the webhook continues to answer after the controller has stopped
    #[arg(long, env = "MOORING_DRAIN", default_value = "5s", value_parser = duration)]
    drain: Duration,
    /// Value of --default-not-ready-toleration-seconds of the API server
    #[arg(
        long,
        env = "MOORING_DEFAULT_TOLERATION_SECONDS",
        default_value_t = 300
    )]
    default_toleration_seconds: u32,
    /// Value of --default-unreachable-toleration-seconds of the API server
    #[arg(
        long,
        env = "MOORING_DEFAULT_UNREACHABLE_TOLERATION_SECONDS",
        default_value_t = 300
    )]
    default_unreachable_toleration_seconds: u32,
    /// Format of the log
    #[arg(long, env = "MOORING_LOG_FORMAT", value_enum, default_value_t)]
    log_format: LogFormat,
}

/// Lease timings that contradict each other.
#[derive(Debug, thiserror::Error)]
#[error(
    "the Lease times must be greater than zero and increase: --lease-retry-period {:?} < --lease-renew-deadline {:?} < \
     --lease-duration {:?}",
    .0.retry_period, .0.renew_deadline, .0.duration
)]
struct InvalidLeaseTimings(Timings);

/// Runs until a signal arrives.
pub fn run(args: Args) -> Result<(), BoxError> {
    telemetry::init(args.log_format)?;
    let timings = timings(&args);
    if !timings.are_valid() {
        return Err(InvalidLeaseTimings(timings).into());
    }
    if args.inventory_interval.is_zero() {
        return Err("--inventory-interval must be greater than zero".into());
    }
    if !args.webhook && !args.controller {
        return Err(
            "--webhook=false and --controller=false leave nothing to do: set one of them to true"
                .into(),
        );
    }
    if args.webhook {
        args.certificate.check()?;
    }
    files::raise();
    // Fails only if a provider is installed already, and no other code installs one.
    let _ = aws_lc_rs::default_provider().install_default();
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(start(args))
}

async fn start(args: Args) -> Result<(), BoxError> {
    // Install the handlers before any slow step, so that a signal during the start ends the process as it does later.
    let signals = signals()?;
    let metrics = Metrics::new();
    let readiness = Readiness::new();
    let times = Times {
        deciding: DECIDING,
        drain: args.drain,
        closing: CLOSING,
    };
    let mut supervisor = Supervisor::new(readiness.clone(), times);

    let listener = listen(args.http_addr, "health and metrics")?;
    let stop = supervisor.stop(Stage::Serving);
    let health = serve_http(listener, readiness.clone(), metrics.clone(), stop);
    supervisor.spawn(Stage::Serving, "the health server", health);

    let clients = clients().await?;
    let caches = args.webhook.then(Caches::default);
    let task = ControllerTask::of(args.controller, &metrics).await;
    if let Some(caches) = &caches {
        webhook(
            &args,
            &task,
            &clients,
            caches,
            &mut supervisor,
            &readiness,
            &metrics,
        )?;
    } else {
        tracing::info!("this process answers no reviews (--webhook=false)");
        for requirement in [
            Requirement::Caches,
            Requirement::Webhook,
            Requirement::Certificate,
            Requirement::Trust,
        ] {
            readiness.set(requirement, true);
        }
    }
    let settings = settings(args);
    task.start(
        settings,
        clients,
        caches,
        &mut supervisor,
        &readiness,
        &metrics,
    );
    supervisor.run(signals).await?;
    Ok(())
}

/// Starts the webhook: the certificate tasks, the caches and the server.
fn webhook(
    args: &Args,
    task: &ControllerTask,
    clients: &Clients,
    caches: &Caches,
    supervisor: &mut Supervisor,
    readiness: &Readiness,
    metrics: &Metrics,
) -> Result<(), BoxError> {
    let (certificate, namespace) = (&args.certificate, &args.namespace);
    let certificate = certificate.start(&clients.general, namespace, readiness, metrics)?;
    supervisor.spawn_endless(
        Stage::Serving,
        "the certificate renewal",
        certificate.refresh,
    );
    supervisor.spawn_endless(Stage::Serving, "the client CA reload", certificate.clients);
    supervisor.spawn_endless(Stage::Serving, "the caBundle check", certificate.trust);

    if !task.fills_caches() {
        let watch = caches.clone().watch(clients.general.clone());
        supervisor.spawn_endless(Stage::Serving, "the webhook's watches", watch);
    }
    let (ready, filled) = (readiness.clone(), caches.clone());
    supervisor.spawn_endless(Stage::Serving, "the cache synchronization", async move {
        filled.filled().await;
        ready.set(Requirement::Caches, true);
        std::future::pending::<()>().await;
    });

    let router = admission::router(Webhook {
        source: KubeReader::new(clients.general.clone(), caches.clone()),
        settings: admission::PluginSettings {
            default_tolerations: Defaults {
                not_ready: args.default_toleration_seconds.into(),
                unreachable: args.default_unreachable_toleration_seconds.into(),
            },
        },
        authorize_use: args.authorize.trusted(),
        metrics: metrics.clone(),
    });
    let listener = listen(args.webhook_addr, "the webhook")?;
    let end = admission::End {
        drain: supervisor.stop(Stage::Deciding),
        close: supervisor.stop(Stage::Serving),
    };
    let server = async {
        admission::serve(listener, certificate.config, router, end).await;
        Ok::<(), Infallible>(())
    };
    supervisor.spawn(Stage::Serving, "the webhook", server);
    readiness.set(Requirement::Webhook, true);
    Ok(())
}

/// What the flags say of the Lease.
const fn timings(args: &Args) -> Timings {
    Timings {
        duration: args.lease_duration,
        renew_deadline: args.lease_renew_deadline,
        retry_period: args.lease_retry_period,
    }
}

/// What the flags say of the controller.
fn settings(args: Args) -> ControllerArgs {
    let election = args.leader_elect.then_some(timings(&args));
    ControllerArgs {
        namespace: args.namespace,
        identity: identity(args.identity),
        election,
        inventory_interval: args.inventory_interval,
        budget: Budget {
            burst: args.ec2_burst,
            per_second: args.ec2_per_second,
        },
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        crate::cli::Cli::command().debug_assert();
    }
}
