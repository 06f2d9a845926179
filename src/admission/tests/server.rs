//! Tests over TLS: a slow client does not delay others, and a shutdown finishes the requests that were begun.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mooring_plan::admission::usage::{Subject, Use};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::http::{review, webhook};
use super::{asking, office};
use crate::admission::server::serve_at_most;
use crate::admission::{ClusterReader, Dependencies, End, Right, Rights, Snapshot, Unreadable};

const LIMIT: Duration = Duration::from_secs(20);

/// A reader whose reads wait until the test releases them.
#[derive(Clone, Default)]
pub struct Held {
    pub asked: Arc<Notify>,
    pub released: Arc<Notify>,
}

impl Rights for Held {
    async fn right(&self, _: &Subject, _: &Use) -> Result<Right, Unreadable> {
        Ok(Right::Granted)
    }
}

impl ClusterReader for Held {
    async fn cached(&self, _: &Dependencies) -> Snapshot {
        self.asked.notify_one();
        self.released.notified().await;
        office()
    }

    async fn fresh(&self, _: &Dependencies) -> Result<Snapshot, Unreadable> {
        Ok(office())
    }
}

pub struct Served {
    pub address: SocketAddr,
    certificate: CertificateDer<'static>,
    pub objects: Held,
    pub end: End,
    pub task: JoinHandle<()>,
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

pub async fn served() -> Served {
    served_at_most(16).await
}

pub async fn served_at_most(connections: usize) -> Served {
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = pair.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(pair.signing_key.serialize_der().into());
    let tls = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let end = End::default();
    let objects = Held::default();
    let (router, _) = webhook(objects.clone());
    let server = serve_at_most(connections, listener, Arc::new(tls), router, end.clone());
    let task = tokio::spawn(server);
    Served {
        address,
        certificate,
        objects,
        end,
        task,
    }
}

impl Served {
    pub async fn connect(&self) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
            .unwrap()
    }
}

/// A review as the API server sends it, without a request to close the connection.
pub fn kept() -> String {
    let body = review(&asking(json!({})));
    let length = body.len();
    format!(
        "POST /mutate/pod HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn request() -> String {
    kept().replace("\r\nHost", "\r\nConnection: close\r\nHost")
}

async fn answer(stream: &mut TlsStream<TcpStream>) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_silent_client_does_not_delay_others() {
    let served = served().await;
    let _silent = TcpStream::connect(served.address).await.unwrap();
    served.objects.released.notify_one();
    let mut stream = served.connect().await;
    stream.write_all(request().as_bytes()).await.unwrap();
    let answer = answer(&mut stream).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK") && answer.contains("\"allowed\":true"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_client_without_a_handshake_is_disconnected() {
    let served = served().await;
    let mut silent = TcpStream::connect(served.address).await.unwrap();
    let mut received = Vec::new();
    let ended = tokio::time::timeout(LIMIT, silent.read_to_end(&mut received));
    let _ = ended.await.expect("the connection is ended");
    assert!(received.is_empty(), "{received:?}");
}

#[tokio::test]
async fn requests_before_the_shutdown_are_answered() {
    let served = served().await;
    let mut stream = served.connect().await;
    stream.write_all(request().as_bytes()).await.unwrap();
    served.objects.asked.notified().await;
    served.end.close.cancel();
    while TcpStream::connect(served.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    // It does not end before the answer is sent, however often the task runs.
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
        assert!(!served.task.is_finished(), "ended with a request open");
    }
    served.objects.released.notify_one();
    let answer = answer(&mut stream).await;
    assert!(answer.contains("\"allowed\":true"), "{answer}");
    served.task.await.unwrap();
}

/// Checks that the server ended the connection, cleanly or not.
pub async fn expect_ended(stream: &mut TlsStream<TcpStream>) {
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(LIMIT, stream.read_to_end(&mut rest));
    let _ = ended.await.expect("the connection is ended");
    assert_eq!(String::from_utf8_lossy(&rest), "");
}

#[tokio::test]
async fn a_slow_request_head_times_out() {
    let served = served().await;
    let mut slow = served.connect().await;
    let begun = Instant::now();
    for byte in request().bytes().cycle() {
        if slow.write_all(&[byte]).await.is_err() || begun.elapsed() > LIMIT {
            break;
        }
        if byte == b'\n' {
            // The head stays incomplete.
            slow.write_all(b"x: ").await.ok();
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(begun.elapsed() < LIMIT, "a head that never ends is read on");
}

#[tokio::test]
async fn a_connection_without_a_request_yet_stays_usable() {
    let served = served().await;
    let mut early = served.connect().await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    served.objects.released.notify_one();
    early.write_all(request().as_bytes()).await.unwrap();
    let answer = answer(&mut early).await;
    assert!(answer.contains("\"allowed\":true"), "{answer}");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let served = served().await;
    let mut stream = served.connect().await;
    let head = format!(
        "POST /mutate/pod HTTP/1.1\r\nx: {}\r\n",
        "x".repeat(32 * 1024)
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = answer(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn idle_connections_do_not_block_other_reviews() {
    let served = served_at_most(4).await;
    let mut asking = served.connect().await;
    asking.write_all(request().as_bytes()).await.unwrap();
    served.objects.asked.notified().await;
    let mut first = served.connect().await;
    let mut connections = Vec::new();
    for _ in 0..5 {
        connections.push(served.connect().await);
    }
    expect_ended(&mut first).await;
    served.objects.released.notify_one();
    let answer = answer(&mut asking).await;
    assert!(answer.contains("\"allowed\":true"), "{answer}");
}

#[tokio::test]
async fn incomplete_bodies_do_not_block_other_reviews() {
    let served = served_at_most(2).await;
    let head = "POST /mutate/pod HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n";
    let mut slow = Vec::new();
    for _ in 0..2 {
        let mut stream = served.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    served.objects.released.notify_one();
    let mut stream = served.connect().await;
    stream.write_all(request().as_bytes()).await.unwrap();
    let answer = answer(&mut stream).await;
    assert!(answer.contains("\"allowed\":true"), "{answer}");
}
