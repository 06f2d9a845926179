//! What is known of the certificate: the objects as they were read, and what this process has observed before.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;

use super::decide::{Known, Serving};
use super::key_material::{KeyMaterial, OLD, SKEW};
use crate::tls::ca_bundle::verified;
use crate::tls::error::Unusable;
use crate::tls::pair::{Usable, validity};
use crate::tls::webhook_config::{Configuration, Hook};

/// The webhook configurations at one moment.
pub(super) struct Observation {
    pub configurations: Vec<Configuration>,
    /// The names that the API server connects to.
    pub names: Vec<ServerName<'static>>,
    /// Milliseconds since 1970.
    pub now: i64,
    provider: Arc<CryptoProvider>,
}

impl Observation {
    pub fn new(
        configurations: Vec<Configuration>,
        provider: Arc<CryptoProvider>,
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
            provider,
        }
    }

    fn hooks(&self) -> impl Iterator<Item = &Hook> {
        self.configurations.iter().flat_map(|it| &it.hooks)
    }

    /// The CAs that are published and have not ended.
    pub fn published_cas(&self) -> Vec<CertificateDer<'static>> {
        let mut cas: Vec<CertificateDer<'static>> = Vec::new();
        for certificate in self.hooks().flat_map(|hook| &hook.bundle) {
            let lives = validity(certificate).is_ok_and(|it| it.not_after * 1000 > self.now);
            if lives && !cas.contains(certificate) && cas.len() < OLD {
                cas.push(certificate.clone());
            }
        }
        cas
    }

    /// Has the newest CA signed it, for any name?
    pub fn is_by_newest(&self, key: &CertifiedKey, kept: &KeyMaterial) -> bool {
        let newest = kept.authorities.get(..1).unwrap_or_default();
        self.names.iter().any(|name| self.good(key, newest, name))
    }

    /// Whether it is valid for every name, for a client that trusts these CAs.
    fn fits(&self, key: &CertifiedKey, cas: &[CertificateDer<'static>]) -> bool {
        self.names.iter().all(|name| self.good(key, cas, name))
    }

    /// Whether the API server trusts it now.
    pub fn is_trusted(&self, key: &CertifiedKey) -> bool {
        self.hooks().all(|hook| {
            let name = hook.name.as_ref();
            name.is_some_and(|name| self.good(key, &hook.bundle, name))
        })
    }

    fn good(
        &self,
        key: &CertifiedKey,
        cas: &[CertificateDer<'static>],
        name: &ServerName<'_>,
    ) -> bool {
        let now = Duration::from_millis(self.now.unsigned_abs());
        let now = UnixTime::since_unix_epoch(now);
        verified(key, cas, name, now, &self.provider)
    }
}

/// What this process has observed before.
#[derive(Default)]
pub(super) struct LocalState {
    /// Since when the bundle is published, and which.
    published: Option<(String, i64)>,
    /// What is served.
    pub serving: Option<KeyMaterial>,
    /// The last error that was reported.
    pub complaint: Option<String>,
    /// What was wrong with the Secret.
    pub spoiled: Option<String>,
}

impl LocalState {
    pub fn known(
        &mut self,
        observation: &Observation,
        kept: &KeyMaterial,
        usable: &Usable,
        served: Option<Arc<CertifiedKey>>,
    ) -> Result<Known, Unusable> {
        let wanted: BTreeSet<&[u8]> = kept.authorities.iter().map(AsRef::as_ref).collect();
        let published = observation.hooks().all(|hook| {
            let bundle: BTreeSet<&[u8]> = hook.bundle.iter().map(AsRef::as_ref).collect();
            bundle == wanted
        });
        let bundle = kept.bundle();
        self.published = published.then(|| match self.published.take() {
            Some((before, since)) if before == bundle => (before, since),
            _ => (bundle, observation.now),
        });
        let other = |serving: &KeyMaterial| serving.pair != kept.pair;
        let other = served.filter(|_| self.serving.as_ref().is_some_and(other));
        let served = match other {
            Some(key) if observation.fits(&key, &kept.authorities) => Serving::Other,
            Some(key) if observation.is_trusted(&key) => Serving::Orphan,
            _ => Serving::Stored,
        };
        let newest = kept.newest()?;
        let begins = usable.not_before.saturating_add_unsigned(SKEW.as_secs());
        Ok(Known {
            authority: (newest.not_before * 1000, newest.not_after * 1000),
            authorities: kept.authorities.len(),
            leaf: (begins * 1000, usable.not_after * 1000),
            by_newest: observation.is_by_newest(&usable.key, kept),
            names_fit: observation.fits(&usable.key, &kept.authorities),
            published: self.published.as_ref().map(|(_, since)| *since),
            served,
        })
    }
}
