//! A proxy in front of the API server that parses requests: it records every write, and can make a chosen one fail in
//! the same way as a network fault or a crash.
//!
//! ```no_run
//! # use mooring_cluster::{Cluster, Proxy, Rule};
//! # async fn scene(cluster: Cluster) {
//! let proxy = Proxy::start(&cluster).await;
//! let rule = proxy.order(Rule::hold_before(|write| write.resource == "ips" && write.subresource == "status"));
//! // ... until `proxy.struck(rule)` is there: it has come, and is not carried out.
//! proxy.drop_held(rule); // nor is it ever; or `release`: it is, now
//! # }
//! ```
//!
//! It forwards credentials, so that rights are checked as without the proxy. It uses plain HTTP on loopback.

mod rule;
mod serve;
mod write;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::ByteString;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use rule::{Rule, RuleId};
pub use write::ProxiedWrite;

use crate::cluster::Cluster;
use rule::{Ordered, Release};

/// A running proxy. It ends when this is dropped.
#[derive(Debug)]
pub struct Proxy {
    url: String,
    shared: Shared,
    task: JoinHandle<()>,
}

/// The state that all connections share.
#[derive(Clone, Debug, Default)]
struct Shared(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    writes: Vec<ProxiedWrite>,
    rules: BTreeMap<RuleId, Ordered>,
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Proxy {
    /// Starts a proxy in front of the API server of this cluster.
    ///
    /// # Panics
    /// If it cannot listen on loopback.
    pub async fn start(cluster: &Cluster) -> Self {
        let upstream = upstream(cluster).await;
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a loopback port is free");
        let address = listener.local_addr().expect("it is bound");
        let shared = Shared::default();
        let task = tokio::spawn(serve::serve(listener, upstream, shared.clone()));
        Self {
            url: format!("http://{address}"),
            shared,
            task,
        }
    }

    /// Its URL, for the field `server` of a kubeconfig.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// All writes, in the order of their arrival.
    pub fn writes(&self) -> Vec<ProxiedWrite> {
        self.shared.lock().writes.clone()
    }

    /// All writes after the first `count`.
    pub fn writes_since(&self, count: usize) -> Vec<ProxiedWrite> {
        let state = self.shared.lock();
        state.writes.iter().skip(count).cloned().collect()
    }

    /// The number of writes.
    pub fn count(&self) -> usize {
        self.shared.lock().writes.len()
    }

    /// Adds a rule for the writes that arrive from now on.
    pub fn order(&self, rule: Rule) -> RuleId {
        let mut state = self.shared.lock();
        let id = RuleId(state.rules.len());
        state.rules.insert(id, Ordered::new(rule));
        id
    }

    /// The writes that a rule has affected. A write that the rule holds is held by now. A write whose answer the rule
    /// drops was executed.
    pub fn all_struck(&self, id: RuleId) -> Vec<ProxiedWrite> {
        let state = self.shared.lock();
        let numbers = state.rules[&id].struck.iter();
        numbers
            .map(|number| state.writes[*number].clone())
            .collect()
    }

    /// The first write that a rule has affected. See [`Proxy::all_struck`].
    pub fn struck(&self, id: RuleId) -> Option<ProxiedWrite> {
        self.all_struck(id).into_iter().next()
    }

    /// Releases the held request, also if its client has stopped waiting. The rule has no more effect.
    pub fn release(&self, id: RuleId) {
        self.end(id, Release::GoOn);
    }

    /// Closes the connection of the held request. If it was not executed before, it is never executed. The rule has no
    /// more effect.
    pub fn drop_held(&self, id: RuleId) {
        self.end(id, Release::Drop);
    }

    fn end(&self, id: RuleId, release: Release) {
        let mut state = self.shared.lock();
        let ordered = state.rules.get_mut(&id).expect("it was ordered here");
        ordered.end(release);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A client without its own credentials.
async fn upstream(cluster: &Cluster) -> kube::Client {
    let authority = ByteString(cluster.authority().as_bytes().to_vec());
    let config: Kubeconfig = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "proxy",
        "clusters": [{"name": "proxy", "cluster": {
            "server": cluster.url(), "certificate-authority-data": authority,
        }}],
        "users": [{"name": "proxy", "user": {}}],
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
    }))
    .expect("this is a kubeconfig");
    let mut config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
        .await
        .expect("the kubeconfig is complete");
    // No read timeout, because a watch without events sends nothing. No retries, because only rules repeat requests.
    config.read_timeout = None;
    config.default_retry = false;
    kube::Client::try_from(config).expect("a client can be made of it")
}
