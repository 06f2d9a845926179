//! The scheduler: binds each pod to a node that matches.

use serde_json::Value;

use super::out_of_service::is_out_of_service;
use super::pod::Stage;
use super::{Health, NAMESPACE, World};

impl World {
    pub(super) fn schedule(&mut self) {
        let waiting: Vec<(String, String)> = self
            .pods
            .iter()
            .filter(|(_, pod)| pod.stage == Stage::Unbound && pod.ending.is_none())
            .map(|(uid, pod)| (uid.clone(), pod.name.clone()))
            .collect();
        if waiting.is_empty() {
            return;
        }
        let nodes = self.cluster.list("nodes");
        for (uid, name) in waiting {
            let Some(object) = self.cluster.get("pods", NAMESPACE, &name) else {
                continue;
            };
            let fitting: Vec<String> = nodes
                .iter()
                .filter(|node| {
                    self.takes_pods(node) && fits(&object, node) && !is_out_of_service(node)
                })
                .filter_map(|node| Some(node["metadata"]["name"].as_str()?.to_owned()))
                .collect();
            let Some(node) = self.chance.pick(&fitting).cloned() else {
                continue;
            };
            self.cluster.bind(NAMESPACE, &name, &node);
            let ready = self.log.now() + self.chance.millis(500, 4000);
            if let Some(pod) = self.pods.get_mut(&uid) {
                pod.node = Some(node.clone());
                pod.stage = Stage::Starting(ready);
            }
            self.note(format!("pod {name} comes to {node}"));
        }
    }

    /// Whether the node is ready and schedulable.
    fn takes_pods(&self, node: &Value) -> bool {
        let machine = node["metadata"]["name"]
            .as_str()
            .and_then(|name| self.machines.get(name));
        // The Node of a machine that is silent for a short time is still ready.
        machine.is_some_and(|machine| {
            !machine.cordoned && !machine.marked && !matches!(machine.health, Health::Gone(_))
        })
    }
}

/// Whether the node matches the node affinity of the pod.
fn fits(pod: &Value, node: &Value) -> bool {
    let required = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    let Some(terms) = pod.pointer(required).and_then(Value::as_array) else {
        return true;
    };
    let labels = &node["metadata"]["labels"];
    let meets = |rule: &Value| {
        let label = rule["key"]
            .as_str()
            .map_or(&Value::Null, |key| &labels[key]);
        match rule["operator"].as_str() {
            Some("Exists") => !label.is_null(),
            Some("In") => rule["values"]
                .as_array()
                .is_some_and(|values| values.contains(label)),
            _ => false,
        }
    };
    terms.iter().any(|term| {
        let rules = term["matchExpressions"].as_array();
        rules.is_some_and(|rules| !rules.is_empty() && rules.iter().all(meets))
    })
}
