//! The taint `out-of-service`: persons set it too, and Kubernetes acts on it.

use std::time::Duration;

use serde_json::{Value, json};

use super::kubelet::is_true;
use super::{Health, World};

const KEY: &str = "node.kubernetes.io/out-of-service";
/// The value of the taint of a person.
const PERSON: &str = "nodeshutdown";
/// The interval of the pod garbage collector, in seconds.
const COLLECTED: u64 = 20;

/// The taints `out-of-service` of a Node.
fn taints(node: &Value) -> Vec<Value> {
    let taints = node["spec"]["taints"].as_array();
    let taints = taints.into_iter().flatten();
    taints
        .filter(|taint| taint["key"] == KEY)
        .cloned()
        .collect()
}

/// Whether the Node has such a taint.
pub(super) fn is_out_of_service(node: &Value) -> bool {
    !taints(node).is_empty()
}

impl World {
    /// The taints `out-of-service` of the present Node.
    pub(super) fn taints_of(&self, name: &str) -> Vec<Value> {
        let node = self.cluster.get("nodes", "", name);
        node.map_or_else(Vec::new, |node| taints(&node))
    }

    /// A person sets the taint on a Node that does not have it, or removes it.
    pub fn person_taints(&self, name: &str, out: bool) {
        let node = self.cluster.get("nodes", "", name);
        let Some(node) = node.filter(|node| !out || !is_out_of_service(node)) else {
            return;
        };
        let all = node["spec"]["taints"].as_array().cloned();
        let mut all = all.unwrap_or_default();
        let before = all.len();
        all.retain(|taint| taint["key"] != KEY || taint["value"] != PERSON);
        if out {
            all.push(json!({"key": KEY, "value": PERSON, "effect": "NoExecute"}));
        }
        if all.len() != before {
            self.cluster
                .merge("nodes", "", name, json!({"spec": {"taints": all}}));
            self.log.fault(format!(
                "world    a person takes node {name} out of service: {out}"
            ));
        }
    }

    /// The Nodes with the taint.
    #[must_use]
    pub fn tainted(&self) -> Vec<String> {
        let nodes = self.cluster.list("nodes").into_iter();
        let tainted = nodes.filter(|node| is_out_of_service(node));
        tainted
            .filter_map(|node| Some(node["metadata"]["name"].as_str()?.to_owned()))
            .collect()
    }

    /// Writes the last report of a kubelet that ends: its node is not ready.
    pub fn last_word(&self, name: &str) {
        let machine = self.machines.get(name);
        if machine.is_some_and(|machine| machine.health != Health::Well) {
            let status = json!({"conditions": [{"type": "Ready", "status": "False"}]});
            self.cluster.merge_status("nodes", "", name, status);
        }
    }

    /// Deletes the pods on a Node with the taint. If the Node is not ready, deletes them by force.
    pub(super) fn evict(&mut self, now: Duration) {
        if !self.shape.fast {
            return;
        }
        for node in self.cluster.list("nodes") {
            if !is_out_of_service(&node) {
                continue;
            }
            let collects = !is_true(&node, "Ready") && now.as_secs().is_multiple_of(COLLECTED);
            let there = self.pods.iter().filter(|(_, pod)| {
                let on = pod.node.as_deref();
                on.is_some() && on == node["metadata"]["name"].as_str()
            });
            let there: Vec<_> = there.map(|(uid, pod)| (uid.clone(), pod.clone())).collect();
            for (uid, pod) in there {
                if pod.ending.is_none() {
                    self.delete_pod(&uid, false);
                } else if collects {
                    self.remove_pod(&uid, &pod);
                }
            }
        }
    }
}
