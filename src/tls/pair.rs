//! A certificate and its key, as bytes and in the form that is served.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::certificate::X509Certificate;
use x509_parser::error::X509Error;
use x509_parser::prelude::FromDer as _;

use super::error::{Error, NotPem};
use super::names::{CERTIFICATE, KEY};

/// The two files' bytes.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pair {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// A pair that can be served.
pub(super) struct Usable {
    pub key: Arc<CertifiedKey>,
    /// When the leaf expires, in seconds since 1970.
    pub not_after: i64,
}

/// The validity period of a certificate, in seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validity {
    pub not_before: i64,
    pub not_after: i64,
}

impl Pair {
    /// A pair of PEM texts. They are not checked.
    pub const fn new(certificate: Vec<u8>, key: Vec<u8>) -> Self {
        Self { certificate, key }
    }

    /// The bytes of the certificate and of the key, as PEM.
    pub fn bytes(&self) -> (&[u8], &[u8]) {
        (&self.certificate, &self.key)
    }

    /// Reads both files in `directory`.
    ///
    /// # Errors
    /// A file cannot be read.
    pub async fn read(directory: &Path) -> Result<Self, Error> {
        Ok(Self {
            certificate: read(directory, CERTIFICATE).await?,
            key: read(directory, KEY).await?,
        })
    }

    /// Parses the pair. `directory` is only for messages.
    ///
    /// # Errors
    /// The pair cannot be served.
    pub fn check(&self, directory: &Path, provider: &CryptoProvider) -> Result<Usable, Error> {
        let pem = |what, file| {
            move |source: NotPem| Error::Pem {
                path: directory.join(file),
                what,
                source,
            }
        };
        let chain = certificates(&self.certificate).map_err(pem("certificate", CERTIFICATE))?;
        let leaf = chain
            .first()
            .ok_or(NotPem::from(pem::Error::NoItemsFound))
            .map_err(pem("certificate", CERTIFICATE))?;
        let Validity { not_after, .. } = validity(leaf).map_err(|source| Error::Certificate {
            path: directory.join(CERTIFICATE),
            source,
        })?;
        let key = private_key(&self.key).map_err(pem("private key", KEY))?;
        let key = CertifiedKey::from_der(chain, key, provider).map_err(|source| Error::Pair {
            directory: directory.to_owned(),
            source,
        })?;
        Ok(Usable {
            key: Arc::new(key),
            not_after,
        })
    }
}

/// All certificates in a PEM text.
pub(super) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, NotPem> {
    let read = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>();
    read.map_err(NotPem::from)
}

/// The first private key in a PEM text.
pub(super) fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, NotPem> {
    PrivateKeyDer::from_pem_slice(pem).map_err(NotPem::from)
}

pub(super) fn validity(certificate: &CertificateDer<'_>) -> Result<Validity, X509Error> {
    let certificate = parsed(certificate)?;
    Ok(Validity {
        not_before: certificate.validity().not_before.timestamp(),
        not_after: certificate.validity().not_after.timestamp(),
    })
}

/// The common names of a certificate. Usually there is one (RFC 5280, section 4.1.2.6).
pub(super) fn common_names(certificate: &CertificateDer<'_>) -> Result<Vec<String>, X509Error> {
    let certificate = parsed(certificate)?;
    let names = certificate.subject().iter_common_name();
    Ok(names
        .filter_map(|name| name.as_str().ok())
        .map(str::to_owned)
        .collect())
}

fn parsed<'a>(certificate: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, X509Error> {
    match X509Certificate::from_der(certificate) {
        Ok((_, certificate)) => Ok(certificate),
        Err(x509_parser::nom::Err::Error(error) | x509_parser::nom::Err::Failure(error)) => {
            Err(error)
        }
        Err(x509_parser::nom::Err::Incomplete(_)) => Err(X509Error::InvalidCertificate),
    }
}

async fn read(directory: &Path, file: &str) -> Result<Vec<u8>, Error> {
    let path = directory.join(file);
    match tokio::fs::read(&path).await {
        Ok(bytes) if bytes.is_empty() => Err(Error::Read {
            path,
            source: io::Error::new(io::ErrorKind::UnexpectedEof, "the file is empty"),
        }),
        Ok(bytes) => Ok(bytes),
        Err(source) => Err(Error::Read { path, source }),
    }
}
