//! A test cluster: processes that start and end together.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;

use crate::control_plane::{self, ControlPlane};
use crate::ec2::Ec2;
use crate::paths::{repository, target};
use crate::pki::Authority;
use crate::topology::Subnet;

/// Options of a cluster.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// After this time without a report of its kubelet a node counts as failed (`--node-monitor-grace-period`). It is
    /// also the duration of the Lease of a node, which is renewed four times within it. The default of Kubernetes is 50
    /// s.
    pub node_grace: Duration,
    /// Whether to apply `config/crd`, `config/rbac`, `config/policies`, `config/flow-control` and `config/users`.
    /// False: a bare cluster.
    pub manifests: bool,
    /// The addresses of pods.
    pub pod_cidr: String,
    /// More flags for kube-apiserver, such as `--watch-cache=false`.
    pub api_server_flags: Vec<String>,
    /// `GOGC` of the control plane: the heap growth in percent before the next garbage collection. The default of Go is
    /// 100. 400 takes more memory, and less CPU time of the two cores that many clusters share.
    pub heap_growth: u32,
}

impl ClusterOptions {
    /// The environment of a program of the control plane.
    pub(crate) fn environment(&self) -> [(String, String); 1] {
        [("GOGC".to_owned(), self.heap_growth.to_string())]
    }
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            node_grace: Duration::from_secs(20),
            manifests: true,
            pod_cidr: "10.244.0.0/16".to_owned(),
            api_server_flags: Vec::new(),
            heap_growth: 400,
        }
    }
}

/// A running cluster. When it is dropped, its processes end and its folder is deleted (kept if a test fails).
pub struct Cluster {
    ec2: Ec2,
    control_plane: ControlPlane,
    folder: PathBuf,
    webhook_authority: Authority,
    pub(crate) node_subnet: tokio::sync::Mutex<Option<Subnet>>,
    pub(crate) counter: AtomicU32,
}

/// The namespace of Mooring.
pub const NAMESPACE: &str = "mooring-system";

impl Cluster {
    /// Starts a cluster. It is ready after about five seconds.
    ///
    /// # Panics
    /// If a process does not start. The message contains the end of its log.
    pub async fn start(options: ClusterOptions) -> Self {
        let folder = new_folder();
        let logs = folder.join("logs");
        let (started, ec2) =
            tokio::join!(control_plane::start(&folder, &options), Ec2::start(&logs));
        let client = control_plane::client(&folder.join("kubeconfig")).await;
        crate::apply::namespace(&client, NAMESPACE).await;
        if options.manifests {
            for part in [
                "config/crd",
                "config/rbac",
                "config/policies",
                "config/flow-control",
                "config/users",
            ] {
                crate::apply::folder(&client, &repository().join(part)).await;
            }
        }
        let control_plane = started.finish(&folder, &options);
        let webhook_authority = Authority::new("mooring webhook");
        let cluster = Self {
            ec2,
            control_plane,
            folder,
            webhook_authority,
            node_subnet: tokio::sync::Mutex::new(None),
            counter: AtomicU32::new(0),
        };
        // Before the default ServiceAccount exists no pod is admitted. It also shows that the controllers work.
        for namespace in ["default", NAMESPACE] {
            cluster.wait_for_service_account(namespace).await;
        }
        cluster
    }

    /// A client with the rights of the administrator. It belongs to the runtime that created it.
    pub async fn client(&self) -> kube::Client {
        control_plane::client(&self.kubeconfig()).await
    }

    /// The kubeconfig of the administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// The URL of the API server.
    pub fn url(&self) -> &str {
        &self.control_plane.url
    }

    /// The certificate of the authority that signed the certificate of the API server, PEM.
    pub fn authority(&self) -> &str {
        &self.control_plane.authority
    }

    /// The authority of the certificates of the webhook.
    pub fn webhook_authority(&self) -> &Authority {
        &self.webhook_authority
    }

    /// The EC2 emulator.
    pub fn ec2(&self) -> &Ec2 {
        &self.ec2
    }

    /// Where this cluster keeps its data and its logs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A process of the control plane by name (`etcd`, `kube-apiserver`, `kube-controller-manager`,
    /// `kube-scheduler`, `kwok`), to pause it with `signal("STOP")` and `signal("CONT")`.
    pub fn process(&self, name: &str) -> &crate::Process {
        match name {
            "etcd" => &self.control_plane.etcd,
            "kube-apiserver" => &self.control_plane.api_server,
            "kube-controller-manager" => &self.control_plane.controllers,
            "kube-scheduler" => &self.control_plane.scheduler,
            "kwok" => &self.control_plane.kwok,
            other => panic!("the control plane has no {other}"),
        }
    }

    /// Kills the API server and starts it again on the same port. Watches break, but no data is lost.
    pub async fn restart_api_server(&self) {
        self.control_plane
            .restart_api_server(&self.kubeconfig())
            .await;
    }

    /// Creates a namespace in which pods can be created.
    pub async fn add_namespace(&self, name: &str) {
        crate::apply::namespace(&self.client().await, name).await;
        self.wait_for_service_account(name).await;
    }

    /// A number that this cluster has not returned before, for unique names.
    pub fn next_number(&self) -> u32 {
        self.counter.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn mooring_logs(&self) -> Vec<PathBuf> {
        let mut logs: Vec<PathBuf> = std::fs::read_dir(self.folder.join("logs"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                path.file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with("mooring-"))
            })
            .collect();
        logs.sort();
        logs
    }

    async fn wait_for_service_account(&self, namespace: &str) {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await, namespace);
        crate::eventually(
            &format!("namespace {namespace} has its default ServiceAccount"),
            Duration::from_mins(1),
            || async {
                self.control_plane.assert_runs();
                accounts.get("default").await
            },
        )
        .await;
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if !std::thread::panicking() && std::env::var_os("MOORING_KEEP").is_none() {
            for name in [
                "kwok",
                "kube-scheduler",
                "kube-controller-manager",
                "kube-apiserver",
                "etcd",
            ] {
                self.process(name).kill9();
            }
            // A folder that is left is removed by a later test.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// A folder for a new cluster. Removes folders of processes that have ended, except the newest five.
fn new_folder() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let all = target().join("clusters");
    std::fs::create_dir_all(&all).expect("the target folder can be written");
    let mut left: Vec<(std::time::SystemTime, PathBuf)> = std::fs::read_dir(&all)
        .expect("the folder can be read")
        .flatten()
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let pid = name.split('-').next().unwrap_or_default().to_owned();
            !Path::new("/proc").join(pid).exists()
        })
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    left.sort();
    let old = left.len().saturating_sub(5);
    for (_, path) in left.drain(..old) {
        let _ = std::fs::remove_dir_all(path);
    }
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = all.join(format!("{}-{number}", std::process::id()));
    // A process id is reused after a restart of the machine.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("logs")).expect("the target folder can be written");
    folder
}
