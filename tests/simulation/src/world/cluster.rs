//! The API server for all clients except Mooring: none of their requests is lost.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use mooring::admission::pod::mutate_pod;
use mooring::admission::{KnownIp, PluginSettings, Snapshot};
use mooring::api::{Ip, IpBlock};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api_server::{ApiServer, PatchKind, Refusal, Target};

/// The client name in the history.
const WORLD: &str = "world";

/// The API server.
#[derive(Clone)]
pub struct Cluster(ApiServer);

impl Cluster {
    pub(super) const fn new(api: ApiServer) -> Self {
        Self(api)
    }

    /// The present object. None: it does not exist.
    #[must_use]
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.0.get(resource, namespace, name)
    }

    /// All objects of a kind.
    #[must_use]
    pub fn list(&self, resource: &str) -> Vec<Arc<Value>> {
        self.0.list(resource, "", "")
    }

    /// Creates an object.
    ///
    /// # Errors
    /// The refusal of the API server.
    pub fn create(&self, resource: &str, object: Value) -> Result<Value, Refusal> {
        let namespace = object["metadata"]["namespace"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        self.0.create(WORLD, resource, &namespace, object)
    }

    /// Merges a change into an object. Does nothing if the object does not exist.
    pub fn merge(&self, resource: &str, namespace: &str, name: &str, patch: Value) {
        let target = Target::new(resource, namespace, name);
        let _ = self.0.patch(WORLD, target, PatchKind::Merge, patch);
    }

    /// Merges a change into the status of an object.
    pub fn merge_status(&self, resource: &str, namespace: &str, name: &str, status: Value) {
        let target = Target::new(resource, namespace, name).status();
        let _ = self
            .0
            .patch(WORLD, target, PatchKind::Merge, json!({"status": status}));
    }

    /// Merges a change into the status of a pod. Conditions are merged by type, because other clients write some too.
    pub fn merge_conditions(&self, namespace: &str, name: &str, uid: &str, status: Value) {
        let target = Target::new("pods", namespace, name).status();
        let patch = json!({"metadata": {"uid": uid}, "status": status});
        let _ = self.0.patch(WORLD, target, PatchKind::Strategic, patch);
    }

    /// Deletes an object.
    pub fn delete(&self, resource: &str, namespace: &str, name: &str, grace: Option<u64>) {
        let options = grace.map_or(Value::Null, |grace| json!({"gracePeriodSeconds": grace}));
        let _ = self
            .0
            .delete(WORLD, Target::new(resource, namespace, name), options);
    }

    /// Binds a pod to a node.
    pub fn bind(&self, namespace: &str, name: &str, node: &str) {
        let _ = self.0.bind(WORLD, namespace, name, node);
    }

    /// Creates a pod with the mutations of admission.
    ///
    /// # Errors
    /// The refusal of admission or of the API server.
    pub fn admit_and_create(&self, mut manifest: Value) -> Result<Value, String> {
        let pod = Pod::deserialize(&manifest).map_err(|error| error.to_string())?;
        let namespace = pod.metadata.namespace.clone().unwrap_or_default();
        let ips = self.read::<Ip>("ips");
        let ips = ips.iter().map(|ip| Arc::new(KnownIp::from(&**ip)));
        let snapshot = Snapshot::new(ips.collect(), self.read::<IpBlock>("ipblocks"));
        let allowed = mutate_pod(&pod, &namespace, &snapshot, PluginSettings::default())
            .map_err(|denial| denial.to_string())?;
        json_patch::patch(&mut manifest, &allowed.patch.0).map_err(|error| error.to_string())?;
        self.create("pods", manifest)
            .map_err(|refusal| refusal.to_string())
    }

    fn read<K: DeserializeOwned>(&self, resource: &str) -> Vec<Arc<K>> {
        let all = self.list(resource).into_iter();
        all.filter_map(|object| K::deserialize(&*object).ok())
            .map(Arc::new)
            .collect()
    }
}
