//! Errors of loading, making and publishing the certificate.

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
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// A file is not PEM, or does not contain the expected item.
    #[error("reading a {what} from {}", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// The item that the file should contain.
        what: &'static str,
        /// The error of the PEM parser.
        #[source]
        source: NotPem,
    },
    /// The certificate cannot be parsed.
    #[error("reading the certificate in {}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The error of the X.509 parser.
        #[source]
        source: x509_parser::error::X509Error,
    },
    /// The type of the key is not supported, or the key does not belong to the certificate.
    #[error("pairing the certificate and the key in {}", directory.display())]
    Pair {
        /// The directory of both files.
        directory: PathBuf,
        /// The error of rustls.
        #[source]
        source: rustls::Error,
    },
    /// The CA for client certificates cannot be used.
    #[error("reading the CA of clients in {}", path.display())]
    ClientCa {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// TLS 1.3 is not available.
    #[error("setting up TLS 1.3")]
    Protocol(#[source] rustls::Error),
    /// The self-managed certificate cannot be made, stored or published.
    #[error(transparent)]
    SelfManaged(#[from] SelfManagedError),
}

/// Why a text is not PEM. The error of the parser is not used, because it quotes the text, which may be a private key.
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

/// Why there is no self-managed certificate, or none that may be served yet.
#[derive(Debug, thiserror::Error)]
pub enum SelfManagedError {
    /// A request to the API server failed.
    #[error("{doing}")]
    Kubernetes {
        /// What the request was made for.
        doing: String,
        /// The answer of the API server.
        #[source]
        source: kube::Error,
    },
    /// The contents of the Secret cannot be used. They are replaced.
    #[error("Secret {secret} cannot be used and is replaced")]
    Secret {
        /// The name of the Secret.
        secret: String,
        /// Why the contents cannot be used.
        #[source]
        source: UnusableSecret,
    },
    /// A certificate cannot be made.
    #[error("making the webhook's certificate")]
    Create(#[source] rcgen::Error),
    /// There is no webhook configuration, so that no API server connects to the webhook.
    #[error(
        "there is no webhook configuration named mooring, so the API server calls no webhook: apply config/webhook"
    )]
    NoWebhookConfiguration,
    /// Another writer changes what this process writes, again and again.
    #[error(
        "the webhook's certificate is changed as soon as it is written: does anything else write Secret or caBundle?"
    )]
    WriteConflicts,
}

impl SelfManagedError {
    pub(super) fn kubernetes(doing: impl Into<String>, source: kube::Error) -> Self {
        let doing = doing.into();
        Self::Kubernetes { doing, source }
    }
}

/// Why the contents of the Secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UnusableSecret {
    /// An entry with this name is missing.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// Certificate and key cannot be served together.
    #[error("its certificate and key cannot be served")]
    Pair(#[source] Box<Error>),
}
