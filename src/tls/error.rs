//! Why there is no certificate to serve.

use std::io;
use std::path::PathBuf;

use rustls::pki_types::pem;

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
        source: NotPem,
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
    /// The CA that clients' certificates have to come from cannot be used.
    #[error("reading the CA of clients in {}", path.display())]
    ClientCa {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// TLS 1.3 cannot be offered.
    #[error("setting up TLS 1.3")]
    Protocol(#[source] rustls::Error),
    /// The certificate that is kept in a Secret cannot be made, kept or published.
    #[error(transparent)]
    SelfManaged(#[from] SelfManagedError),
}

/// What is wrong with a text that should be PEM. The reader's own error quotes the text, which may be a private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotPem(&'static str);

impl From<pem::Error> for NotPem {
    fn from(error: pem::Error) -> Self {
        Self(match error {
            pem::Error::MissingSectionEnd { .. } => "a section has no line that ends it",
            pem::Error::IllegalSectionStart { .. } => "the line that begins a section is broken",
            pem::Error::Base64Decode(_) => "a section is not base64",
            pem::Error::NoItemsFound => "there is none in it",
            _ => "it is not PEM",
        })
    }
}

/// Why there is no certificate, or none that may be served yet.
#[derive(Debug, thiserror::Error)]
pub enum SelfManagedError {
    /// The API server did not do it.
    #[error("{doing}")]
    Kubernetes {
        /// What it was asked for.
        doing: String,
        /// What it said.
        #[source]
        source: kube::Error,
    },
    /// The Secret has other contents; it is replaced.
    #[error("Secret {secret} cannot be used and is replaced")]
    Secret {
        /// Its name.
        secret: String,
        /// Why.
        #[source]
        source: Unusable,
    },
    /// A certificate cannot be made.
    #[error("making the webhook's certificate")]
    Making(#[source] rcgen::Error),
    /// No API server connects to the webhook.
    #[error(
        "there is no webhook configuration named mooring, so that the API server asks no webhook: apply config/webhook"
    )]
    Unasked,
    /// The others change what this one writes.
    #[error(
        "the webhook's certificate is changed as soon as it is written: does anything else write Secret or caBundle?"
    )]
    Contended,
}

impl SelfManagedError {
    pub(super) fn kubernetes(doing: impl Into<String>, source: kube::Error) -> Self {
        let doing = doing.into();
        Self::Kubernetes { doing, source }
    }
}

/// Why what the Secret holds cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// An entry is not there.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// Certificate and key cannot be served.
    #[error("its certificate and key cannot be served")]
    Pair(#[source] Box<Error>),
}
