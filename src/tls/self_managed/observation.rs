//! The observed state of the certificate: the objects that were read, and what this process has observed before.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;

use super::decide::CertificateState;
use super::secret::SecretContents;
use crate::tls::ca_bundle::verified;
use crate::tls::pair::Pair;
use crate::tls::webhook_config::{Configuration, Hook};

/// The most certificates that stay published in addition to those in the Secret. It is more than the replicas serve,
/// and limits the growth if two replicas with contradicting clocks replace each other's certificates.
const OLD: usize = 8;

/// The webhook configurations at one moment.
pub(super) struct Observation {
    pub configurations: Vec<Configuration>,
    /// The names that the API server connects to.
    pub names: Vec<ServerName<'static>>,
    /// Milliseconds since 1970.
    pub now: i64,
    /// The settling time of a new certificate. A certificate that expires within this time counts as expired.
    settling: Duration,
    provider: Arc<CryptoProvider>,
}

impl Observation {
    /// Collects the webhooks and their names from the configurations.
    pub fn new(
        configurations: Vec<Configuration>,
        provider: Arc<CryptoProvider>,
        settling: Duration,
        now: i64,
    ) -> Self {
        let hooks = configurations.iter().flat_map(|it| &it.hooks);
        let mut names: Vec<ServerName<'static>> = Vec::new();
        for name in hooks.filter_map(|hook| hook.name.as_ref()) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        Self {
            configurations,
            names,
            now,
            settling,
            provider,
        }
    }

    fn hooks(&self) -> impl Iterator<Item = &Hook> {
        self.configurations.iter().flat_map(|it| &it.hooks)
    }

    /// The desired `caBundle`: these certificates, and those that are published already, because a replica may serve
    /// one.
    pub fn bundle(&self, ours: &[CertificateDer<'static>]) -> Vec<CertificateDer<'static>> {
        let mut bundle = ours.to_vec();
        for certificate in self.hooks().flat_map(|hook| &hook.bundle) {
            if !bundle.contains(certificate) && bundle.len() < ours.len() + OLD {
                bundle.push(certificate.clone());
            }
        }
        bundle
    }

    /// Whether a client that trusts only this certificate accepts it for every name.
    fn fits(&self, key: &CertifiedKey) -> bool {
        let itself = key.cert.get(..1).unwrap_or_default();
        self.names.iter().all(|name| self.good(key, itself, name))
    }

    /// Whether the API server trusts the certificate in every webhook.
    pub fn is_trusted(&self, key: &CertifiedKey) -> bool {
        self.hooks().all(|hook| {
            let name = hook.name.as_ref();
            name.is_some_and(|name| self.good(key, &hook.bundle, name))
        })
    }

    fn good(
        &self,
        key: &CertifiedKey,
        trusted: &[CertificateDer<'static>],
        name: &ServerName<'_>,
    ) -> bool {
        let now = Duration::from_millis(self.now.unsigned_abs());
        [now, now.saturating_add(self.settling)]
            .map(UnixTime::since_unix_epoch)
            .into_iter()
            .all(|at| verified(key, trusted, name, at, &self.provider))
    }
}

/// What this process has observed in earlier rounds.
#[derive(Default)]
pub(super) struct LocalState {
    /// The published certificates of the Secret, and since when they are published.
    published: Option<(Vec<CertificateDer<'static>>, i64)>,
    /// The pair that this process serves.
    pub serving: Option<Pair>,
    /// The last error that was reported, so that it is reported once.
    pub reported: Option<String>,
    /// The last error of the Secret that was reported.
    pub spoiled: Option<String>,
}

impl LocalState {
    /// The state for the next decision. Also records since when the certificates in the Secret are published.
    pub fn known(
        &mut self,
        observation: &Observation,
        found: &SecretContents,
        served: Option<Arc<CertifiedKey>>,
    ) -> CertificateState {
        let ours = found.certificates();
        let wanted = observation.bundle(&ours);
        let others = wanted.len() > ours.len();
        let published = observation.hooks().all(|hook| {
            hook.bundle.len() == wanted.len() && wanted.iter().all(|it| hook.bundle.contains(it))
        });
        self.published = published.then(|| match self.published.take() {
            Some((before, since)) if before == ours => (before, since),
            _ => (ours, observation.now),
        });
        let other = |serving: &Pair| *serving != found.kept.pair;
        let other = served.filter(|_| self.serving.as_ref().is_some_and(other));
        let next = found.next.as_ref();
        let next_fits = next.is_some_and(|key| observation.fits(key));
        CertificateState {
            ends: found.usable.not_after.saturating_mul(1000),
            fits: observation.fits(&found.usable.key),
            next_fits: found.kept.next.as_ref().map(|_| next_fits),
            published: self.published.as_ref().map(|(_, since)| *since),
            others,
            serves_other: other.is_some_and(|key| observation.is_trusted(&key)),
        }
    }
}
