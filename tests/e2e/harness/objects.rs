//! The objects of a scene: blocks, IPs, pods and workloads.

use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams};
use mooring_cluster::Subnet;
use serde_json::{Value, json};

use crate::harness::requests::ip_named;
use crate::harness::scene::{Ip, SOON, Scene};

/// The annotation that names an IP.
pub const IP: &str = "ip.wgtwo.com/ip";

/// `base` with `changes` applied as a JSON merge patch.
pub fn merged(mut base: Value, changes: &Value) -> Value {
    json_patch::merge(&mut base, changes);
    base
}

impl Scene {
    /// The API of a kind, in the namespace of the scene if the kind is namespaced.
    pub fn api(&self, kind: &str) -> Api<DynamicObject> {
        let (group, version) = match kind {
            "IP" | "IPBlock" => ("ip.wgtwo.com", "v1alpha1"),
            "IPAddress" => ("networking.k8s.io", "v1"),
            "Job" => ("batch", "v1"),
            "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" => ("apps", "v1"),
            "Lease" => ("coordination.k8s.io", "v1"),
            _ => ("", "v1"),
        };
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        match kind {
            "IP" | "IPBlock" | "IPAddress" | "Node" => {
                Api::all_with(self.client.clone(), &resource)
            }
            "Lease" => Api::namespaced_with(self.client.clone(), "mooring-system", &resource),
            _ => Api::namespaced_with(self.client.clone(), &self.name, &resource),
        }
    }

    /// An object as JSON; `None` if it does not exist.
    pub async fn get(&self, kind: &str, name: &str) -> Option<Value> {
        let object = self.api(kind).get_opt(name).await;
        let object = object.unwrap_or_else(|error| panic!("reading {kind} {name}: {error}"));
        object.map(|object| serde_json::to_value(object).expect("an object is JSON"))
    }

    /// All objects of a kind, in the namespace of the scene if the kind is namespaced.
    pub async fn list(&self, kind: &str) -> Vec<Value> {
        let list = self.api(kind).list(&kube::api::ListParams::default()).await;
        let list = list.unwrap_or_else(|error| panic!("listing {kind}: {error}"));
        let items = list.items.into_iter();
        items
            .map(|object| serde_json::to_value(object).expect("an object is JSON"))
            .collect()
    }

    /// Applies a JSON merge patch.
    pub async fn patch(&self, kind: &str, name: &str, change: &Value) {
        self.try_patch(kind, name, change)
            .await
            .unwrap_or_else(|error| panic!("patching {kind} {name}: {error}"));
    }

    /// Applies a JSON merge patch that may be refused.
    pub async fn try_patch(
        &self,
        kind: &str,
        name: &str,
        change: &Value,
    ) -> Result<(), kube::Error> {
        let api = self.api(kind);
        api.patch(name, &PatchParams::default(), &Patch::Merge(change))
            .await
            .map(drop)
    }

    /// Deletes an object, and does not wait until it is gone.
    pub async fn delete(&self, kind: &str, name: &str) {
        self.api(kind)
            .delete(name, &DeleteParams::default())
            .await
            .unwrap_or_else(|error| panic!("deleting {kind} {name}: {error}"));
    }

    /// Creates a block with the whole subnet of the scene. Returns its name.
    pub async fn block(&self) -> String {
        self.block_with(&json!({})).await
    }

    /// The same as [`Scene::block`], with more fields in its spec.
    pub async fn block_with(&self, spec: &Value) -> String {
        self.block_in("block", &self.subnet, spec).await
    }

    /// Creates a block in a subnet, and waits until its first inventory was taken. Returns its name.
    pub async fn block_in(&self, name: &str, subnet: &Subnet, spec: &Value) -> String {
        let name = self.block_unready(name, subnet, spec).await;
        self.expect_condition("IPBlock", &name, "Ready", "True")
            .await;
        name
    }

    /// The same as [`Scene::block_in`], without waiting.
    pub async fn block_unready(&self, name: &str, subnet: &Subnet, spec: &Value) -> String {
        let name = self.named(name);
        self.blocks.lock().unwrap().push(name.clone());
        // Only the pods of a failed node must be evicted: on a busy machine a kubelet can be late, and its node is then
        // unreachable for some seconds.
        let base = json!({"cidr": subnet.cidr, "subnetID": subnet.id, "failoverAfter": "10s",
            "allowedNamespaces": ["*"]});
        let block = json!({"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPBlock",
            "metadata": {"name": name}, "spec": merged(base, spec)});
        self.cluster().apply(&block.to_string()).await;
        name
    }

    /// Creates an IP with the address of this number in the subnet of the scene, and waits until it is reserved.
    pub async fn ip(&self, name: &str, host: u8) -> Ip {
        self.ip_with(name, &json!({"address": self.address(host)}))
            .await
    }

    /// Creates an IP with an allocated address, and waits until it is reserved.
    pub async fn allocated(&self, name: &str, block: &str) -> Ip {
        self.ip_with(name, &json!({"block": block})).await
    }

    /// Creates an IP, and waits until it is reserved.
    pub async fn ip_with(&self, name: &str, spec: &Value) -> Ip {
        let ip = self.ip_unreserved(name, spec).await;
        self.expect_condition("IP", &ip.name, "Reserved", "True")
            .await;
        let object = self.get("IP", &ip.name).await.expect("it is reserved");
        let address = object["status"]["address"]
            .as_str()
            .expect("it is reserved")
            .to_owned();
        Ip { address, ..ip }
    }

    /// Creates an IP, without waiting.
    pub async fn ip_unreserved(&self, name: &str, spec: &Value) -> Ip {
        let name = self.named(name);
        self.ips.lock().unwrap().push(name.clone());
        let object = ip_named(&name, spec);
        self.cluster().apply(&object.to_string()).await;
        let address = spec["address"].as_str().unwrap_or_default().to_owned();
        Ip { name, address }
    }

    /// Creates a pod `web` on a node of the block of the scene, and the IP whose address it has.
    pub async fn attached_pod(&self) -> Ip {
        let block = self.block().await;
        let node = self.node("a").await;
        self.expect_labelled(&node.name, &block).await;
        let ip = self.ip("web", 10).await;
        self.pod("web", &ip).await;
        self.expect_attached(&ip, "web").await;
        ip
    }

    /// Creates a pod without a workload that asks for an IP.
    pub async fn pod(&self, name: &str, ip: &Ip) {
        self.pod_with(name, ip, &json!({})).await;
    }

    /// The same as [`Scene::pod`], with changes (merged).
    pub async fn pod_with(&self, name: &str, ip: &Ip, changes: &Value) {
        let mut pod = merged(Self::template(name, ip), changes);
        pod["apiVersion"] = "v1".into();
        pod["kind"] = "Pod".into();
        pod["metadata"]["name"] = name.into();
        pod["metadata"]["namespace"] = self.name.clone().into();
        self.cluster().apply(&pod.to_string()).await;
    }

    /// Creates a Deployment of one replica with the default strategy; its pod asks for an IP.
    pub async fn deployment(&self, name: &str, ip: &Ip) {
        self.deployment_with(name, ip, &json!({})).await;
    }

    /// The same as [`Scene::deployment`], with changes to its spec (merged).
    pub async fn deployment_with(&self, name: &str, ip: &Ip, spec: &Value) {
        let base = json!({"replicas": 1, "selector": {"matchLabels": {"app": name}},
            "template": Self::template(name, ip)});
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": self.name}, "spec": merged(base, spec)});
        self.cluster().apply(&object.to_string()).await;
    }

    /// Creates a `StatefulSet` of one replica; its pod asks for an IP.
    pub async fn stateful_set(&self, name: &str, ip: &Ip) {
        let object = json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": name, "namespace": self.name},
            "spec": {"replicas": 1, "serviceName": name, "selector": {"matchLabels": {"app": name}},
                "template": Self::template(name, ip)}});
        self.cluster().apply(&object.to_string()).await;
    }

    /// Does the same as `kubectl rollout restart`, with changes to the template (merged).
    pub async fn roll_out(&self, deployment: &str, template: &Value) {
        let number = self.cluster().next_number().to_string();
        let restart = json!({"metadata": {"annotations": {"test.mooring/restart": number}}});
        let change = json!({"spec": {"template": merged(restart, template)}});
        self.patch("Deployment", deployment, &change).await;
    }

    /// The template of a pod that asks for an IP.
    pub fn template(app: &str, ip: &Ip) -> Value {
        json!({
            "metadata": {"labels": {"app": app}, "annotations": {IP: ip.name}},
            "spec": {
                "terminationGracePeriodSeconds": 2,
                "containers": [{"name": "main", "image": "registry.example/main:1"}],
            },
        })
    }

    /// The pods of an app, the oldest first, as (name, object).
    pub async fn pods_of(&self, app: &str) -> Vec<(String, Value)> {
        let mut pods: Vec<Value> = self.list("Pod").await;
        pods.retain(|pod| pod["metadata"]["labels"]["app"] == app);
        pods.sort_by_key(|pod| pod["metadata"]["creationTimestamp"].to_string());
        let named = pods.into_iter();
        named
            .map(|pod| {
                (
                    pod["metadata"]["name"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned(),
                    pod,
                )
            })
            .collect()
    }

    /// Waits for the only pod of the app.
    pub async fn only_pod(&self, app: &str) -> String {
        self.eventually(&format!("{app} has exactly one pod"), SOON, async || {
            let pods = self.pods_of(app).await;
            match pods.as_slice() {
                [(name, _)] => Ok(name.clone()),
                others => Err(others
                    .iter()
                    .map(|(name, _)| name.clone())
                    .collect::<Vec<_>>()),
            }
        })
        .await
    }

    /// Waits for a pod of the app that is not in `known`.
    pub async fn new_pod(&self, app: &str, known: &[&str]) -> String {
        self.eventually(&format!("{app} has a new pod"), SOON, async || {
            let pods = self.pods_of(app).await;
            let mut names = pods.into_iter().map(|(name, _)| name);
            names.find(|name| !known.contains(&name.as_str()))
        })
        .await
    }

    /// The UID of a pod.
    pub async fn uid(&self, pod: &str) -> String {
        let pod = self.get("Pod", pod).await.expect("the pod is there");
        pod["metadata"]["uid"]
            .as_str()
            .expect("every object has a UID")
            .to_owned()
    }
}

/// The changes that bind a pod (or the pods of a template) to this node.
pub fn on(node: &mooring_cluster::Node) -> Value {
    json!({"spec": {"nodeSelector": {"kubernetes.io/hostname": node.name}}})
}

/// The changes that add an annotation to a pod: the behaviour of its containers, or its handover.
pub fn annotated(key: &str, value: &str) -> Value {
    json!({"metadata": {"annotations": {key: value}}})
}
