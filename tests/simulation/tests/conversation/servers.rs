//! The two servers, and the comparison.

use std::time::Duration;

use futures::future::join_all;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use mooring_cluster::{Cluster, ClusterOptions, eventually, http_post, run};
use mooring_simulation::api_server::ApiServer;
use serde_json::{Value, json};
use tokio::sync::{OnceCell, RwLock};

use crate::objects::{IPS, LEASES, NODES, PODS, RESERVATIONS, ip, lease, node, pod, reservation};
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
            changes_are_served(&client(&cluster).await).await;
            cluster
        })
        .await
}

/// Waits until the changes of each kind that a conversation watches are served. kube-apiserver fills the cache of a kind
/// when it is first used, and refuses a watch from a version before the cache: with 429 until it is filled, and with 410
/// from then on.
async fn changes_are_served(client: &Client) {
    let made = [
        (IPS, ip("first")),
        (NODES, node("first")),
        (PODS, pod("first")),
        (LEASES, lease("first", "a")),
        (RESERVATIONS, reservation("203.0.113.1")),
    ];
    let served = made.iter().map(async |(path, object)| {
        let sentence = format!("a change of {path} is served");
        let look = || change_is_served(client, path, object);
        eventually(&sentence, Duration::from_mins(1), look).await;
    });
    join_all(served).await;
}

/// Creates an object and deletes it. `Err`: what a watch from in between says, if it does not show the deletion.
async fn change_is_served(client: &Client, path: &str, object: &Value) -> Result<(), String> {
    let shown = |error: kube::Error| error.to_string();
    let body = serde_json::to_vec(object).unwrap();
    let create = http::Request::post(path).header("content-type", "application/json");
    let made: Value = client
        .request(create.body(body).unwrap())
        .await
        .map_err(shown)?;
    let (name, version) = (
        &made["metadata"]["name"],
        &made["metadata"]["resourceVersion"],
    );
    let place = format!("{path}/{}", name.as_str().unwrap());
    let delete = http::Request::delete(place).body(Vec::new()).unwrap();
    client.request::<Value>(delete).await.map_err(shown)?;
    let since = version.as_str().unwrap();
    let watch = format!("{path}?watch=true&resourceVersion={since}&timeoutSeconds=1");
    let watch = http::Request::get(watch).body(Vec::new()).unwrap();
    let events = client.request_text(watch).await.map_err(shown)?;
    let deleted = events.contains(r#""type":"DELETED""#);
    if deleted { Ok(()) } else { Err(events) }
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

/// A compaction concerns every kind: a conversation with one runs alone.
static COMPACTION: RwLock<()> = RwLock::const_new(());

/// Runs the conversation with both servers, and compares the transcripts.
pub fn both_give_the_same_answers(script: &impl AsyncFn(&mut Talk)) {
    let real = run(async {
        let _without_compaction = COMPACTION.read().await;
        with_the_real_one(script).await
    });
    compare(&real, script);
}

/// As [`both_give_the_same_answers`], with a script that compacts the history.
pub fn both_give_the_same_answers_after_a_compaction(script: &impl AsyncFn(&mut Talk)) {
    let real = run(async {
        let _alone = COMPACTION.write().await;
        with_the_real_one(script).await
    });
    compare(&real, script);
}

async fn with_the_real_one(script: &impl AsyncFn(&mut Talk)) -> Vec<String> {
    let cluster = cluster().await;
    let mut talk = Talk::new(client(cluster).await, Server::Real(etcd(cluster)));
    script(&mut talk).await;
    talk.transcript()
}

fn compare(real: &[String], script: &impl AsyncFn(&mut Talk)) {
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
