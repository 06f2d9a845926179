//! The certificate that the server presents in TLS handshakes.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::Notify;

/// The current certificate and key, shared with the server.
#[derive(Debug, Default)]
pub(super) struct CertResolver {
    key: RwLock<Option<Arc<CertifiedKey>>>,
    replaced: Notify,
    untrusted: Notify,
}

impl CertResolver {
    /// Serves this pair from now on. Wakes the task in [`Self::replaced`].
    pub fn replace(&self, key: Arc<CertifiedKey>) {
        *self.key.write().unwrap_or_else(PoisonError::into_inner) = Some(key);
        self.replaced.notify_one();
    }

    /// Returns when another pair is served, also if this happened before the call. Only one task may wait.
    pub async fn replaced(&self) {
        self.replaced.notified().await;
    }

    /// Reports that the API server does not trust the certificate. Wakes the task in [`Self::untrusted`].
    pub fn report_untrusted(&self) {
        self.untrusted.notify_one();
    }

    /// Returns after a call of [`Self::report_untrusted`], also an earlier one. Only one task may wait.
    pub async fn untrusted(&self) {
        self.untrusted.notified().await;
    }

    /// The pair that is served now. None: there is no certificate yet.
    pub fn current(&self) -> Option<Arc<CertifiedKey>> {
        self.key
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl ResolvesServerCert for CertResolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current()
    }
}
