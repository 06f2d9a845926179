//! etcd, the API server, the controllers, the scheduler and KWOK.

mod api_server;
mod watchers;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub(crate) use api_server::start;

use crate::process::Process;

/// The token of the administrator.
const ADMIN: &str = "admin-token";
/// The user of KWOK, which simulates the kubelets.
const KWOK: &str = "kwok";

pub(crate) struct ControlPlane {
    // Dropped in this order: clients end before servers.
    pub kwok: Process,
    pub scheduler: Process,
    pub controllers: Process,
    pub api_server: Process,
    pub etcd: Process,
    pub url: String,
    pub authority: String,
}

/// A kubeconfig with a token, as JSON (which is YAML).
pub(crate) fn kubeconfig(url: &str, authority: &str, token: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "mooring",
        "clusters": [{"name": "mooring", "cluster": {
            "server": url,
            "certificate-authority-data": k8s_openapi::ByteString(authority.as_bytes().to_vec()),
        }}],
        "users": [{"name": "mooring", "user": {"token": token}}],
        "contexts": [{"name": "mooring", "context": {"cluster": "mooring", "user": "mooring"}}],
    })
}

/// etcd and the API server, which can serve objects already. [`Started::finish`] starts the rest.
pub(crate) struct Started {
    etcd: Process,
    api_server: Process,
    url: String,
    authority: String,
    token_key: PathBuf,
}

impl ControlPlane {
    pub(crate) async fn restart_api_server(&self, kubeconfig: &Path) {
        self.api_server.restart();
        wait_until_ready(&self.api_server, &client(kubeconfig).await).await;
    }

    pub(crate) fn assert_runs(&self) {
        for process in [
            &self.etcd,
            &self.api_server,
            &self.controllers,
            &self.scheduler,
            &self.kwok,
        ] {
            process.assert_runs();
        }
    }
}

pub(crate) async fn client(kubeconfig: &Path) -> kube::Client {
    let config = kube::config::Kubeconfig::read_from(kubeconfig).expect("the kubeconfig is ours");
    let options = kube::config::KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(config, &options)
        .await
        .expect("the kubeconfig is complete");
    config.read_timeout = None;
    kube::Client::try_from(config).expect("a client can be made of it")
}

fn flag(name: &str, value: impl std::fmt::Display) -> String {
    format!("--{name}={value}")
}

fn write(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content)
        .unwrap_or_else(|error| panic!("writing {}: {error}", path.display()));
    path
}

/// Waits until a server answers. Fails with its log if it ended instead.
async fn wait(process: &Process, name: &str, mut ask: impl AsyncFnMut() -> Result<(), String>) {
    let limit = Duration::from_mins(1);
    let begin = Instant::now();
    loop {
        let Err(error) = ask().await else { return };
        process.assert_runs();
        assert!(
            begin.elapsed() < limit,
            "{name} is not ready after {limit:?}: {error}\n{}",
            process.log()
        );
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

/// Waits until the API server is ready.
async fn wait_until_ready(api_server: &Process, client: &kube::Client) {
    wait(api_server, "kube-apiserver", async || {
        let request = hyper::Request::get("/readyz")
            .body(Vec::new())
            .expect("a path is a request");
        client
            .request_text(request)
            .await
            .map(drop)
            .map_err(|error| error.to_string())
    })
    .await;
}
