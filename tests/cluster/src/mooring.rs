//! Runs the built `mooring` as its Deployment does, with its own ServiceAccount.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use crate::cluster::{Cluster, NAMESPACE};
use crate::control_plane::{client, kubeconfig};
use crate::http::http_get;
use crate::paths::workspace_binary;
use crate::ports::free_port;
use crate::process::Process;

/// Options of a Mooring process.
#[derive(Clone, Debug)]
pub struct MooringOptions {
    /// The name in the Lease (`--identity`) and of the log. Default: `mooring-N`.
    pub identity: Option<String>,
    /// `--inventory-interval`; default 1 s.
    pub inventory_interval: Duration,
    /// The ServiceAccount, which is created if it does not exist. Default: that of `config/rbac`.
    pub account: &'static str,
    /// `--leader-elect`. Default: true.
    pub leader_elect: bool,
    /// `--drain`. Default: 0 s, so that tests end quickly.
    pub drain: Duration,
    /// Point the webhook configurations to it when it is ready. Default: true.
    pub register_webhooks: bool,
    /// Wait for `/readyz`. Default: true.
    pub wait: bool,
    /// The URL of the API server in its kubeconfig, for example of a [`Proxy`](crate::Proxy). Default: the API server.
    pub api_server: Option<String>,
    /// The address of its webhook. Default: a free port of 127.0.0.1.
    pub webhook: Option<SocketAddr>,
    /// Additional arguments of `mooring run`.
    pub arguments: Vec<String>,
    /// Additional environment variables.
    pub environment: Vec<(String, String)>,
}

impl Default for MooringOptions {
    fn default() -> Self {
        Self {
            identity: None,
            inventory_interval: Duration::from_secs(1),
            account: "mooring",
            leader_elect: true,
            drain: Duration::ZERO,
            register_webhooks: true,
            wait: true,
            api_server: None,
            webhook: None,
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }
}

/// A running `mooring run`.
pub struct Mooring {
    process: Process,
    identity: String,
    webhook: String,
    http: String,
    certificates: PathBuf,
}

impl Mooring {
    /// Starts a replica, and waits until it is ready.
    ///
    /// # Panics
    /// If it ends, or is not ready within 30 s. The message contains the end of its log.
    pub async fn start(cluster: &Cluster, options: MooringOptions) -> Self {
        let binary = workspace_binary("mooring", "MOORING_BIN");
        let number = cluster.next_number();
        let identity = options
            .identity
            .clone()
            .unwrap_or_else(|| format!("mooring-{number}"));
        let folder = cluster.folder().join(format!("mooring-{number}"));
        let certificates = folder.join("certificates");
        std::fs::create_dir_all(&certificates).expect("the folder of the cluster is writable");

        let leaf = cluster
            .webhook_authority()
            .leaf(&["127.0.0.1", "mooring-webhook.mooring-system.svc"]);
        std::fs::write(certificates.join("tls.crt"), leaf.certificate)
            .expect("a certificate can be written");
        std::fs::write(certificates.join("tls.key"), leaf.key).expect("a key can be written");
        let config = folder.join("kubeconfig");
        let api_server = options.api_server.as_deref().unwrap_or(cluster.url());
        cluster
            .write_kubeconfig_of(options.account, api_server, &config)
            .await;

        let anywhere = || SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let (webhook, http) = (options.webhook.unwrap_or_else(anywhere), free_port());
        let mut arguments = vec![
            "run".to_owned(),
            format!("--webhook-addr={webhook}"),
            format!("--http-addr=127.0.0.1:{http}"),
            format!("--cert-dir={}", certificates.display()),
            format!("--namespace={NAMESPACE}"),
            format!("--identity={identity}"),
            format!("--leader-elect={}", options.leader_elect),
            format!(
                "--inventory-interval={}ms",
                options.inventory_interval.as_millis()
            ),
            format!("--drain={}ms", options.drain.as_millis()),
        ];
        arguments.extend(options.arguments.iter().cloned());
        let mut environment = cluster.ec2().environment();
        environment.push(("KUBECONFIG".to_owned(), config.display().to_string()));
        environment.push(("RUST_BACKTRACE".to_owned(), "1".to_owned()));
        if std::env::var_os("RUST_LOG").is_none() {
            environment.push(("RUST_LOG".to_owned(), "info,mooring=debug".to_owned()));
        }
        environment.extend(options.environment.iter().cloned());
        let logs = cluster.folder().join("logs");
        let process = Process::start(
            &format!("mooring-{number}"),
            &binary,
            &arguments,
            &environment,
            &logs,
        );
        let mooring = Self {
            process,
            identity,
            webhook: format!("https://{webhook}"),
            http: format!("http://127.0.0.1:{http}"),
            certificates,
        };
        if options.wait {
            mooring.wait_until_ready(Duration::from_secs(30)).await;
        }
        if options.register_webhooks {
            cluster.register_webhooks(&[&mooring]).await;
        }
        mooring
    }

    /// Waits for `/readyz`.
    ///
    /// # Panics
    /// If the process ends, or after `limit`.
    pub async fn wait_until_ready(&self, limit: Duration) {
        let begin = Instant::now();
        loop {
            let seen = match http_get(&format!("{}/readyz", self.http)).await {
                Ok(answer) if answer.code == 200 => return,
                Ok(answer) => format!("{}: {}", answer.code, answer.body),
                Err(error) => error,
            };
            self.process.assert_runs();
            assert!(
                begin.elapsed() < limit,
                "{} is not ready after {limit:?}: {seen}\n{}",
                self.identity,
                crate::process::tail(&self.log(), 40)
            );
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// Sends SIGKILL, and waits until the process has ended.
    pub fn kill9(&self) {
        self.process.kill9();
    }

    /// Sends SIGTERM, and waits until the process has ended, at most 15 s.
    pub async fn terminate(&self) -> ExitStatus {
        self.process.terminate(Duration::from_secs(15)).await
    }

    /// The process, for signals, the log, and its state.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Its name in the Lease.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// `https://127.0.0.1:PORT` of its webhook.
    pub fn webhook_url(&self) -> &str {
        &self.webhook
    }

    /// `http://127.0.0.1:PORT` of its health and metrics.
    pub fn http_url(&self) -> &str {
        &self.http
    }

    /// The folder of its certificate (`tls.crt`, `tls.key`).
    pub fn certificates(&self) -> &std::path::Path {
        &self.certificates
    }

    /// The whole log.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// The text of `/metrics`.
    pub async fn metrics(&self) -> String {
        let answer = http_get(&format!("{}/metrics", self.http))
            .await
            .expect("/metrics answers");
        assert_eq!(answer.code, 200, "/metrics: {}", answer.body);
        answer.body
    }

    /// The sum of the samples of a metric whose labels contain all of `labels`, such as `action="..."`.
    pub async fn metric(&self, name: &str, labels: &[&str]) -> f64 {
        let metrics = self.metrics().await;
        metrics
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.rsplit_once(' '))
            .filter(|(series, _)| series.split('{').next() == Some(name))
            .filter(|(series, _)| labels.iter().all(|label| series.contains(label)))
            .filter_map(|(_, value)| value.parse::<f64>().ok())
            .sum()
    }
}

impl Cluster {
    /// A client with a token of a ServiceAccount in the namespace of Mooring, which is created if it does not exist.
    ///
    /// # Panics
    /// If the account or its kubeconfig cannot be created.
    pub async fn client_of(&self, account: &str) -> kube::Client {
        let path = self.folder().join(format!("kubeconfig-{account}"));
        self.write_kubeconfig_of(account, self.url(), &path).await;
        client(&path).await
    }

    async fn write_kubeconfig_of(&self, account: &str, url: &str, path: &std::path::Path) {
        let token = service_account_token(self, account).await;
        let config = kubeconfig(url, self.authority(), &token);
        std::fs::write(path, config.to_string()).expect("a kubeconfig can be written");
    }
}

/// A token of a ServiceAccount, which is created if it does not exist.
async fn service_account_token(cluster: &Cluster, name: &str) -> String {
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client().await, NAMESPACE);
    if accounts
        .get_opt(name)
        .await
        .expect("ServiceAccounts can be read")
        .is_none()
    {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": NAMESPACE}});
        cluster.apply(&account.to_string()).await;
    }
    let request = TokenRequest {
        spec: TokenRequestSpec {
            expiration_seconds: Some(24 * 3600),
            ..TokenRequestSpec::default()
        },
        ..TokenRequest::default()
    };
    accounts
        .create_token_request(name, &PostParams::default(), &request)
        .await
        .expect("a token can be asked for")
        .status
        .expect("a TokenRequest is answered with a token")
        .token
}
