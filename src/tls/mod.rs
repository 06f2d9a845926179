//! TLS for the webhook. Certificate and key come from two files that may change at any time (for example a mounted
//! Secret of cert-manager), or Mooring makes them and stores them in a Secret.

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
use clients::ClientVerifier;
use self_managed::Renewer;

pub use ca_bundle::Trust;
pub use error::{Error, NotPem, SelfManagedError, UnusableSecret};
pub use names::{CERTIFICATE, KEY};
pub use notice::CertificateNotice;
pub use self_managed::{Lifetimes, Options as SelfManaged};

/// The TLS configuration of the server. While there is no certificate, all handshakes fail.
#[derive(Debug)]
pub struct Serving {
    /// The configuration for the server.
    pub config: Arc<ServerConfig>,
    resolver: Arc<CertResolver>,
    /// The verifier of client certificates, with the content of its file. None: all clients are accepted.
    clients: Option<(Arc<ClientVerifier>, Vec<u8>)>,
    provider: Arc<CryptoProvider>,
}

impl Serving {
    /// Without a certificate at first. Accepts all clients.
    ///
    /// # Errors
    /// TLS 1.3 is not available.
    pub fn new() -> Result<Self, Error> {
        Self::to(None, Arc::new(aws_lc_rs::default_provider()))
    }

    /// Without a certificate at first. Accepts only clients that have a certificate of a CA in `file` (PEM, one or
    /// more) with one of these common names. An empty set of names accepts all names.
    ///
    /// # Errors
    /// The file cannot be used, or TLS 1.3 is not available.
    pub fn to_clients_of(file: PathBuf, names: BTreeSet<String>) -> Result<Self, Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let clients = ClientVerifier::of(file, names, Arc::clone(&provider))?;
        Self::to(Some(clients), provider)
    }

    fn to(
        clients: Option<(Arc<ClientVerifier>, Vec<u8>)>,
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
        // A resumed session does not send the client certificate again, so an expired one would stay accepted.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        // The server does not support HTTP/2: see `admission/server`.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            config: Arc::new(config),
            resolver,
            clients,
            provider,
        })
    }

    /// Reads the client CA every `interval`, if one is configured. Calls `notice` when it cannot be used.
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

    /// Serves the pair in `directory`. Reads the files at once and then every `interval`, because a file watch ends
    /// when the kubelet swaps the symlink. Calls `notice` after each change.
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

    /// Makes a self-signed certificate, renews it and publishes it in the webhook configurations.
    pub fn self_managed<N>(
        &self,
        client: kube::Client,
        options: SelfManaged,
        notice: N,
    ) -> impl Future<Output = ()> + Send + use<N>
    where
        N: FnMut(CertificateNotice) + Send + Sync,
    {
        let renewer = Renewer {
            client,
            options,
            provider: Arc::clone(&self.provider),
            resolver: Arc::clone(&self.resolver),
            notice,
        };
        renewer.run()
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
