//! A TLS server that answers every request with the same bytes. It shows the cost of the connections alone.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::cluster::Bench;
use crate::harness::webhook_client::is_whole;

/// Serves until it is dropped.
pub struct NullHandler {
    pub address: SocketAddr,
    serving: JoinHandle<()>,
}

impl NullHandler {
    /// Starts it with a certificate like that of the webhook, and this body in each answer.
    pub async fn start(bench: &Bench<'_>, body: &str) -> Self {
        let authority = bench.scene.cluster().webhook_authority();
        let leaf = authority.leaf(&["127.0.0.1", "mooring-webhook.mooring-system.svc"]);
        let chain = CertificateDer::from_pem_slice(leaf.certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(leaf.key.as_bytes()).expect("a key");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the versions of the provider")
            .with_no_client_auth()
            .with_single_cert(vec![chain.expect("a certificate")], key)
            .expect("the key of the certificate");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let serving = tokio::spawn(async move {
            let answer: Arc<str> = answer.into();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, answer) = (acceptor.clone(), Arc::clone(&answer));
                // An error means only that the client has closed its connection.
                tokio::spawn(async move { serve(acceptor, stream, &answer).await.ok() });
            }
        });
        Self { address, serving }
    }
}

impl Drop for NullHandler {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(acceptor: TlsAcceptor, stream: TcpStream, answer: &str) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = acceptor.accept(stream).await?;
    loop {
        let mut request = Vec::with_capacity(16_384);
        while !is_whole(&request) {
            if stream.read_buf(&mut request).await? == 0 {
                return Ok(());
            }
        }
        stream.write_all(answer.as_bytes()).await?;
        stream.flush().await?;
    }
}
