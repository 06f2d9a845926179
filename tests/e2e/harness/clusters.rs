//! The clusters of the scenes: one shared cluster, and clusters that one scene uses at a time.

use std::sync::{Arc, Mutex};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use mooring_cluster::{Cluster, ClusterOptions, Mooring, MooringOptions};

/// A cluster, and the replicas of Mooring that run in it.
pub struct TestCluster {
    pub cluster: Cluster,
    pub replicas: tokio::sync::Mutex<Vec<Arc<Mooring>>>,
    /// True if the cluster has the default options, so that another scene can use it later.
    reusable: bool,
}

/// The shared cluster. A failed start is stored, so that the other scenes do not retry it.
static SHARED: tokio::sync::Mutex<Option<Result<Arc<TestCluster>, ()>>> =
    tokio::sync::Mutex::const_new(None);
/// Clean clusters that another scene can use.
static IDLE: Mutex<Vec<TestCluster>> = Mutex::new(Vec::new());

impl TestCluster {
    async fn start() -> Self {
        Self {
            cluster: Cluster::start(options()).await,
            replicas: tokio::sync::Mutex::default(),
            reusable: true,
        }
    }

    /// A cluster for one scene.
    pub async fn of(options: ClusterOptions) -> Self {
        Self {
            cluster: Cluster::start(options).await,
            replicas: tokio::sync::Mutex::default(),
            reusable: false,
        }
    }

    /// The shared cluster, with one replica that takes an inventory every second.
    pub async fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock().await;
        if shared.is_none() {
            *shared = Some(Err(()));
            let test_cluster = Self::start().await;
            test_cluster.mooring(MooringOptions::default()).await;
            *shared = Some(Ok(Arc::new(test_cluster)));
        }
        match shared.as_ref() {
            Some(Ok(test_cluster)) => Arc::clone(test_cluster),
            _ => panic!("the shared cluster did not start: see the first failure"),
        }
    }

    /// A cluster that no other scene uses at the same time, without Mooring.
    pub async fn alone() -> Self {
        let idle = IDLE.lock().unwrap().pop();
        match idle {
            Some(test_cluster) => test_cluster,
            None => Self::start().await,
        }
    }

    /// Starts a replica.
    pub async fn mooring(&self, options: MooringOptions) -> Arc<Mooring> {
        let mooring = Arc::new(Mooring::start(&self.cluster, options).await);
        self.replicas.lock().await.push(Arc::clone(&mooring));
        mooring
    }

    /// Gives the cluster of a scene back, for the next scene.
    pub async fn give_back(self) {
        for mooring in self.replicas.lock().await.drain(..) {
            mooring.kill9();
        }
        if !self.reusable {
            return;
        }
        self.cluster.ec2().clear_faults().await;
        self.cluster.ec2().release_all().await;
        self.cluster.unregister_webhooks().await;
        let client = self.cluster.client().await;
        // The Mooring of the next scene must not wait until the Lease of a killed leader expires.
        let leases: Api<Lease> = Api::namespaced(client.clone(), "mooring-system");
        let _absent = leases.delete("mooring", &DeleteParams::default()).await;
        // After a scene has uninstalled Mooring or its kinds, the cluster cannot be used again.
        if is_installed(client).await {
            IDLE.lock().unwrap().push(self);
        }
    }
}

/// Does the cluster have the namespace and the kinds of Mooring?
async fn is_installed(client: kube::Client) -> bool {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = namespaces.get("mooring-system").await.ok();
    let phase = namespace.and_then(|namespace| namespace.status?.phase);
    let mut installed = phase.as_deref() == Some("Active");
    for kind in ["IP", "IPBlock", "IPNode"] {
        let resource =
            ApiResource::from_gvk(&GroupVersionKind::gvk("ip.wgtwo.com", "v1alpha1", kind));
        let objects: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        installed &= objects.list(&ListParams::default().limit(1)).await.is_ok();
    }
    installed
}

fn options() -> ClusterOptions {
    let mut options = ClusterOptions::default();
    if crate::harness::runner::is_apart() {
        // No kube-proxy runs here: the API server itself chooses an endpoint of a Service.
        let flag = "--enable-aggregator-routing=true";
        options.api_server_flags.push(flag.to_owned());
    }
    options
}

/// Ends all clusters. Their folders stay if a scene has failed.
pub fn end(failed: bool) {
    let idle = std::mem::take(&mut *IDLE.lock().unwrap());
    let shared = mooring_cluster::run(async { SHARED.lock().await.take() });
    if failed {
        // Their processes end with this one.
        std::mem::forget((idle, shared));
    }
}
