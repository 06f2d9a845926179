//! A webhook under load, and the clients that use and misuse it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use mooring_cluster::Mooring;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Interval, MissedTickBehavior};

use super::PATH;
use super::load::Load;
use super::process_limits::limit_open_files;
use crate::harness::scene::Scene;
use crate::harness::webhook_client::{WebhookClient, ask, last_request, request, review};

/// A slow client sends one byte in each such interval.
const SLOW: Duration = Duration::from_millis(500);

/// A webhook under load.
#[derive(Clone)]
pub struct Target {
    client: WebhookClient,
    /// A review that is allowed.
    request: Arc<str>,
    pub mooring: Arc<Mooring>,
}

impl Target {
    pub async fn start(scene: &Scene) -> Self {
        let mooring = scene.mooring().await;
        scene.block().await;
        let ip = scene.ip("web", 10).await;
        let pod = scene.pod_asking("web", &ip.name, &json!({}));
        // Some container runtimes set this limit of open files.
        limit_open_files(mooring.process().pid(), "1024:1024");
        Self {
            client: WebhookClient::new(scene, &mooring),
            request: request(PATH, &review(&scene.name, &pod)).into(),
            mooring,
        }
    }

    /// Sends one review over a new connection. Returns the time from the connect to the answer.
    pub async fn measure(&self) -> Duration {
        let begun = Instant::now();
        let stream = self.client.connect().await;
        let mut stream = stream.expect("the webhook accepts connections");
        let answer = ask(&mut stream, &self.request).await;
        let took = begun.elapsed();
        let answer = answer.unwrap_or_else(|error| panic!("{error} after {took:?}"));
        assert!(answer.contains("\"allowed\":true"), "{answer}");
        took
    }

    /// The 99th percentile of the latency of reviews.
    pub async fn p99(&self, load: &Load) -> Duration {
        let reviews = load.reviews;
        let mut due = tokio::time::interval(load.pause);
        let (mut running, mut times) = (FuturesUnordered::new(), Vec::new());
        let mut begun = 0;
        while times.len() < reviews {
            tokio::select! {
                _ = due.tick(), if begun < reviews => {
                    begun += 1;
                    running.push(self.measure());
                }
                Some(time) = running.next() => times.push(time),
            }
        }
        times.sort_unstable();
        times[reviews * 99 / 100]
    }

    /// Connects from a different source address than the measured clients.
    async fn connect_as_other(&self) -> std::io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from(([127, 0, 0, 2], 0)))?;
        socket.connect(self.client.address).await
    }

    /// Opens connections that send nothing.
    pub async fn open_idle(&self, count: usize) -> VecDeque<TcpStream> {
        let mut open = VecDeque::new();
        for number in 0..count {
            let stream = self.connect_as_other().await;
            open.push_back(stream.unwrap_or_else(|error| panic!("connection {number}: {error}")));
        }
        open
    }

    /// Keeps idle connections open, and replaces old ones: the webhook closes a connection without a handshake
    /// after 5 s.
    pub async fn keep_idle(&self, mut open: VecDeque<TcpStream>) {
        let mut due = paced(Duration::from_millis(5));
        loop {
            due.tick().await;
            if let Ok(another) = self.connect_as_other().await {
                open.pop_front();
                open.push_back(another);
            }
        }
    }

    /// Sends requests that begin with this text and never end.
    pub async fn send_slowly(&self, beginning: &str) {
        loop {
            let connected = async { self.client.handshake(self.connect_as_other().await?).await };
            if let Ok(mut stream) = connected.await {
                let mut sent = stream.write_all(beginning.as_bytes()).await;
                while sent.is_ok() {
                    tokio::time::sleep(SLOW).await;
                    sent = stream.write_all(b"x").await;
                }
            }
            tokio::time::sleep(SLOW).await;
        }
    }

    /// Sends a request, and reads until the connection is closed. The answer does not matter.
    pub async fn send(&self, request: &str) {
        let stream = self.connect_as_other().await.unwrap();
        let Ok(mut stream) = self.client.handshake(stream).await else {
            return;
        };
        // The webhook can close the connection before it has read all.
        let _ = stream.write_all(request.as_bytes()).await;
        let _ = stream.flush().await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }

    /// Sends bytes that are not TLS.
    pub async fn send_malformed(&self, every: Duration) {
        let mut due = paced(every);
        loop {
            due.tick().await;
            if let Ok(mut stream) = self.connect_as_other().await {
                // The webhook can close the connection before it has read all.
                let _ = stream.write_all(&[0x16; 512]).await;
            }
        }
    }

    /// Sends reviews of pods that have a Node and ask for an IP that does not exist, a different one each time. Each
    /// review is small and valid, and causes the webhook to read from the API server. Counts the answers.
    pub async fn ask_for_missing_ips(&self, nth: usize, answered: Arc<AtomicUsize>) {
        for number in 0.. {
            let address = format!("10.{}.{}.{}", 150 + nth, number / 250 % 250, number % 250);
            let pod = json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "web", "annotations": {"ip.wgtwo.com/ip": address}},
                "spec": {"nodeName": format!("node-{nth}-{number}"), "containers": []}});
            self.send(&last_request(PATH, &review("default", &pod)))
                .await;
            answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// An interval without a burst after missed ticks.
fn paced(every: Duration) -> Interval {
    let mut due = tokio::time::interval(every);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    due
}
