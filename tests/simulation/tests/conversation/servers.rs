//! The two servers, and the comparison.

use std::time::Duration;

use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use mooring_cluster::{Cluster, ClusterOptions, eventually, http_post, run};
use mooring_simulation::api_server::ApiServer;
use serde_json::json;
use tokio::sync::OnceCell;

use crate::objects::{BLOCKS, IPS, LEASES, NODES, PODS, RESERVATIONS, SETS};
use crate::talk::Talk;

/// One of the two servers.
pub enum Server {
    /// kube-apiserver, with etcd at this URL.
    Real(String),
    /// The API server of the simulation.
    Fake(ApiServer),
}

impl Server {
    /// Compacts the history before this version, which is the newest.
    pub async fn compact(&self, version: &str) {
        match self {
            Self::Real(etcd) => {
                let body = json!({"revision": version}).to_string();
                let url = format!("{etcd}/v3/kv/compaction");
                let answer = http_post(&url, "application/json", body).await.unwrap();
                // An earlier conversation may have left objects.
                let done = answer.code == 200 || answer.body.contains("has been compacted");
                assert!(done, "{}: {}", answer.code, answer.body);
            }
            Self::Fake(server) => server.compact(),
        }
    }
}

/// A cluster whose controllers are stopped: their changes would be visible in the conversation.
async fn cluster() -> &'static Cluster {
    static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();
    CLUSTER
        .get_or_init(|| async {
            let options = ClusterOptions {
                // Serve earlier versions from etcd, which drops them after a compaction, instead of from a cache.
                api_server_flags: vec!["--feature-gates=ListFromCacheSnapshot=false".to_owned()],
                ..ClusterOptions::default()
            };
            let cluster = Cluster::start(options).await;
            for name in ["kube-controller-manager", "kube-scheduler", "kwok"] {
                cluster.process(name).signal("STOP");
            }
            watches_are_served(&client(&cluster).await).await;
            cluster
        })
        .await
}

/// Waits until every kind can be watched from each later version. kube-apiserver fills the cache of a kind when it is
/// first used, and refuses a watch from a version before the cache: with 429 until it is filled, and with 410 from then on.
async fn watches_are_served(client: &Client) {
    for path in [IPS, BLOCKS, NODES, PODS, LEASES, RESERVATIONS, SETS] {
        let watch = format!("{path}?watch=true&resourceVersion=0&timeoutSeconds=1");
        let sentence = format!("{path} can be watched");
        eventually(&sentence, Duration::from_mins(1), || async {
            let request = http::Request::get(&watch).body(Body::empty()).unwrap();
            let code = client.send(request).await.unwrap().status().as_u16();
            if code == 200 { Ok(()) } else { Err(code) }
        })
        .await;
    }
}

/// A client without retries.
async fn client(cluster: &Cluster) -> Client {
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.unwrap();
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

/// The URL of etcd, from its command line.
fn etcd(cluster: &Cluster) -> String {
    let path = format!("/proc/{}/cmdline", cluster.process("etcd").pid());
    let started = std::fs::read_to_string(path).unwrap();
    let flag = "--listen-client-urls=";
    let url = started
        .split('\0')
        .find_map(|argument| argument.strip_prefix(flag));
    url.expect("etcd has an address to listen on").to_owned()
}

/// Runs the conversation with both servers, and compares the transcripts.
pub fn both_give_the_same_answers(script: &impl AsyncFn(&mut Talk)) {
    let real = run(async {
        let cluster = cluster().await;
        let mut talk = Talk::new(client(cluster).await, Server::Real(etcd(cluster)));
        script(&mut talk).await;
        talk.transcript()
    });
    let fake = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(async {
            let server = ApiServer::new();
            let mut talk = Talk::new(server.client("admin"), Server::Fake(server));
            script(&mut talk).await;
            talk.transcript()
        });
    assert!(!real.is_empty(), "nothing was said");
    let differences: Vec<String> = real
        .iter()
        .zip(&fake)
        .filter(|(real, fake)| real != fake)
        .map(|(real, fake)| format!("real: {real}\nfake: {fake}\n"))
        .collect();
    assert!(
        differences.is_empty(),
        "the two servers differ:\n{}",
        differences.join("\n")
    );
    assert_eq!(real.len(), fake.len());
}
