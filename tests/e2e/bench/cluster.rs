//! The cluster that is measured: one block, and nodes with room for 49 addresses each.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use kube::api::{DynamicObject, PostParams};
use mooring_cluster::{Mooring, MooringOptions, NodeSpec};
use serde_json::{Value, json};

use crate::harness::expectations::condition;
use crate::harness::objects::merged;
use crate::harness::requests::ip_named;
use crate::harness::scene::{Ip, Scene};

/// Beside the address of the interface itself.
pub const ROOM: usize = 49;
/// The time limit of a phase.
pub const LONG: Duration = Duration::from_mins(3);
/// Requests of the one who creates objects, at a time.
const AT_ONCE: usize = 16;

/// What the phases share.
pub struct Bench<'a> {
    pub scene: &'a Scene,
    /// The process that is measured.
    pub mooring: Arc<Mooring>,
    pub nodes: Vec<String>,
    pub ips: Vec<Ip>,
    /// The next node that has no pods.
    pub grown_on: usize,
}

fn is(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|(status, ..)| status == "True")
}

/// As it is shipped: inventories once a minute.
pub fn options() -> MooringOptions {
    MooringOptions {
        inventory_interval: Duration::from_mins(1),
        environment: vec![("RUST_LOG".to_owned(), "info".to_owned())],
        ..MooringOptions::default()
    }
}

impl<'a> Bench<'a> {
    /// The nodes are there before Mooring: interfaces that come later are found by the next inventory only.
    pub async fn new(scene: &'a Scene, nodes: usize) -> Self {
        scene
            .ec2()
            .settings(&json!({"latency_ms": {"default": 20}}))
            .await;
        let subnet = scene.cluster().add_subnet("10.200.0.0/19").await;
        scene.prefixes.lock().unwrap().push("10.200.".to_owned());
        let mut names = Vec::new();
        for number in 0..nodes {
            let spec = NodeSpec::new(&format!("n{number}"))
                .interface(&subnet)
                .instance_type("c5.24xlarge");
            names.push(scene.node_of(spec).await.name);
        }
        let mooring = scene.mooring_with(options()).await;
        let block = scene.block_in("bench", &subnet, &json!({})).await;
        for node in &names {
            scene.expect_labelled(node, &block).await;
        }
        Self {
            scene,
            mooring,
            nodes: names,
            ips: Vec::new(),
            grown_on: super::phases::GROWN_ON,
        }
    }

    /// Creates this number of IPs, and waits until they are reserved. Returns the index of the first.
    pub async fn more_ips(&mut self, count: usize) -> usize {
        let first = self.ips.len();
        let made: Vec<Ip> = (first..first + count)
            .map(|number| Ip {
                name: self.scene.named(&format!("ip-{number}")),
                // The first addresses of the subnet are those of interfaces.
                address: format!("10.200.{}.{}", 4 + number / 200, 10 + number % 200),
            })
            .collect();
        let objects = made
            .iter()
            .map(|ip| ip_named(&ip.name, &json!({"address": ip.address})));
        self.create("IP", objects.collect()).await;
        for ip in &made {
            self.scene.remember_ip(&ip.name);
        }
        self.ips.extend(made);
        let names: Vec<String> = self.ips[first..].iter().map(|ip| ip.name.clone()).collect();
        self.all("IP", &names, "reserved", |ip| is(ip, "Reserved"))
            .await;
        first
    }

    /// A pod for each of these IPs, on the nodes from `first` on in turn.
    pub async fn pods(
        &self,
        prefix: &str,
        ips: std::ops::Range<usize>,
        on: std::ops::Range<usize>,
    ) {
        let pods = ips.map(|number| {
            let node = &self.nodes[on.start + number % on.len()];
            let pod = json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": format!("{prefix}-{number}"), "namespace": self.scene.name},
                "spec": {"nodeSelector": {"kubernetes.io/hostname": node}}});
            merged(Scene::template(prefix, &self.ips[number]), &pod)
        });
        self.create("Pod", pods.collect()).await;
    }

    async fn create(&self, kind: &str, objects: Vec<Value>) {
        let api = self.scene.api(kind);
        let created = objects.into_iter().map(|object| {
            let api = api.clone();
            async move {
                let object: DynamicObject = serde_json::from_value(object).expect("an object");
                let created = api.create(&PostParams::default(), &object).await;
                created.unwrap_or_else(|error| panic!("creating {object:?}: {error}"));
            }
        });
        stream::iter(created)
            .buffer_unordered(AT_ONCE)
            .collect::<()>()
            .await;
    }

    /// Waits until all of these objects are as they are to be.
    pub async fn all(&self, kind: &str, names: &[String], what: &str, is: impl Fn(&Value) -> bool) {
        let sentence = format!("{} {kind}s are {what}", names.len());
        self.scene
            .eventually(&sentence, LONG, async || {
                let objects = self.scene.list(kind).await;
                let meant = objects.iter().filter(|object| {
                    let name = object["metadata"]["name"].as_str().unwrap_or_default();
                    names.iter().any(|of| of == name)
                });
                let ready = meant.filter(|object| is(object)).count();
                if ready == names.len() {
                    Ok(())
                } else {
                    Err(ready)
                }
            })
            .await;
    }

    /// Waits until the pods of these IPs hold them.
    pub async fn attached(&self, prefix: &str, ips: std::ops::Range<usize>) {
        let names: Vec<String> = ips.map(|number| format!("{prefix}-{number}")).collect();
        self.all("Pod", &names, "ready", |pod| is(pod, "Ready"))
            .await;
    }

    /// The resident memory of the process that is measured, in MiB.
    pub fn memory(&self) -> f64 {
        let pid = self.mooring.process().pid();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
        kib.expect("a process has memory") / 1024.0
    }

    /// The CPU time of that process, in seconds.
    pub fn cpu(&self) -> f64 {
        let pid = self.mooring.process().pid();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        let (_, after) = stat.rsplit_once(')').expect("it has a name");
        let fields: Vec<&str> = after.split_whitespace().collect();
        // Fields 14 and 15 of proc(5), in hundredths.
        let ticks = |at: usize| fields[at].parse::<f64>().expect("a number");
        (ticks(11) + ticks(12)) / 100.0
    }

    /// EC2's buckets are full.
    pub async fn full_buckets(&self) {
        for on in [false, true] {
            self.scene
                .ec2()
                .settings(&json!({"token_buckets": on}))
                .await;
        }
    }
}
