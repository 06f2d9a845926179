//! The clients that the webhook accepts: if a client CA is configured, only clients with a certificate of that CA.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme,
};

use super::error::Error;
use super::notice::{CertificateNotice, report_once};
use super::pair::{certificates, common_names};

/// Verifies client certificates with the CA in a file. The file may change at any time.
#[derive(Debug)]
pub(super) struct ClientVerifier {
    file: PathBuf,
    /// Common names of the clients that are accepted. Empty: all names.
    names: BTreeSet<String>,
    provider: Arc<CryptoProvider>,
    verifier: RwLock<Arc<dyn ClientCertVerifier>>,
}

impl ClientVerifier {
    /// Reads the file. Returns the verifier and the content of the file.
    pub fn of(
        file: PathBuf,
        names: BTreeSet<String>,
        provider: Arc<CryptoProvider>,
    ) -> Result<(Arc<Self>, Vec<u8>), Error> {
        let bytes = std::fs::read(&file).map_err(|error| refused(&file, error))?;
        let verifier = verifier(&bytes, &provider).map_err(|error| refused(&file, error))?;
        let clients = Self {
            file,
            names,
            provider,
            verifier: RwLock::new(verifier),
        };
        Ok((Arc::new(clients), bytes))
    }

    /// Reads the file again every `interval`. A file that cannot be used changes nothing.
    pub async fn watch<N>(self: Arc<Self>, mut last: Vec<u8>, interval: Duration, mut notice: N)
    where
        N: FnMut(CertificateNotice) + Send,
    {
        let mut reported = None;
        loop {
            tokio::time::sleep(interval).await;
            let taken = match tokio::fs::read(&self.file).await {
                Ok(bytes) if bytes == last => continue,
                Ok(bytes) => {
                    let taken = verifier(&bytes, &self.provider);
                    last = bytes;
                    taken
                }
                Err(error) => Err(error.into()),
            };
            match taken {
                Ok(verifier) => {
                    *self
                        .verifier
                        .write()
                        .unwrap_or_else(PoisonError::into_inner) = verifier;
                    reported = None;
                    tracing::info!(file = %self.file.display(), "another CA of clients is trusted");
                }
                Err(error) => report_once(&mut reported, refused(&self.file, error), &mut notice),
            }
        }
    }

    fn now(&self) -> Arc<dyn ClientCertVerifier> {
        let verifier = self.verifier.read();
        Arc::clone(&verifier.unwrap_or_else(PoisonError::into_inner))
    }
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

fn refused(file: &std::path::Path, source: impl Into<Cause>) -> Error {
    Error::ClientCa {
        path: file.to_owned(),
        source: source.into(),
    }
}

fn verifier(
    pem: &[u8],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, Cause> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem)? {
        roots.add(certificate)?;
    }
    let provider = Arc::clone(provider);
    Ok(WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()?)
}

impl ClientCertVerifier for ClientVerifier {
    /// Empty: the client has only one certificate, so it needs no hint for a choice.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let verified = self
            .now()
            .verify_client_cert(end_entity, intermediates, now)?;
        if self.names.is_empty() {
            return Ok(verified);
        }
        let names = common_names(end_entity).map_err(|_| CertificateError::BadEncoding)?;
        if names.iter().any(|name| self.names.contains(name)) {
            return Ok(verified);
        }
        tracing::debug!(
            ?names,
            "a client has a certificate of the CA and none of the names"
        );
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.now()
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.now()
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.now().supported_verify_schemes()
    }
}
