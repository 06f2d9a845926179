//! Whoever only wants to be in the way takes nothing from honest callers of the webhook.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::scene::Scene;

scenes![alone a_crowd_that_sits_there_dawdles_or_talks_nonsense_takes_nothing_from_who_asks];

/// An honest caller asks so often, as an API server does that creates 100 pods a second.
const PAUSE: Duration = Duration::from_millis(10);
/// A client that dawdles says one byte so often.
const DAWDLE: Duration = Duration::from_millis(500);
const DAWDLING: usize = 200;
const NONSENSE_EVERY: Duration = Duration::from_millis(4);

/// How much is played: `make verify` plays all of it, and says how long honest callers waited.
struct Size {
    reviews: usize,
    idle: usize,
    timed: bool,
}

impl Size {
    fn asked() -> Self {
        let whole = std::env::var_os("MOORING_ABUSE").is_some();
        Self {
            reviews: if whole { 3000 } else { 200 },
            idle: if whole { 10_000 } else { 1500 },
            timed: whole,
        }
    }
}

/// Where the webhook is, and whom a caller believes.
#[derive(Clone)]
struct Door {
    address: SocketAddr,
    tls: TlsConnector,
    request: Arc<str>,
}

impl Door {
    async fn of(scene: &Scene) -> Self {
        let mooring = scene.mooring().await;
        scene.block().await;
        let ip = scene.ip("web", 10).await;
        let review =
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
                "uid": "1", "operation": "CREATE", "namespace": scene.name, "name": "web",
                "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "userInfo": {"username": "somebody"},
                "object": scene.pod_asking("web", &ip.name, &json!({})),
            }})
            .to_string();
        let request = format!(
            "POST /mutate/pod HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{review}",
            review.len()
        );
        let ca = scene.cluster().webhook_authority().certificate();
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(ca.as_bytes()).unwrap())
            .unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let (_, address) = mooring.webhook_url().rsplit_once('/').unwrap();
        Self {
            address: address.parse().unwrap(),
            tls: TlsConnector::from(Arc::new(config)),
            request: request.into(),
        }
    }

    async fn connect(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("mooring-webhook.mooring-system.svc").unwrap();
        self.tls.connect(name, stream).await
    }

    /// One honest review, from the connection to the answer.
    async fn ask(&self) -> Duration {
        let begun = Instant::now();
        let stream = TcpStream::connect(self.address).await;
        let stream = self.connect(stream.expect("there is a webhook")).await;
        let mut stream = stream.expect("an honest caller is let in");
        stream.write_all(self.request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        let took = begun.elapsed();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains("\"allowed\":true"), "{answer}");
        took
    }

    /// So many honest reviews, one every [`PAUSE`]; the time that 99 of 100 were answered in.
    async fn p99(&self, reviews: usize) -> Duration {
        let mut due = tokio::time::interval(PAUSE);
        let (mut running, mut times) = (FuturesUnordered::new(), Vec::new());
        let mut begun = 0;
        while times.len() < reviews {
            tokio::select! {
                _ = due.tick(), if begun < reviews => {
                    begun += 1;
                    running.push(self.ask());
                }
                Some(time) = running.next() => times.push(time),
            }
        }
        times.sort_unstable();
        times[reviews * 99 / 100]
    }

    /// One of the crowd comes to the door. Their machine is not the honest callers'.
    async fn come(&self) -> std::io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from(([127, 0, 0, 2], 0)))?;
        socket.connect(self.address).await
    }

    /// Connections that say nothing: so many, and new ones for those that are closed for want of a handshake (5 s).
    async fn sit(&self, count: usize) {
        let mut open = VecDeque::new();
        let mut due = tokio::time::interval(Duration::from_millis(5));
        loop {
            due.tick().await;
            for _ in 0..count.div_ceil(1000) {
                open.extend(self.come().await.ok());
                if open.len() > count {
                    open.pop_front();
                }
            }
        }
    }

    /// A head that never ends.
    async fn dawdle(&self) {
        loop {
            let connected = async { self.connect(self.come().await?).await };
            if let Ok(mut stream) = connected.await {
                let head = "POST /mutate/pod HTTP/1.1\r\nX-Patience: ";
                let mut said = stream.write_all(head.as_bytes()).await;
                while said.is_ok() {
                    tokio::time::sleep(DAWDLE).await;
                    said = stream.write_all(b"x").await;
                }
            }
            tokio::time::sleep(DAWDLE).await;
        }
    }

    /// What is no TLS.
    async fn talk_nonsense(&self) {
        let mut due = tokio::time::interval(NONSENSE_EVERY);
        loop {
            due.tick().await;
            if let Ok(mut stream) = self.come().await {
                // It may be closed before all of it is said.
                let _ = stream.write_all(&[0x16; 512]).await;
            }
        }
    }
}

async fn a_crowd_that_sits_there_dawdles_or_talks_nonsense_takes_nothing_from_who_asks(
    scene: &Scene,
) {
    let size = Size::asked();
    let door = Door::of(scene).await;
    let quiet = door.p99(size.reviews).await;
    let crowd = async {
        let dawdling: FuturesUnordered<_> = (0..DAWDLING).map(|_| door.dawdle()).collect();
        tokio::join!(
            door.sit(size.idle),
            door.talk_nonsense(),
            dawdling.for_each(async |()| {})
        );
    };
    let loud = tokio::select! {
        () = crowd => unreachable!("it does not tire"),
        loud = door.p99(size.reviews) => loud,
    };
    println!(
        "verified: {} honest reviews answered among {} idle connections, {DAWDLING} slow ones and {} of nonsense a second: \
         p99 {:.1} ms, {:.1} ms when it is quiet",
        size.reviews,
        size.idle,
        1000 / NONSENSE_EVERY.as_millis(),
        loud.as_secs_f64() * 1e3,
        quiet.as_secs_f64() * 1e3
    );
    assert!(
        !size.timed || loud <= 3 * quiet,
        "more than three times as long"
    );
}
