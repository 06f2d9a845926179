//! Leader election with a `Lease`: makes the requests and supplies the clock for the rule in `plan`.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, PostParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::watcher;
use kube::{Api, Client};
use mooring_plan::lease::{
    Election, Identity, Leadership, LeaseAnswer, LeaseStep, Record, Spec, Timings,
};
use mooring_plan::store_revision::Revision;
use mooring_plan::time;
use tokio::sync::{Notify, watch};
use tokio::time::Duration;
use tokio_util::sync::CancellationToken;

use super::clock::Clock;
use super::effects::with_timeout;
use super::error::Failure;
use super::store_revision::RevisionSender;
use crate::api::{read, watching};
use crate::metrics::Metrics;
use crate::telemetry::chain;

/// The name of the `Lease`.
const NAME: &str = "mooring";
/// Time limit for the whole release. Without a release the other replicas wait for the expiry.
const RELEASE: Duration = Duration::from_millis(1500);

/// Signals of the engine to the election.
#[derive(Clone, Default)]
pub(super) struct Signals {
    /// Every kind was listed, so this replica can lead.
    pub(super) listed: Arc<Notify>,
    /// Another replica should lead.
    pub(super) resign: Arc<Notify>,
}

/// The part of this replica in the election. One task runs it.
pub(super) struct LeaderElector {
    leases: Api<Lease>,
    /// The watch of the `Lease`, which shows a release and the last renewal when they happen.
    watched: BoxStream<'static, Lease>,
    namespace: String,
    election: Election,
    clock: Clock,
    metrics: Metrics,
    revision: RevisionSender,
    /// The latest known object: a renewal keeps fields of others.
    last: Option<Lease>,
}

impl LeaderElector {
    /// `client` reads and writes the `Lease`, `watching` watches it.
    pub(super) fn new(
        client: Client,
        watching: Client,
        namespace: &str,
        identity: &str,
        timings: Timings,
        clock: Clock,
        metrics: Metrics,
    ) -> Self {
        Self {
            leases: Api::namespaced(client, namespace),
            watched: watched(Api::namespaced(watching, namespace)),
            namespace: namespace.to_owned(),
            election: Election::new(Identity::new(identity), timings),
            clock,
            metrics,
            revision: RevisionSender::default(),
            last: None,
        }
    }

    /// The revision of the store, from the answers about the `Lease`.
    pub(super) fn revision(&self) -> watch::Receiver<Revision> {
        self.revision.receiver()
    }

    /// Acquires the lease when this replica can lead, and renews it until `release`, then releases it.
    pub(super) async fn run(
        mut self,
        leadership: watch::Sender<Leadership>,
        signals: Signals,
        release: CancellationToken,
    ) {
        let mut holder = None;
        loop {
            let step = self.election.step(self.clock.now());
            let stepping = async {
                match step {
                    LeaseStep::Wait(at) => self.wait(at).await,
                    step => self.take_step(&step).await,
                }
            };
            tokio::select! {
                biased;
                () = release.cancelled() => break,
                () = signals.listed.notified() => self.election.take_part(),
                () = signals.resign.notified() => self.resign(),
                () = stepping => {}
            }
            if self.election.holder() != holder.as_ref() {
                holder = self.election.holder().cloned();
                tracing::info!(
                    holder = holder.as_ref().map(tracing::field::display),
                    "the lease's holder"
                );
            }
            self.publish(&leadership);
        }
        if tokio::time::timeout(RELEASE, self.release_lease())
            .await
            .is_err()
        {
            tracing::warn!("the lease could not be released in time and will expire");
        }
    }

    fn publish(&self, leadership: &watch::Sender<Leadership>) {
        let now = self.election.leadership(self.clock.now());
        leadership.send_if_modified(|before| std::mem::replace(before, now) != now);
    }

    /// Waits until `at`, or until the watch shows a change.
    async fn wait(&mut self, at: time::Instant) {
        let clock = self.clock;
        tokio::select! {
            () = clock.until(at) => {}
            Some(lease) = self.watched.next() => {
                let changed = record(&lease).is_some_and(|record| {
                    self.revision.watched(record.version);
                    self.election.observe(record, clock.now())
                });
                if changed {
                    self.last = Some(lease);
                }
            }
        }
    }

    async fn take_step(&mut self, step: &LeaseStep) {
        let begun = self.clock.now();
        let answer = self.carry_out(step).await;
        if matches!(
            (step, &answer),
            (
                LeaseStep::Update(_, Spec { holder: None, .. }),
                LeaseAnswer::Wrote(_)
            )
        ) {
            tracing::info!("released the lease");
        }
        self.election.apply(answer, begun, self.clock.now());
    }

    fn resign(&mut self) {
        if self.election.resign(self.clock.now()) {
            tracing::warn!(
                "EC2 has answered no call for longer than an inventory interval: releasing the lease, so that another replica can lead"
            );
        }
    }

    async fn release_lease(&mut self) {
        self.election.leave();
        loop {
            match self.election.step(self.clock.now()) {
                LeaseStep::Wait(_) => return,
                step => self.take_step(&step).await,
            }
        }
    }

    async fn carry_out(&mut self, step: &LeaseStep) -> LeaseAnswer {
        match self.request(step).await {
            Ok(answer) => answer,
            Err(failure) if failure.is_conflict() => LeaseAnswer::Conflict,
            Err(failure) => {
                self.metrics.reconcile_error(failure.reason());
                tracing::warn!(
                    error = chain(&failure),
                    "the lease could not be read or renewed"
                );
                LeaseAnswer::Failed
            }
        }
    }

    async fn request(&mut self, step: &LeaseStep) -> Result<LeaseAnswer, Failure> {
        let doing = |what: &'static str| {
            let object = format!("{}/{NAME}", self.namespace);
            move || format!("{what} Lease {object}")
        };
        let params = PostParams::default();
        let (lease, answer): (_, fn(Record) -> LeaseAnswer) = match step {
            LeaseStep::Wait(_) => return Ok(LeaseAnswer::Failed),
            LeaseStep::Read => {
                let lease = with_timeout(doing("reading"), self.leases.get_opt(NAME)).await?;
                let Some(lease) = lease else {
                    return Ok(LeaseAnswer::Read(None));
                };
                (lease, |record| LeaseAnswer::Read(Some(record)))
            }
            LeaseStep::Create(spec) => {
                let lease = written(spec, None);
                let create = self.leases.create(&params, &lease);
                (
                    with_timeout(doing("creating"), create).await?,
                    LeaseAnswer::Wrote,
                )
            }
            LeaseStep::Update(version, spec) => {
                let version = version.to_string();
                let before = self
                    .last
                    .clone()
                    .filter(|lease| lease.metadata.resource_version.as_ref() == Some(&version));
                let Some(before) = before else {
                    return Ok(LeaseAnswer::Conflict);
                };
                let lease = written(spec, Some(before));
                let replace = self.leases.replace(NAME, &params, &lease);
                (
                    with_timeout(doing("renewing"), replace).await?,
                    LeaseAnswer::Wrote,
                )
            }
        };
        let answer = record(&lease).map_or(LeaseAnswer::Failed, |record| {
            self.revision.answered(record.version);
            answer(record)
        });
        self.last = Some(lease);
        Ok(answer)
    }
}

/// Watches the `Lease`. Interruptions are not reported, because the lease is also read periodically.
fn watched(leases: Api<Lease>) -> BoxStream<'static, Lease> {
    let config = watching::watch().fields(&format!("metadata.name={NAME}"));
    watcher(leases, config)
        .backoff(watching::backoff())
        .applied_objects()
        .filter_map(|shown| std::future::ready(shown.ok()))
        .boxed()
}

/// Converts a `Lease`. None: its version cannot be compared.
fn record(lease: &Lease) -> Option<Record> {
    let version = lease.metadata.resource_version.as_deref()?;
    let spec = lease.spec.clone().unwrap_or_default();
    let seconds = spec
        .lease_duration_seconds
        .and_then(|seconds| u64::try_from(seconds).ok());
    Some(Record {
        version: read::version(version).ok()?,
        holder: spec
            .holder_identity
            .filter(|holder| !holder.is_empty())
            .map(Identity::new),
        duration: seconds.map(Duration::from_secs),
        renewed: spec
            .renew_time
            .map(|time| time.0.to_string())
            .unwrap_or_default(),
        transitions: spec
            .lease_transitions
            .and_then(|number| u64::try_from(number).ok())
            .unwrap_or_default(),
    })
}

/// The `Lease` to write. Its times are only informative: no decision depends on them.
fn written(spec: &Spec, before: Option<Lease>) -> Lease {
    let now = MicroTime(Timestamp::now());
    let mut lease = before.unwrap_or_else(|| Lease {
        metadata: ObjectMeta {
            name: Some(NAME.to_owned()),
            ..ObjectMeta::default()
        },
        spec: None,
    });
    let before = lease.spec.take().unwrap_or_default();
    lease.spec = Some(LeaseSpec {
        holder_identity: Some(
            spec.holder
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
        ),
        lease_duration_seconds: Some(i32::try_from(spec.seconds).unwrap_or(i32::MAX)),
        lease_transitions: Some(i32::try_from(spec.transitions).unwrap_or(i32::MAX)),
        acquire_time: if spec.acquired {
            Some(now.clone())
        } else {
            before.acquire_time.clone()
        },
        renew_time: Some(now),
        ..before
    });
    lease
}

#[cfg(test)]
mod tests;
