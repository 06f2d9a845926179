//! Clusters: the shared one, and those that one scene has at a time.

use std::sync::{Arc, Mutex};

use mooring_cluster::{Cluster, ClusterOptions, Mooring, MooringOptions};

/// A cluster, and the replicas of Mooring that run in it.
pub struct World {
    pub cluster: Cluster,
    pub replicas: tokio::sync::Mutex<Vec<Arc<Mooring>>>,
    /// Started like all others, so that the next scene can have it.
    usual: bool,
}

/// The shared world; an error is remembered, so that not every scene waits for it again.
static SHARED: tokio::sync::Mutex<Option<Result<Arc<World>, ()>>> =
    tokio::sync::Mutex::const_new(None);
/// Clusters that a scene has left clean.
static IDLE: Mutex<Vec<World>> = Mutex::new(Vec::new());

impl World {
    async fn start() -> Self {
        Self {
            cluster: Cluster::start(options()).await,
            replicas: tokio::sync::Mutex::default(),
            usual: true,
        }
    }

    /// A cluster for one scene.
    pub async fn of(options: ClusterOptions) -> Self {
        Self {
            cluster: Cluster::start(options).await,
            replicas: tokio::sync::Mutex::default(),
            usual: false,
        }
    }

    /// The shared cluster, with one replica that takes an inventory every second.
    pub async fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock().await;
        if shared.is_none() {
            *shared = Some(Err(()));
            let world = Self::start().await;
            world.mooring(MooringOptions::default()).await;
            *shared = Some(Ok(Arc::new(world)));
        }
        match shared.as_ref() {
            Some(Ok(world)) => Arc::clone(world),
            _ => panic!("the shared cluster did not start: see the first failure"),
        }
    }

    /// A cluster that nobody else uses meanwhile, without Mooring.
    pub async fn alone() -> Self {
        let idle = IDLE.lock().unwrap().pop();
        match idle {
            Some(world) => world,
            None => Self::start().await,
        }
    }

    /// Starts a replica.
    pub async fn mooring(&self, options: MooringOptions) -> Arc<Mooring> {
        let mooring = Arc::new(Mooring::start(&self.cluster, options).await);
        self.replicas.lock().await.push(Arc::clone(&mooring));
        mooring
    }

    /// Gives a cluster of its own back, for the next scene that wants one.
    pub async fn give_back(self) {
        for mooring in self.replicas.lock().await.drain(..) {
            mooring.kill9();
        }
        if !self.usual {
            return;
        }
        self.cluster.ec2().clear_faults().await;
        self.cluster.ec2().release_all().await;
        self.cluster.unregister_webhooks().await;
        // The next scene's Mooring shall not wait for a dead leader's Lease.
        self.cluster
            .kubectl("-n mooring-system delete lease mooring --ignore-not-found".split(' '))
            .await;
        let namespace = self
            .cluster
            .kubectl("get namespace mooring-system".split(' '))
            .await;
        // A scene that has uninstalled Mooring leaves nothing to go on with.
        if namespace.stdout.contains("Active") {
            IDLE.lock().unwrap().push(self);
        }
    }
}

fn options() -> ClusterOptions {
    let mut options = ClusterOptions::default();
    if crate::stage::is_apart() {
        // No kube-proxy runs here: the API server itself chooses among a Service's endpoints.
        let flag = "--enable-aggregator-routing=true";
        options.api_server_flags.push(flag.to_owned());
    }
    options
}

/// Ends all clusters; their folders stay when something has failed.
pub fn end(failed: bool) {
    let idle = std::mem::take(&mut *IDLE.lock().unwrap());
    let shared = mooring_cluster::run(async { SHARED.lock().await.take() });
    if failed {
        // Their processes end with this one.
        std::mem::forget((idle, shared));
    }
}
