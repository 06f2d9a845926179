//! Clients that misuse the webhook do not slow other reviews, and do not exhaust its memory.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior};

use mooring_cluster::Mooring;

use crate::harness::scene::Scene;
use crate::harness::webhook_client::{WebhookClient, ask, last_request, request, review};

scenes![
    alone idle_slow_and_malformed_connections_do_not_slow_reviews,
    alone reviews_that_cause_reads_slow_neither_other_reviews_nor_the_controller,
    alone reviews_that_grow_when_parsed_stay_below_the_memory_limit,
];

/// The memory limit in `config/default`: 256 MiB.
const MEMORY_LIMIT: usize = 256 << 20;

/// A slow client sends one byte in each such interval.
const SLOW: Duration = Duration::from_millis(500);

const PATH: &str = "/mutate/pod";

/// The size of the load. `make verify` runs the full load on a separate machine and compares latencies. In a run with
/// other scenes, the load is just large enough to use all connections that the webhook allows.
#[derive(Clone, Copy)]
struct Load {
    reviews: usize,
    /// The time between two reviews. 10 ms corresponds to 100 created pods per second.
    pause: Duration,
    idle: usize,
    slow: usize,
    /// The time between two connections that send no TLS.
    malformed_every: Duration,
    /// The number of clients that ask for IPs that do not exist, one review after the other.
    asking: usize,
    timed: bool,
}

impl Load {
    fn from_environment() -> Self {
        if std::env::var_os("MOORING_ABUSE").is_some() {
            return Self {
                reviews: 3000,
                pause: Duration::from_millis(10),
                idle: 10_000,
                slow: 200,
                malformed_every: Duration::from_millis(4),
                asking: 64,
                timed: true,
            };
        }
        Self {
            reviews: 100,
            pause: Duration::from_millis(100),
            idle: 1500,
            slow: 20,
            malformed_every: Duration::from_millis(50),
            asking: 8,
            timed: false,
        }
    }
}

/// A webhook under load.
#[derive(Clone)]
struct Target {
    client: WebhookClient,
    /// A review that is allowed.
    request: Arc<str>,
    mooring: Arc<Mooring>,
}

impl Target {
    async fn start(scene: &Scene) -> Self {
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
    async fn measure(&self) -> Duration {
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
    async fn p99(&self, load: &Load) -> Duration {
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
    async fn open_idle(&self, count: usize) -> VecDeque<TcpStream> {
        let mut open = VecDeque::new();
        for number in 0..count {
            let stream = self.connect_as_other().await;
            open.push_back(stream.unwrap_or_else(|error| panic!("connection {number}: {error}")));
        }
        open
    }

    /// Keeps idle connections open, and replaces old ones: the webhook closes a connection without a handshake
    /// after 5 s.
    async fn keep_idle(&self, mut open: VecDeque<TcpStream>) {
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
    async fn send_slowly(&self, beginning: &str) {
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
    async fn send(&self, request: &str) {
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
    async fn send_malformed(&self, every: Duration) {
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
    async fn ask_for_missing_ips(&self, nth: usize, answered: Arc<AtomicUsize>) {
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

/// Limits the number of open files of a process.
fn limit_open_files(process: u32, limit: &str) {
    let (process, limit) = (process.to_string(), format!("--nofile={limit}"));
    let ended = std::process::Command::new("prlimit")
        .args(["--pid", &process, &limit])
        .status();
    assert!(ended.expect("prlimit can be run").success());
}

/// The argument for prlimit that raises the soft limit of open files of this process to its hard limit.
fn most_open_files() -> String {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("proc(5)");
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let hard = line.expect("a limit").split_whitespace().nth(4);
    format!("{}:", hard.expect("proc(5): soft limit, hard limit, unit"))
}

/// The peak of the resident memory, in bytes (proc(5), `VmHWM`).
fn peak_memory(mooring: &Mooring) -> usize {
    let status = format!("/proc/{}/status", mooring.process().pid());
    let status = std::fs::read_to_string(status).expect("Mooring runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.expect("proc(5)").trim().trim_end_matches(" kB");
    kilobytes.parse::<usize>().expect("a number") << 10
}

/// An interval without a burst after missed ticks.
fn paced(every: Duration) -> Interval {
    let mut due = tokio::time::interval(every);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    due
}

async fn idle_slow_and_malformed_connections_do_not_slow_reviews(scene: &Scene) {
    let load = Load::from_environment();
    let target = Target::start(scene).await;
    let alone = target.p99(&load).await;
    // In separate tasks, so that they do not delay the measured reviews in the test process.
    let mut others = JoinSet::new();
    let (idle, malformed) = (target.clone(), target.clone());
    limit_open_files(std::process::id(), &most_open_files());
    let open = target.open_idle(load.idle).await;
    others.spawn(async move { idle.keep_idle(open).await });
    others.spawn(async move { malformed.send_malformed(load.malformed_every).await });
    for nth in 0..load.slow {
        let slow = target.clone();
        let head = "POST /mutate/pod HTTP/1.1\r\nX-Slow: ";
        let body = "POST /mutate/pod HTTP/1.1\r\nHost: webhook\r\nContent-Length: 999\r\n\r\n{";
        let beginning = if nth % 2 == 0 { head } else { body };
        others.spawn(async move { slow.send_slowly(beginning).await });
    }
    let loaded = target.p99(&load).await;
    others.shutdown().await;
    println!(
        "verified: {} reviews answered beside {} idle connections, {} slow ones and {} malformed ones a second: \
         p99 {:.1} ms, {:.1} ms without them",
        load.reviews,
        load.idle,
        load.slow,
        1000 / load.malformed_every.as_millis(),
        loaded.as_secs_f64() * 1e3,
        alone.as_secs_f64() * 1e3
    );
    assert!(
        !load.timed || loaded <= 3 * alone,
        "more than three times as long"
    );
}

async fn reviews_that_cause_reads_slow_neither_other_reviews_nor_the_controller(scene: &Scene) {
    let load = Load::from_environment();
    let target = Target::start(scene).await;
    let alone = target.p99(&load).await;
    let mut others = JoinSet::new();
    let answered = Arc::<AtomicUsize>::default();
    for nth in 0..load.asking {
        let (asking, answered) = (target.clone(), Arc::clone(&answered));
        others.spawn(async move { asking.ask_for_missing_ips(nth, answered).await });
    }
    let begun = Instant::now();
    // `measure` asserts that each is allowed.
    let loaded = target.p99(&load).await;
    scene.node("a").await;
    let ip = scene.ip("meanwhile", 11).await;
    scene.pod("meanwhile", &ip).await;
    scene.expect_attached(&ip, "meanwhile").await;
    let count = answered.load(Ordering::Relaxed);
    let seconds = begun.elapsed().as_secs_f64();
    others.shutdown().await;
    assert!(count > load.asking, "{count} were answered");
    println!(
        "verified: {} reviews allowed and an address attached beside {} clients that ask for IPs that do not exist \
         ({:.0} reviews a second): p99 {:.1} ms, {:.1} ms without them",
        load.reviews,
        load.asking,
        f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / seconds,
        loaded.as_secs_f64() * 1e3,
        alone.as_secs_f64() * 1e3
    );
}

async fn reviews_that_grow_when_parsed_stay_below_the_memory_limit(scene: &Scene) {
    let target = Target::start(scene).await;
    let before = peak_memory(&target.mooring);
    let largest = 3 << 20;
    let pod = |spec: &str| {
        format!(
            r#"{{"request":{{"uid":"1","operation":"CREATE","object":{{"apiVersion":"v1","kind":"Pod","spec":{spec}}}}}}}"#
        )
    };
    let full_of =
        |item: &str, count: usize| format!("[{}{item}]", format!("{item},").repeat(count));
    let reviews = [
        full_of(r#"{"":0}"#, largest / 7 - 2),
        pod(&format!(
            r#"{{"volumes":{}}}"#,
            full_of("{}", largest / 3 - 60)
        )),
        pod(&format!(r#"{{"volumes":{}}}"#, full_of("{}", 9_000))),
        pod(&format!(r#"{{"tolerations":{}}}"#, full_of("{}", 9_000))),
    ];
    for review in &reviews {
        assert!(review.len() <= largest, "{}", review.len());
        let request = last_request(PATH, review);
        let requests = (0..64).map(|_| target.send(&request));
        futures::future::join_all(requests).await;
        // The webhook still answers.
        target.measure().await;
    }
    let peak = peak_memory(&target.mooring);
    println!(
        "verified: 64 reviews at a time that grow when parsed take {} MiB above the {} MiB of a Mooring at work",
        (peak - before) >> 20,
        before >> 20
    );
    assert!(peak < MEMORY_LIMIT, "{peak} bytes");
}
