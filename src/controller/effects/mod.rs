//! Carries out the effects of the engine: each is one or two requests, or one for each page of a list.
//! Their answers are returned as facts.
//! It only decides how to make the requests.

mod answer;
mod block;
mod call;
mod gate;
mod ip;
mod node;
mod patch;
mod reads;
mod replica_sets;
mod reservation;
mod timeout;

use mooring_plan::engine::Completion;
use mooring_plan::names::IpName;
use mooring_plan::step::{Moved, Write};

use super::apis::Apis;
use super::clock::Clock;
use super::error::Failure;
use crate::cloud::ec2::Ec2;
use crate::metrics::Metrics;
use crate::telemetry::chain;

pub(super) use timeout::with_timeout;

/// Everything that effects need.
#[derive(Clone)]
pub(super) struct Effects {
    pub(super) apis: Apis,
    pub(super) cloud: Ec2,
    pub(super) clock: Clock,
    pub(super) metrics: Metrics,
}

#[cfg(test)]
impl Effects {
    /// Effects with this client of the API server, and with an EC2 client without a configuration.
    pub(super) fn of_client(client: kube::Client) -> Self {
        let unconfigured = aws_config::SdkConfig::builder()
            .behavior_version(aws_config::BehaviorVersion::latest())
            .build();
        let metrics = Metrics::new();
        Self {
            apis: Apis::new(client),
            cloud: Ec2::new(&unconfigured, metrics.clone()),
            clock: Clock::start(),
            metrics,
        }
    }
}

impl Effects {
    /// Carries out a write for an IP. `moved` says whether a Record is for another place than before.
    pub(super) async fn write(&self, ip: &IpName, write: Write, moved: Moved) -> Completion {
        let done = match &write {
            Write::Status {
                ip: name,
                version,
                status,
                ..
            } => self.write_status(name, *version, status, moved).await,
            Write::AddFinalizer { ip: name, version } => self.finalizer(name, *version, true).await,
            Write::RemoveFinalizer { ip: name, version } => {
                self.finalizer(name, *version, false).await
            }
            Write::DropTakeFrom { ip: name, version } => {
                self.remove_take_from(name, *version).await
            }
            Write::ReportUnreadable {
                ip: name,
                version,
                message,
            } => self.report_unreadable(name, *version, message).await,
            Write::Reserve {
                ip: name,
                uid,
                address,
                ..
            } => self.reserve(name, uid, *address).await,
            Write::RepairReservation {
                ip: name,
                uid,
                wanted_at,
                reservation,
            } => self.repair(name, uid, *wanted_at, reservation).await,
            Write::Release(reservation) => self.release(reservation).await,
            Write::Gate(gate) => self.gate(gate).await,
            Write::Label {
                pod,
                uid,
                ip: label,
            } => self.label_pod(pod, uid, label.as_ref()).await,
        };
        self.answer(ip, write, done)
    }

    /// Logs and counts a failure, once.
    pub(super) fn failed(&self, failure: &Failure) {
        self.note_failure(None, failure);
    }

    /// As [`Self::failed`], for a step of an IP.
    pub(super) fn failed_for(&self, ip: &IpName, failure: &Failure) {
        self.note_failure(Some(ip), failure);
    }

    fn note_failure(&self, ip: Option<&IpName>, failure: &Failure) {
        self.metrics.reconcile_error(failure.reason());
        let ip = ip.map(tracing::field::display);
        if failure.is_conflict() {
            // Another writer was faster. This is normal if two programs write the same object.
            tracing::debug!(
                ip,
                error = chain(failure),
                "a step failed with a conflict: another writer changed the object"
            );
        } else {
            tracing::warn!(ip, error = chain(failure), "a step failed");
        }
    }
}
