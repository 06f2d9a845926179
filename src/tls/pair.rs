//! A certificate and its key, as bytes and as what is served.

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

use super::{CERTIFICATE, Error, KEY};

/// The two files' bytes.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pair {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// A pair that can be served.
pub(super) struct Usable {
    pub key: Arc<CertifiedKey>,
    /// When the leaf ends, in seconds since 1970.
    pub not_after: i64,
}

impl Pair {
    pub async fn read(directory: &Path) -> Result<Self, Error> {
        Ok(Self {
            certificate: read(directory, CERTIFICATE).await?,
            key: read(directory, KEY).await?,
        })
    }

    pub fn check(&self, directory: &Path, provider: &CryptoProvider) -> Result<Usable, Error> {
        let pem = |what, file| {
            move |source: pem::Error| Error::Pem {
                path: directory.join(file),
                what,
                source,
            }
        };
        let chain = CertificateDer::pem_slice_iter(&self.certificate)
            .collect::<Result<Vec<_>, _>>()
            .map_err(pem("certificate", CERTIFICATE))?;
        let leaf = chain
            .first()
            .ok_or(pem::Error::NoItemsFound)
            .map_err(pem("certificate", CERTIFICATE))?;
        let not_after = not_after(leaf).map_err(|source| Error::Certificate {
            path: directory.join(CERTIFICATE),
            source,
        })?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(pem("private key", KEY))?;
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

fn not_after(certificate: &CertificateDer<'_>) -> Result<i64, X509Error> {
    match X509Certificate::from_der(certificate) {
        Ok((_, certificate)) => Ok(certificate.validity().not_after.timestamp()),
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
