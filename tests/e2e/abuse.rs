//! Whoever only wants to be in the way takes nothing from honest callers of the webhook.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use mooring_cluster::Mooring;

use crate::harness::scene::Scene;

scenes![
    alone a_crowd_that_sits_there_dawdles_or_talks_nonsense_takes_nothing_from_who_asks,
    alone small_reviews_that_cause_reads_take_nothing_from_who_asks_nor_from_the_controller,
    alone reviews_made_to_swell_when_they_are_read_take_less_memory_than_a_pod_of_mooring_has,
];

/// `config/default` gives it 256 MiB.
const MEMORY: usize = 256 << 20;

/// A client that dawdles says one byte so often.
const DAWDLE: Duration = Duration::from_millis(500);

/// How much is played: `make verify` plays all of it on a machine of its own, and says how long honest callers
/// waited. Among other scenes the crowd is just large enough to want every seat.
#[derive(Clone, Copy)]
struct Size {
    reviews: usize,
    /// An honest caller asks so often; 10 ms is an API server that creates 100 pods a second.
    pause: Duration,
    idle: usize,
    dawdling: usize,
    nonsense_every: Duration,
    /// So many ask for what is not there, one review after the other.
    asking: usize,
    timed: bool,
}

impl Size {
    fn asked() -> Self {
        if std::env::var_os("MOORING_ABUSE").is_some() {
            return Self {
                reviews: 3000,
                pause: Duration::from_millis(10),
                idle: 10_000,
                dawdling: 200,
                nonsense_every: Duration::from_millis(4),
                asking: 64,
                timed: true,
            };
        }
        Self {
            reviews: 100,
            pause: Duration::from_millis(100),
            idle: 1500,
            dawdling: 20,
            nonsense_every: Duration::from_millis(50),
            asking: 8,
            timed: false,
        }
    }
}

/// Where the webhook is, and whom a caller believes.
#[derive(Clone)]
struct Door {
    address: SocketAddr,
    tls: TlsConnector,
    request: Arc<str>,
    mooring: Arc<Mooring>,
}

/// A review of a pod "web" that is to be created.
fn review(namespace: &str, pod: &Value) -> String {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "1", "operation": "CREATE", "namespace": namespace, "name": "web",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "userInfo": {"username": "somebody"}, "object": pod,
    }})
    .to_string()
}

/// As the API server sends it.
fn posted(review: &str) -> String {
    format!(
        "POST /mutate/pod HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{review}",
        review.len()
    )
}

/// As of a client that wants one answer: the webhook closes the connection after it.
fn posted_once(review: &str) -> String {
    posted(review).replace("\r\nHost", "\r\nConnection: close\r\nHost")
}

impl Door {
    async fn of(scene: &Scene) -> Self {
        let mooring = scene.mooring().await;
        scene.block().await;
        let ip = scene.ip("web", 10).await;
        let pod = scene.pod_asking("web", &ip.name, &json!({}));
        let review = review(&scene.name, &pod);
        // A container may have so few files open as this, wherever the tests run.
        allow_files(mooring.process().pid(), "1024:1024");
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
            request: posted(&review).into(),
            mooring,
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
        stream.flush().await.unwrap();
        let mut answer = Vec::new();
        while !is_whole(&answer) {
            let read = stream.read_buf(&mut answer).await;
            let text = String::from_utf8_lossy(&answer);
            assert!(
                matches!(read, Ok(1..)),
                "{read:?} after {:?}: {text}",
                begun.elapsed()
            );
        }
        let took = begun.elapsed();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains("\"allowed\":true"), "{answer}");
        took
    }

    /// So many honest reviews; the time that 99 of 100 were answered in.
    async fn p99(&self, size: &Size) -> Duration {
        let reviews = size.reviews;
        let mut due = tokio::time::interval(size.pause);
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

    /// Connections that say nothing, all at once.
    async fn gather(&self, count: usize) -> VecDeque<TcpStream> {
        let mut open = VecDeque::new();
        for number in 0..count {
            let come = self.come().await;
            open.push_back(come.unwrap_or_else(|error| panic!("the crowd's {number}: {error}")));
        }
        open
    }

    /// They sit there, and are joined by others: the webhook closes those that do not come to a handshake (5 s).
    async fn sit(&self, mut open: VecDeque<TcpStream>) {
        let mut due = paced(Duration::from_millis(5));
        loop {
            due.tick().await;
            if let Ok(another) = self.come().await {
                open.pop_front();
                open.push_back(another);
            }
        }
    }

    /// Something that begins like a request and never ends.
    async fn dawdle(&self, beginning: &str) {
        loop {
            let connected = async { self.connect(self.come().await?).await };
            if let Ok(mut stream) = connected.await {
                let mut said = stream.write_all(beginning.as_bytes()).await;
                while said.is_ok() {
                    tokio::time::sleep(DAWDLE).await;
                    said = stream.write_all(b"x").await;
                }
            }
            tokio::time::sleep(DAWDLE).await;
        }
    }

    /// A request of somebody who does not care what is answered, as long as something is.
    async fn burden(&self, request: &str) {
        let Ok(mut stream) = self.connect(self.come().await.unwrap()).await else {
            return;
        };
        // It may be turned away in the middle.
        let _ = stream.write_all(request.as_bytes()).await;
        // What is still on this side of TLS is not sent by a read.
        let _ = stream.flush().await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }

    /// What is no TLS.
    async fn talk_nonsense(&self, every: Duration) {
        let mut due = paced(every);
        loop {
            due.tick().await;
            if let Ok(mut stream) = self.come().await {
                // It may be closed before all of it is said.
                let _ = stream.write_all(&[0x16; 512]).await;
            }
        }
    }
    /// Reviews of pods that are bound to Nodes and ask for addresses that are not there, each another: small, valid,
    /// and each looked for at the API server. How many were answered is counted.
    async fn ask_for_nothing(&self, nth: usize, answered: Arc<AtomicUsize>) {
        for number in 0.. {
            let address = format!("10.{}.{}.{}", 150 + nth, number / 250 % 250, number % 250);
            let pod = json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "web", "annotations": {"ip.wgtwo.com/ip": address}},
                "spec": {"nodeName": format!("node-{nth}-{number}"), "containers": []}});
            let request = posted_once(&review("default", &pod));
            self.burden(&request).await;
            answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// How many files a process may have open, wherever the tests run.
fn allow_files(process: u32, limit: &str) {
    let (process, limit) = (process.to_string(), format!("--nofile={limit}"));
    let told = std::process::Command::new("prlimit")
        .args(["--pid", &process, &limit])
        .status();
    assert!(told.expect("prlimit can be run").success());
}

/// How many files this process may have open at most: where it begins with few, it may have more.
fn most_files() -> String {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("Linux tells");
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let hard = line.expect("it is limited").split_whitespace().nth(4);
    format!("{}:", hard.expect("proc(5): soft limit, hard limit, unit"))
}

/// The most memory that it ever had, in bytes (proc(5), `VmHWM`).
fn most_memory(mooring: &Mooring) -> usize {
    let status = format!("/proc/{}/status", mooring.process().pid());
    let status = std::fs::read_to_string(status).expect("Mooring runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line
        .expect("Linux counts it")
        .trim()
        .trim_end_matches(" kB");
    kilobytes.parse::<usize>().expect("a number") << 10
}

/// A crowd that was held up does not hurry afterwards.
fn paced(every: Duration) -> Interval {
    let mut due = tokio::time::interval(every);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    due
}

/// Is this an answer with all of its body?
fn is_whole(answer: &[u8]) -> bool {
    let answer = String::from_utf8_lossy(answer).to_lowercase();
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    length.is_some_and(|length| length.trim().parse() == Ok(body.len()))
}

async fn a_crowd_that_sits_there_dawdles_or_talks_nonsense_takes_nothing_from_who_asks(
    scene: &Scene,
) {
    let size = Size::asked();
    let door = Door::of(scene).await;
    let quiet = door.p99(&size).await;
    // In tasks of their own: honest callers are not kept waiting by this side of the door.
    let mut crowd = JoinSet::new();
    let (sitting, talking) = (door.clone(), door.clone());
    allow_files(std::process::id(), &most_files());
    let open = door.gather(size.idle).await;
    crowd.spawn(async move { sitting.sit(open).await });
    crowd.spawn(async move { talking.talk_nonsense(size.nonsense_every).await });
    for nth in 0..size.dawdling {
        let dawdling = door.clone();
        let head = "POST /mutate/pod HTTP/1.1\r\nX-Patience: ";
        let body = "POST /mutate/pod HTTP/1.1\r\nHost: webhook\r\nContent-Length: 999\r\n\r\n{";
        let beginning = if nth % 2 == 0 { head } else { body };
        crowd.spawn(async move { dawdling.dawdle(beginning).await });
    }
    let loud = door.p99(&size).await;
    crowd.shutdown().await;
    println!(
        "verified: {} honest reviews answered among {} idle connections, {} slow ones and {} of nonsense a second: \
         p99 {:.1} ms, {:.1} ms when it is quiet",
        size.reviews,
        size.idle,
        size.dawdling,
        1000 / size.nonsense_every.as_millis(),
        loud.as_secs_f64() * 1e3,
        quiet.as_secs_f64() * 1e3
    );
    assert!(
        !size.timed || loud <= 3 * quiet,
        "more than three times as long"
    );
}

async fn small_reviews_that_cause_reads_take_nothing_from_who_asks_nor_from_the_controller(
    scene: &Scene,
) {
    let size = Size::asked();
    let door = Door::of(scene).await;
    let quiet = door.p99(&size).await;
    let mut crowd = JoinSet::new();
    let answered = Arc::<AtomicUsize>::default();
    for nth in 0..size.asking {
        let (asking, answered) = (door.clone(), Arc::clone(&answered));
        crowd.spawn(async move { asking.ask_for_nothing(nth, answered).await });
    }
    let begun = Instant::now();
    // Each is granted: `ask` says so.
    let loud = door.p99(&size).await;
    scene.node("a").await;
    let ip = scene.ip("meanwhile", 11).await;
    scene.pod("meanwhile", &ip).await;
    scene.expect_attached(&ip, "meanwhile").await;
    let others = answered.load(Ordering::Relaxed);
    let seconds = begun.elapsed().as_secs_f64();
    crowd.shutdown().await;
    assert!(others > size.asking, "{others} were answered");
    println!(
        "verified: {} honest reviews granted and an address attached among {} who ask for what is not there ({:.0} \
         reviews a second): p99 {:.1} ms, {:.1} ms when it is quiet",
        size.reviews,
        size.asking,
        f64::from(u32::try_from(others).unwrap_or(u32::MAX)) / seconds,
        loud.as_secs_f64() * 1e3,
        quiet.as_secs_f64() * 1e3
    );
}

async fn reviews_made_to_swell_when_they_are_read_take_less_memory_than_a_pod_of_mooring_has(
    scene: &Scene,
) {
    let door = Door::of(scene).await;
    let before = most_memory(&door.mooring);
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
        let request = posted_once(review);
        let crowd = (0..64).map(|_| door.burden(&request));
        futures::future::join_all(crowd).await;
        // Whatever it was told, it lives, and answers.
        door.ask().await;
    }
    let most = most_memory(&door.mooring);
    println!(
        "verified: 64 reviews at a time, made to swell, take {} MiB besides the {} MiB of a Mooring at work",
        (most - before) >> 20,
        before >> 20
    );
    assert!(most < MEMORY, "{most} bytes");
}
