//! toxiproxy: a network that can fail. It works on bytes; [`Proxy`](crate::Proxy) works on requests.
//!
//! ```no_run
//! # use mooring_cluster::{Cluster, Mooring, MooringOptions, Toxic, Toxiproxy};
//! # async fn scene(cluster: Cluster) {
//! let network = Toxiproxy::start(&cluster).await;
//! let options = MooringOptions {
//!     api_server: Some(network.to_api_server(&cluster).await),
//!     ..MooringOptions::default()
//! };
//! let mooring = Mooring::start(&cluster, options).await;
//! network.poison(Toxiproxy::API_SERVER, Toxic::BlackHole).await; // connections stay, without answers
//! network.heal(Toxiproxy::API_SERVER).await;
//! # }
//! ```

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::http::{http_get, http_send};
use crate::paths::control_plane_binary;
use crate::ports::free_port;
use crate::process::Process;

/// A network fault while a link is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toxic {
    /// No data passes in either direction, and no connection ends: each is half-open.
    BlackHole,
    /// Every connection is reset, old and new.
    Reset,
    /// All data is delayed by this time.
    Latency(Duration),
}

/// A running toxiproxy with its links. It ends when this is dropped.
#[derive(Debug)]
pub struct Toxiproxy {
    process: Process,
    control_url: String,
}

impl Toxiproxy {
    /// The link that [`Toxiproxy::to_api_server`] makes.
    pub const API_SERVER: &str = "api-server";
    /// The link that [`Toxiproxy::to_ec2`] makes.
    pub const EC2: &str = "ec2";

    /// Starts a proxy without links.
    ///
    /// # Panics
    /// If it does not answer within 10 s. The message contains its log.
    pub async fn start(cluster: &Cluster) -> Self {
        let port = free_port();
        let process = Process::start(
            &format!("toxiproxy-{}", cluster.next_number()),
            &control_plane_binary("tools", "server"),
            &["-host=127.0.0.1".to_owned(), format!("-port={port}")],
            // Otherwise it logs several lines for every connection.
            &[("LOG_LEVEL".to_owned(), "info".to_owned())],
            &cluster.folder().join("logs"),
        );
        let control_url = format!("http://127.0.0.1:{port}");
        let begin = Instant::now();
        while http_get(&format!("{control_url}/version")).await.is_err() {
            process.assert_runs();
            assert!(
                begin.elapsed() < Duration::from_secs(10),
                "toxiproxy does not answer:\n{}",
                process.log()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Self {
            process,
            control_url,
        }
    }

    /// Makes a link to the API server of this cluster, which forwards TLS. Returns its URL, for
    /// [`MooringOptions::api_server`].
    ///
    /// [`MooringOptions::api_server`]: crate::MooringOptions::api_server
    pub async fn to_api_server(&self, cluster: &Cluster) -> String {
        let listen = self.link(Self::API_SERVER, authority(cluster.url())).await;
        format!("https://{listen}")
    }

    /// Makes a link to the EC2 of this cluster. Returns its URL, for `AWS_ENDPOINT_URL_EC2`.
    pub async fn to_ec2(&self, cluster: &Cluster) -> String {
        let endpoint = authority(cluster.ec2().endpoint());
        format!("http://{}", self.link(Self::EC2, endpoint).await)
    }

    async fn link(&self, name: &str, upstream: &str) -> String {
        let listen = format!("127.0.0.1:{}", free_port());
        let link = json!({"name": name, "listen": listen, "upstream": upstream, "enabled": true});
        self.ask("POST", "/proxies", &link).await;
        listen
    }

    /// Makes a link fail in this way, for present and new connections.
    pub async fn poison(&self, link: &str, toxic: Toxic) {
        let (kind, attributes) = match toxic {
            Toxic::BlackHole => ("timeout", json!({"timeout": 0})),
            Toxic::Reset => ("reset_peer", json!({"timeout": 0})),
            Toxic::Latency(time) => (
                "latency",
                json!({"latency": u64::try_from(time.as_millis()).unwrap_or(u64::MAX)}),
            ),
        };
        for stream in ["upstream", "downstream"] {
            let toxic = json!({"name": format!("{kind}-{stream}"), "type": kind, "stream": stream,
                "toxicity": 1.0, "attributes": attributes});
            self.ask("POST", &format!("/proxies/{link}/toxics"), &toxic)
                .await;
        }
    }

    /// Takes a link down: its connections end, and new ones are refused.
    pub async fn cut(&self, link: &str) {
        self.enable(link, false).await;
    }

    /// Repairs a link. Connections that were in a black hole end.
    pub async fn heal(&self, link: &str) {
        let path = format!("/proxies/{link}/toxics");
        let toxics = self.ask("GET", &path, &Value::Null).await;
        for toxic in toxics.as_array().into_iter().flatten() {
            let name = toxic["name"].as_str().unwrap_or_default();
            self.ask("DELETE", &format!("{path}/{name}"), &Value::Null)
                .await;
        }
        self.enable(link, true).await;
    }

    async fn enable(&self, link: &str, enabled: bool) {
        let change = json!({"enabled": enabled});
        self.ask("POST", &format!("/proxies/{link}"), &change).await;
    }

    async fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.control_url);
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = http_send(method, &url, "application/json", text).await;
        self.process.assert_runs();
        let answer = answer.unwrap_or_else(|error| panic!("toxiproxy: {error}"));
        assert!(
            answer.code < 300,
            "toxiproxy: {method} {path} {body}: {}",
            answer.body
        );
        serde_json::from_str(&answer.body).unwrap_or_default()
    }
}

/// `host:port` of a URL.
fn authority(url: &str) -> &str {
    let (_, rest) = url.split_once("://").expect("a URL has a scheme");
    rest.trim_end_matches('/')
}
