//! The two servers, and the comparison.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use mooring_cluster::{Cluster, ClusterOptions, http_post, run};
use mooring_simulation::api_server::ApiServer;
use serde_json::json;
use tokio::sync::OnceCell;

use crate::talk::Talk;

/// One of the two.
pub enum Server {
    /// kube-apiserver, with etcd at this URL.
    Real(String),
    /// The simulation's.
    Fake(ApiServer),
}

impl Server {
    /// Forgets what was before a version, which is the newest.
    pub async fn compact(&self, version: &str) {
        match self {
            Self::Real(etcd) => {
                let body = json!({"revision": version}).to_string();
                let url = format!("{etcd}/v3/kv/compaction");
                let answer = http_post(&url, "application/json", body).await.unwrap();
                // Another conversation may have been there before.
                let done = answer.code == 200 || answer.body.contains("has been compacted");
                assert!(done, "{}: {}", answer.code, answer.body);
            }
            Self::Fake(server) => server.compact(),
        }
    }
}

/// A cluster in which only the API server acts: what a controller does would be visible in the
/// conversation.
async fn cluster() -> &'static Cluster {
    static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();
    CLUSTER
        .get_or_init(|| async {
            let options = ClusterOptions {
                // An earlier version comes from etcd, which forgets it when told to.
                api_server_flags: vec!["--feature-gates=ListFromCacheSnapshot=false".to_owned()],
                ..ClusterOptions::default()
            };
            let cluster = Cluster::start(options).await;
            for name in ["kube-controller-manager", "kube-scheduler", "kwok"] {
                cluster.process(name).signal("STOP");
            }
            cluster
        })
        .await
}

/// A client that asks once.
async fn client(cluster: &Cluster) -> Client {
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.unwrap();
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

/// Where etcd listens, from how it was started.
fn etcd(cluster: &Cluster) -> String {
    let path = format!("/proc/{}/cmdline", cluster.process("etcd").pid());
    let started = std::fs::read_to_string(path).unwrap();
    let flag = "--listen-client-urls=";
    let url = started
        .split('\0')
        .find_map(|argument| argument.strip_prefix(flag));
    url.expect("etcd has an address to listen on").to_owned()
}

/// Has the conversation with both, and compares what was said.
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
