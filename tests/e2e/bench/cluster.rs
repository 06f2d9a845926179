//! The measured cluster: one block, and nodes with room for 49 addresses each.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use mooring_cluster::{Mooring, MooringOptions, NodeSpec, Subnet};
use serde_json::{Value, json};

use crate::harness::expectations::{GATE, condition};
use crate::harness::objects::merged;
use crate::harness::requests::ip_named;
use crate::harness::scene::{Ip, Scene};

/// Addresses on one interface, in addition to its primary address.
pub const ROOM: usize = 49;
/// The nodes of one side of a drain.
pub const SIDE: usize = 8;
/// The index of the first node for pods that are never moved.
pub const STAYING: usize = 3 * SIDE;
/// The time limit of a phase.
pub const LONG: Duration = Duration::from_mins(5);
/// The number of concurrent requests of the client that creates objects.
const AT_ONCE: usize = 16;

/// The state that all phases share.
pub struct Bench<'a> {
    pub scene: &'a Scene,
    /// The measured process.
    pub mooring: Arc<Mooring>,
    pub block: String,
    pub subnet: Subnet,
    pub nodes: Vec<String>,
    pub ips: Vec<Ip>,
    /// The index of the next node without pods.
    pub grown_on: usize,
    /// The number of IPs that are attached.
    pub attached: usize,
}

/// The source of the address of an IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressFrom {
    /// `spec.address`.
    Spec,
    /// The lowest free address of the block.
    Block,
}

/// The kind of IPs to create.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub address: AddressFrom,
    pub reassign: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            address: AddressFrom::Spec,
            reassign: false,
        }
    }
}

fn is(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|(status, ..)| status == "True")
}

/// The default options: one inventory per minute.
pub fn options() -> MooringOptions {
    MooringOptions {
        inventory_interval: Duration::from_mins(1),
        environment: vec![("RUST_LOG".to_owned(), "info".to_owned())],
        ..MooringOptions::default()
    }
}

impl<'a> Bench<'a> {
    /// Creates the nodes before it starts Mooring, because only the next inventory finds interfaces that are created
    /// later.
    pub async fn new(scene: &'a Scene, nodes: usize) -> Self {
        scene
            .ec2()
            .settings(&json!({"latency_ms": {"default": 20}}))
            .await;
        let subnet = scene.cluster().add_subnet("10.200.0.0/17").await;
        scene.prefixes.lock().unwrap().push("10.200.".to_owned());
        let names = nodes_in(scene, &subnet, "n", nodes).await;
        let mooring = scene.mooring_with(options()).await;
        let block = scene.block_in("bench", &subnet, &json!({})).await;
        let label = format!("ip.wgtwo.com.node-restriction.kubernetes.io/{block}");
        scene
            .eventually("all nodes are labelled", LONG, async || {
                let labelled = scene.count("Node", &label).await;
                if labelled == names.len() {
                    Ok(())
                } else {
                    Err(labelled)
                }
            })
            .await;
        Self {
            scene,
            mooring,
            block,
            subnet,
            nodes: names,
            ips: Vec::new(),
            grown_on: STAYING,
            attached: 0,
        }
    }

    /// Creates this number of IPs, and waits until they are reserved. Returns their indexes.
    pub async fn more_ips(&mut self, count: usize) -> Range<usize> {
        self.more_ips_of(count, Wanted::default()).await
    }

    /// Creates IPs of a kind, and waits until they are reserved. Returns their indexes.
    pub async fn more_ips_of(&mut self, count: usize, wanted: Wanted) -> Range<usize> {
        let indexes = self.ips.len()..self.ips.len() + count;
        let batch = format!("from-{}", indexes.start);
        let mut objects = Vec::new();
        for number in indexes.clone() {
            let name = self.scene.named(&format!("ip-{number}"));
            // The first addresses of the subnet are left for interfaces and for addresses that Mooring allocates.
            let address = format!("10.200.{}.{}", 8 + number / 200, 10 + number % 200);
            let spec = match wanted.address {
                AddressFrom::Spec => json!({"address": address, "reassign": wanted.reassign}),
                AddressFrom::Block => json!({"block": self.block, "reassign": wanted.reassign}),
            };
            let labels = json!({"metadata": {"labels": {"app": batch}}});
            objects.push(merged(ip_named(&name, &spec), &labels));
            self.ips.push(Ip { name, address });
        }
        self.create("IP", objects).await;
        self.all("IP", &batch, count, "reserved", |ip| is(ip, "Reserved"))
            .await;
        indexes
    }

    /// Creates a pod for each of these IPs, on the nodes of `on` in turn.
    pub async fn pods(&self, prefix: &str, ips: Range<usize>, on: &Range<usize>) {
        let pods = ips.map(|number| self.pod(prefix, number, on));
        self.create("Pod", pods.collect()).await;
    }

    /// Creates the pods on the first side one by one, each after the previous pod holds its IP.
    pub async fn one_by_one(&self, prefix: &str, ips: Range<usize>) {
        for number in ips {
            self.pods(prefix, number..number + 1, &(0..SIDE)).await;
            self.attached_one(&format!("{prefix}-{number}")).await;
        }
    }

    /// The manifest of the pod of an IP. It tolerates a node that is not ready: when thousands of pods are created,
    /// kwok can be late with the Lease of a node, and an evicted pod would be missing.
    pub fn pod(&self, prefix: &str, ip: usize, on: &Range<usize>) -> Value {
        let node = &self.nodes[on.start + ip % on.len()];
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": format!("{prefix}-{ip}"), "namespace": self.scene.name},
            "spec": {
                "nodeSelector": {"kubernetes.io/hostname": node},
                "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
            },
        });
        merged(Scene::template(prefix, &self.ips[ip]), &pod)
    }

    pub async fn create(&self, kind: &str, objects: Vec<Value>) {
        let created = objects
            .into_iter()
            .map(|object| self.create_one(kind, object));
        let created = stream::iter(created).buffer_unordered(AT_ONCE);
        created.collect::<()>().await;
    }

    pub async fn create_one(&self, kind: &str, object: Value) {
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        let api = self.scene.api(kind);
        let created = api.create(&PostParams::default(), &object).await;
        created.unwrap_or_else(|error| panic!("creating {object:?}: {error}"));
    }

    /// Deletes a pod at once, without its kubelet.
    pub async fn end_pod(&self, name: &str) {
        let now = DeleteParams::default().grace_period(0);
        let deleted = self.scene.api("Pod").delete(name, &now).await;
        deleted.unwrap_or_else(|error| panic!("deleting pod {name}: {error}"));
    }

    /// Waits until exactly `count` objects with this value of the label `app` fulfil `is`.
    pub async fn all(
        &self,
        kind: &str,
        app: &str,
        count: usize,
        what: &str,
        is: impl Fn(&Value) -> bool,
    ) {
        let (api, labelled) = (
            self.scene.api(kind),
            ListParams::default().labels(&format!("app={app}")),
        );
        let sentence = format!("{count} {kind}s {app} are {what}");
        self.scene
            .eventually(&sentence, LONG, async || {
                let objects = api
                    .list(&labelled)
                    .await
                    .map_err(|error| error.to_string())?;
                let objects = objects.items.iter().map(serde_json::to_value);
                let ready = objects.flatten().filter(|object| is(object)).count();
                if ready == count {
                    Ok(())
                } else {
                    Err(ready.to_string())
                }
            })
            .await;
    }

    /// Waits until all pods of this prefix are bound to nodes.
    pub async fn bound(&self, prefix: &str, count: usize) {
        self.all("Pod", prefix, count, "bound", |pod| {
            pod["spec"]["nodeName"].is_string()
        })
        .await;
    }

    /// Waits until the readiness gates of all pods of this prefix are written. A gate gives the reason why its pod
    /// waits.
    pub async fn reported(&self, prefix: &str, count: usize) {
        self.all("Pod", prefix, count, "told why it waits", |pod| {
            condition(pod, GATE).is_some()
        })
        .await;
    }

    /// Waits until all pods of this prefix hold their IPs.
    pub async fn attached(&self, prefix: &str, count: usize) {
        self.all("Pod", prefix, count, "ready", |pod| is(pod, "Ready"))
            .await;
    }

    /// Waits until this pod holds its IP.
    pub async fn attached_one(&self, pod: &str) {
        let sentence = format!("pod {pod} is ready");
        self.scene
            .eventually(&sentence, LONG, async || {
                let pod = self.scene.get("Pod", pod).await.unwrap_or_default();
                is(&pod, "Ready").then_some(())
            })
            .await;
    }

    /// Stops Mooring and starts it again. A new process assumes that the buckets of EC2 are full.
    pub async fn restart(&mut self) {
        assert!(self.mooring.terminate().await.success());
        self.mooring = self.scene.mooring_with(options()).await;
        self.quiet_leader().await;
    }

    /// Turns throttling off.
    pub async fn without_buckets(&self) {
        let off = json!({"token_buckets": false});
        self.scene.ec2().settings(&off).await;
    }

    /// Fills the token buckets of EC2.
    pub async fn full_buckets(&self) {
        self.without_buckets().await;
        let on = json!({"token_buckets": true});
        self.scene.ec2().settings(&on).await;
    }

    /// Empties the buckets of Assign and Unassign.
    pub async fn empty_buckets(&self) {
        let empty =
            json!({"tokens": {"AssignPrivateIpAddresses": 0, "UnassignPrivateIpAddresses": 0}});
        self.scene.ec2().settings(&empty).await;
    }

    /// Leaves the objects of the scene: the cluster ends with it, and a deletion of thousands of objects would take
    /// longer than the measurement.
    pub fn leave_all(&self) {
        for list in [
            &self.scene.ips,
            &self.scene.blocks,
            &self.scene.nodes,
            &self.scene.prefixes,
        ] {
            list.lock().unwrap().clear();
        }
        // From here on the judge does not require an attached address in the histories.
        self.scene.attached.store(false, Ordering::Relaxed);
    }
}

/// Creates nodes, each with an interface in the subnet that has room for [`ROOM`] addresses. Returns their names.
pub async fn nodes_in(scene: &Scene, subnet: &Subnet, prefix: &str, count: usize) -> Vec<String> {
    let nodes = (0..count).map(|number| {
        let spec = NodeSpec::new(&format!("{prefix}{number}"))
            .interface(subnet)
            .instance_type("c5.24xlarge");
        async move { scene.node_of(spec).await.name }
    });
    stream::iter(nodes).buffered(AT_ONCE).collect().await
}
