//! The source of the webhook's certificate.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use kube::Client;
use rustls::ServerConfig;

use super::duration::duration;
use super::pod_events::PodEvents;
use crate::metrics::Metrics;
use crate::telemetry::{Readiness, Requirement, chain, date};
use crate::tls::{self, CertificateNotice, Lifetimes, SelfManaged, Serving, Trust};

/// A new certificate is published for two intervals before it is served, because replicas and API servers read late.
const SETTLING: u32 = 2;
/// A replaced certificate stays published for this number of intervals.
const OVERLAP: u32 = 20;
/// The shortest lifetime of a certificate, in intervals. It must be longer than both.
const SHORTEST: u32 = 40;

/// Who makes the certificate.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Source {
    /// Another program, such as cert-manager, which writes it into --cert-dir
    Files,
    /// Mooring, which keeps it in a Secret and publishes it in the webhook configurations
    SelfManaged,
}

impl Source {
    /// What to check if the API server does not trust the certificate, or the certificate was not replaced in time.
    const fn way_out(self) -> &'static str {
        match self {
            Self::Files => {
                "with cert-manager, check that it and its cainjector run, that Certificate mooring-webhook is ready, and \
                 that both webhook configurations name it in the annotation cert-manager.io/inject-ca-from"
            }
            Self::SelfManaged => {
                "check the log of this process, and that its account has the Role and the ClusterRole \
                 mooring-certificate"
            }
        }
    }
}

/// The note of the Event about a certificate that the API server does not trust. None: there is no such Event.
fn not_trusted(trust: &Trust, source: Source) -> Option<String> {
    let what = match trust {
        Trust::Trusted | Trust::Unknown(_) => return None,
        Trust::Untrusted(webhooks) => format!(
            "the caBundle of {} does not verify the certificate that is served",
            webhooks.join(", ")
        ),
        Trust::Ended => "the serving certificate has expired".to_owned(),
    };
    Some(format!("{what}: {}", source.way_out()))
}

/// The flags of the certificate.
#[derive(Debug, ClapArgs)]
#[group(id = "certificate")]
pub struct Args {
    /// Who makes the webhook's certificate
    #[arg(long, env = "MOORING_TLS", value_enum, default_value = "files")]
    tls: Source,
    /// Directory with the webhook's certificate and key, tls.crt and tls.key (--tls=files)
    #[arg(long, env = "MOORING_CERT_DIR", default_value = "/etc/mooring/tls")]
    cert_dir: PathBuf,
    /// PEM file with the CA of the certificates of clients. Without it any client is accepted
    #[arg(long, env = "MOORING_CLIENT_CA")]
    client_ca: Option<PathBuf>,
    /// Common names of the clients that are accepted (--client-ca), separated by commas. Without it any name is accepted
    #[arg(
        long,
        env = "MOORING_CLIENT_SUBJECT_NAMES",
        value_delimiter = ',',
        requires = "client_ca"
    )]
    client_subject_names: Vec<String>,
    /// Secret of the certificate (--tls=self-managed)
    #[arg(
        long,
        env = "MOORING_CERT_SECRET",
        default_value = "mooring-webhook-certificate"
    )]
    cert_secret: String,
    /// Lifetime of a certificate; it is renewed after two thirds of it (--tls=self-managed)
    #[arg(long, env = "MOORING_CERT_LIFETIME", default_value = "2160h", value_parser = duration)]
    cert_lifetime: Duration,
    /// Time between two reads of the certificate. The kubelet needs about a minute to update a mounted Secret
    #[arg(long, env = "MOORING_CERT_INTERVAL", default_value = "30s", value_parser = duration)]
    cert_interval: Duration,
}

/// `--cert-interval` and `--cert-lifetime` contradict each other.
#[derive(Debug, thiserror::Error)]
#[error(
    "--cert-interval {interval:?} must be greater than zero, and --cert-lifetime {lifetime:?} at least {SHORTEST} \
     times as long"
)]
pub struct InvalidCertificateTimes {
    interval: Duration,
    lifetime: Duration,
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The TLS configuration, and the tasks that keep the certificate up to date.
pub struct Certificate {
    pub config: Arc<ServerConfig>,
    pub refresh: Task,
    pub clients: Task,
    pub trust: Task,
}

impl Args {
    /// Checks that the interval and the lifetime fit together.
    pub fn check(&self) -> Result<(), InvalidCertificateTimes> {
        let lasts = self.cert_interval.saturating_mul(SHORTEST) <= self.cert_lifetime;
        if self.cert_interval.is_zero() || !lasts {
            return Err(InvalidCertificateTimes {
                interval: self.cert_interval,
                lifetime: self.cert_lifetime,
            });
        }
        Ok(())
    }

    /// Creates the TLS configuration and the tasks. Handshakes fail until there is a certificate.
    pub fn start(
        &self,
        client: &Client,
        namespace: &str,
        readiness: &Readiness,
        metrics: &Metrics,
    ) -> Result<Certificate, tls::Error> {
        let serving = match &self.client_ca {
            None => Serving::new()?,
            Some(file) => {
                let names = self.client_subject_names.iter().cloned().collect();
                Serving::to_clients_of(file.clone(), names)?
            }
        };
        let (ready, counted) = (readiness.clone(), metrics.clone());
        let events = PodEvents::start(client, namespace);
        let of_server = events.clone();
        let notice = move |notice| match notice {
            CertificateNotice::Loaded { not_after } => {
                let until = date(not_after);
                tracing::info!(not_after = until, "serving the webhook's certificate");
                counted.certificate_expiry(not_after);
                ready.set(Requirement::Certificate, true);
            }
            CertificateNotice::Refused(error) => {
                let error = chain(&error);
                tracing::warn!(error, "the webhook's certificate was rejected");
                of_server.warn("CertificateRefused", error);
            }
        };
        let interval = self.cert_interval;
        let refresh: Task = match self.tls {
            Source::Files => Box::pin(serving.files(self.cert_dir.clone(), interval, notice)),
            Source::SelfManaged => {
                let options = SelfManaged {
                    namespace: namespace.to_owned(),
                    secret: self.cert_secret.clone(),
                    interval,
                    lifetimes: Lifetimes {
                        certificate: self.cert_lifetime,
                        settling: interval * SETTLING,
                        overlap: interval * OVERLAP,
                    },
                };
                Box::pin(serving.self_managed(client.clone(), options, notice))
            }
        };
        let of_clients = events.clone();
        let clients = serving.clients(interval, move |notice| {
            if let CertificateNotice::Refused(error) = notice {
                let error = chain(&error);
                tracing::warn!(error, "the CA of clients was rejected");
                of_clients.warn("ClientCaRefused", error);
            }
        });
        let (ready, source) = (readiness.clone(), self.tls);
        let trust = serving.trust(client.clone(), interval, move |trust| {
            match &trust {
                Trust::Trusted => ready.set(Requirement::Trust, true),
                Trust::Untrusted(_) | Trust::Ended => ready.set(Requirement::Trust, false),
                Trust::Unknown(error) => tracing::warn!(
                    error,
                    "it is not known whether the API server trusts the certificate"
                ),
            }
            if let Some(note) = not_trusted(&trust, source) {
                tracing::warn!("{note}");
                events.warn("CertificateNotTrusted", note);
            }
        });
        Ok(Certificate {
            config: serving.config,
            refresh,
            clients: Box::pin(clients),
            trust: Box::pin(trust),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_is_not_trusted_is_reported_with_what_to_check() {
        let untrusted = Trust::Untrusted(vec!["a.example".to_owned(), "b.example".to_owned()]);
        for (trust, what) in [
            (
                untrusted,
                "the caBundle of a.example, b.example does not verify",
            ),
            (Trust::Ended, "the serving certificate has expired"),
        ] {
            for (source, checks) in [
                (
                    Source::Files,
                    [
                        "cainjector",
                        "Certificate mooring-webhook",
                        "cert-manager.io/inject-ca-from",
                    ],
                ),
                (
                    Source::SelfManaged,
                    ["log", "Role", "ClusterRole mooring-certificate"],
                ),
            ] {
                let note = not_trusted(&trust, source).unwrap();
                assert!(note.starts_with(what), "{note}");
                for check in checks {
                    assert!(note.contains(check), "{check}: {note}");
                }
            }
        }
    }

    #[test]
    fn a_certificate_that_is_trusted_or_cannot_be_checked_is_not_reported() {
        for trust in [Trust::Trusted, Trust::Unknown("no answer".to_owned())] {
            assert_eq!(not_trusted(&trust, Source::Files), None);
        }
    }
}
