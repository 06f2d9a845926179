//! A client of the webhook of one replica. It sends reviews over TLS, as the API server does.

use std::net::SocketAddr;
use std::sync::Arc;

use mooring_cluster::Mooring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::harness::scene::Scene;

/// A review of a pod "web" that is created.
pub fn review(namespace: &str, pod: &Value) -> String {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "1", "operation": "CREATE", "namespace": namespace, "name": "web",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "userInfo": {"username": "user"}, "object": pod,
    }})
    .to_string()
}

/// The request with a review, as the API server sends it.
pub fn request(path: &str, review: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{review}",
        review.len()
    )
}

/// The same request with `Connection: close`, so that the webhook closes the connection after its answer.
pub fn last_request(path: &str, review: &str) -> String {
    request(path, review).replacen("\r\nHost", "\r\nConnection: close\r\nHost", 1)
}

/// The address of the webhook of a replica, and the CA for its certificate.
#[derive(Clone)]
pub struct WebhookClient {
    pub address: SocketAddr,
    tls: TlsConnector,
}

impl WebhookClient {
    pub fn new(scene: &Scene, mooring: &Mooring) -> Self {
        let (_, address) = mooring.webhook_url().rsplit_once('/').expect("a URL");
        Self::at(scene, address.parse().expect("an address and a port"))
    }

    /// A client of another server with a certificate of the same CA.
    pub fn at(scene: &Scene, address: SocketAddr) -> Self {
        let ca = scene.cluster().webhook_authority().certificate();
        let ca = CertificateDer::from_pem_slice(ca.as_bytes()).expect("a certificate");
        let mut roots = RootCertStore::empty();
        roots.add(ca).expect("a CA");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the versions of the provider")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            address,
            tls: TlsConnector::from(Arc::new(config)),
        }
    }

    /// A new connection.
    pub async fn connect(&self) -> std::io::Result<TlsStream<TcpStream>> {
        self.handshake(TcpStream::connect(self.address).await?)
            .await
    }

    /// TLS over a connection.
    pub async fn handshake(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("mooring-webhook.mooring-system.svc").expect("a name");
        self.tls.connect(name, stream).await
    }
}

/// Sends a request and reads its answer: head and body.
pub async fn ask(stream: &mut TlsStream<TcpStream>, request: &str) -> std::io::Result<String> {
    stream.write_all(request.as_bytes()).await?;
    // A read does not send the data that TLS has buffered.
    stream.flush().await?;
    let mut answer = Vec::new();
    while !is_whole(&answer) {
        if stream.read_buf(&mut answer).await? == 0 {
            let text = String::from_utf8_lossy(&answer).into_owned();
            let kind = std::io::ErrorKind::UnexpectedEof;
            return Err(std::io::Error::new(kind, text));
        }
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Is this a complete request or answer, with its whole body?
pub fn is_whole(answer: &[u8]) -> bool {
    let answer = String::from_utf8_lossy(answer);
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        return false;
    };
    let mut lines = head.lines().map(str::to_ascii_lowercase);
    let length = lines.find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    length == Some(body.len())
}
