//! TLS for the webhook. Its certificate and key are taken from two files that may change at any time, as
//! cert-manager's do when a Secret is mounted; or they are made here and kept in a Secret.

mod ca_bundle;
mod cert_resolver;
mod clients;
mod error;
mod files;
mod names;
mod notice;
mod pair;
mod self_managed;
mod webhook_config;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::NoServerSessionStorage;
use rustls::version::TLS13;

use cert_resolver::CertResolver;
use clients::Clients;
use self_managed::Keeper;

pub use ca_bundle::Trust;
pub use error::{Error, NotPem, SelfManagedError, Unusable};
pub use names::{CERTIFICATE, KEY};
pub use notice::CertificateNotice;
pub use self_managed::{Lifetimes, Options as SelfManaged};

/// What handshakes are answered with. While there is no certificate, they fail.
#[derive(Debug)]
pub struct Serving {
    /// For the server.
    pub config: Arc<ServerConfig>,
    resolver: Arc<CertResolver>,
    /// With what their file held.
    clients: Option<(Arc<Clients>, Vec<u8>)>,
    provider: Arc<CryptoProvider>,
}

impl Serving {
    /// With no certificate yet, to any client.
    ///
    /// # Errors
    /// TLS 1.3 cannot be offered.
    pub fn new() -> Result<Self, Error> {
        Self::to(None, Arc::new(aws_lc_rs::default_provider()))
    }

    /// With no certificate yet, to clients that have a certificate of the CA in `file` (PEM, one or more) with one of
    /// these common names (none given: with any).
    ///
    /// # Errors
    /// The file cannot be used, or TLS 1.3 cannot be offered.
    pub fn to_clients_of(file: PathBuf, names: BTreeSet<String>) -> Result<Self, Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let clients = Clients::of(file, names, Arc::clone(&provider))?;
        Self::to(Some(clients), provider)
    }

    fn to(
        clients: Option<(Arc<Clients>, Vec<u8>)>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, Error> {
        let resolver = Arc::new(CertResolver::default());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(Error::Protocol)?;
        let config = match &clients {
            None => config.with_no_client_auth(),
            Some((clients, _)) => config.with_client_cert_verifier(Arc::clone(clients) as Arc<_>),
        };
        let mut config = config.with_cert_resolver(Arc::clone(&resolver) as Arc<_>);
        // A resumed session would not show the client's certificate again: it would be trusted after it has expired.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        // The server speaks no HTTP/2: see `admission/server`.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            config: Arc::new(config),
            resolver,
            clients,
            provider,
        })
    }

    /// Reads the CA of clients every `interval`, if there is one, and tells `notice` when it cannot be used.
    pub fn clients<N>(
        &self,
        interval: Duration,
        notice: N,
    ) -> impl Future<Output = ()> + Send + use<N>
    where
        N: FnMut(CertificateNotice) + Send,
    {
        let clients = self.clients.clone();
        async move {
            match clients {
                Some((clients, bytes)) => clients.watch(bytes, interval, notice).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Takes the pair in `directory`: reads the files at once, then every `interval` (a watch would die when
    /// kubelet swaps the symlink), and tells `notice` whenever that changes something.
    pub fn files<N>(
        &self,
        directory: PathBuf,
        interval: Duration,
        notice: N,
    ) -> impl Future<Output = ()> + Send + use<N>
    where
        N: FnMut(CertificateNotice) + Send,
    {
        let (provider, resolver) = (Arc::clone(&self.provider), Arc::clone(&self.resolver));
        files::watch(directory, interval, provider, resolver, notice)
    }

    /// Makes a certificate of our own, renews it and publishes its CA.
    pub fn self_managed<N>(
        &self,
        client: kube::Client,
        options: SelfManaged,
        notice: N,
    ) -> impl Future<Output = ()> + Send + use<N>
    where
        N: FnMut(CertificateNotice) + Send + Sync,
    {
        let keeper = Keeper {
            client,
            options,
            provider: Arc::clone(&self.provider),
            resolver: Arc::clone(&self.resolver),
            notice,
        };
        keeper.keep()
    }

    /// Checks every `interval` whether the API server trusts the certificate, and calls `notice` when that changes.
    pub fn trust<N>(
        &self,
        client: kube::Client,
        interval: Duration,
        notice: N,
    ) -> impl Future<Output = ()> + Send + use<N>
    where
        N: FnMut(Trust) + Send,
    {
        let (provider, resolver) = (Arc::clone(&self.provider), Arc::clone(&self.resolver));
        ca_bundle::watch(client, interval, provider, resolver, notice)
    }
}
