//! The certificate that handshakes are answered with.

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
    pub fn replace(&self, key: Arc<CertifiedKey>) {
        *self.key.write().unwrap_or_else(PoisonError::into_inner) = Some(key);
        self.replaced.notify_one();
    }

    /// Ends once another pair is served, also if that was before this call. For one waiting task.
    pub async fn replaced(&self) {
        self.replaced.notified().await;
    }

    /// The API server does not trust it: wakes the task that can correct that.
    pub fn report_untrusted(&self) {
        self.untrusted.notify_one();
    }

    /// Ends once it was reported as untrusted. For one waiting task.
    pub async fn untrusted(&self) {
        self.untrusted.notified().await;
    }

    /// The pair, if there is one.
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
