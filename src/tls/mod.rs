//! TLS for the webhook. Its certificate and key are taken from two files that may change at any time, as
//! cert-manager's do when a Secret is mounted; or they are made here and kept in a Secret.

mod pair;
mod published;
mod self_managed;
mod watch;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::version::TLS13;

use self_managed::Keeper;
use watch::Served;

pub use self_managed::{Lifetimes, Options as SelfManaged, Trouble, Unusable};

/// Name of the certificate's file: the leaf first, then what leads to its CA, as PEM.
pub const CERTIFICATE: &str = "tls.crt";
/// Name of the private key's file, as PEM.
pub const KEY: &str = "tls.key";

/// Why a pair of files cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file is not there or cannot be read.
    #[error(
        "reading {}: is cert-manager installed, has its Certificate been applied, and is the Secret mounted \
         there?",
        path.display()
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file is not PEM, or lacks what it is for.
    #[error("reading a {what} from {}", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What should be in it.
        what: &'static str,
        /// Where it went wrong.
        #[source]
        source: rustls::pki_types::pem::Error,
    },
    /// The certificate is none.
    #[error("reading the certificate in {}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Where it went wrong.
        #[source]
        source: x509_parser::error::X509Error,
    },
    /// The key is of a kind that is not supported, or it is not the certificate's.
    #[error("pairing the certificate and the key in {}", directory.display())]
    Pair {
        /// The directory.
        directory: PathBuf,
        /// Why they do not go together.
        #[source]
        source: rustls::Error,
    },
    /// TLS 1.3 cannot be offered.
    #[error("setting up TLS 1.3")]
    Protocol(#[source] rustls::Error),
    /// The certificate that is kept in a Secret cannot be made, kept or published.
    #[error(transparent)]
    SelfManaged(#[from] Trouble),
}

/// What the files were found to be.
#[derive(Debug)]
pub enum Notice {
    /// A pair is now served.
    Loaded {
        /// When the certificate ends, in seconds since 1970.
        not_after: i64,
    },
    /// What is in the files cannot be served. What was served before, if anything, still is.
    Refused(Error),
}

/// A configuration that serves the pair in `directory`, and the task that keeps it up to date: it reads
/// the files at once, then every `interval` (a watch would die when kubelet swaps the symlink), and tells `notice` whenever that changes something. While
/// there is no pair, handshakes fail.
///
/// # Errors
/// TLS 1.3 cannot be offered.
pub fn files<N>(
    directory: PathBuf,
    interval: Duration,
    notice: N,
) -> Result<(Arc<ServerConfig>, impl Future<Output = ()> + Send), Error>
where
    N: FnMut(Notice) + Send,
{
    let (config, provider, served) = config()?;
    Ok((
        config,
        watch::watch(directory, interval, provider, served, notice),
    ))
}

/// A configuration that serves a certificate of our own, and the task that makes it, renews it and publishes its
/// CA. While there is none, handshakes fail.
///
/// # Errors
/// TLS 1.3 cannot be offered.
pub fn self_managed<N>(
    client: kube::Client,
    options: SelfManaged,
    notice: N,
) -> Result<(Arc<ServerConfig>, impl Future<Output = ()> + Send), Error>
where
    N: FnMut(Notice) + Send + Sync,
{
    let (config, provider, served) = config()?;
    let keeper = Keeper {
        client,
        options,
        provider,
        served,
        notice,
    };
    Ok((config, keeper.keep()))
}

type Parts = (Arc<ServerConfig>, Arc<CryptoProvider>, Arc<Served>);

fn config() -> Result<Parts, Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let served = Arc::new(Served::default());
    let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])
        .map_err(Error::Protocol)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::clone(&served) as Arc<_>);
    // API servers speak HTTP/1.1 to webhooks.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((Arc::new(config), provider, served))
}
