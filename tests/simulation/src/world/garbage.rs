//! The garbage collectors: they delete objects without an owner.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{NAMESPACE, World};

impl World {
    pub(super) fn sweep(&mut self, _now: Duration) {
        // Pods of Nodes that do not exist any more.
        let orphans: Vec<(String, super::Pod)> = self
            .pods
            .iter()
            .filter(|(_, pod)| {
                let node = pod.node.as_ref();
                node.is_some_and(|node| !self.machines.contains_key(node))
            })
            .map(|(uid, pod)| (uid.clone(), pod.clone()))
            .collect();
        for (uid, pod) in orphans {
            self.remove_pod(&uid, &pod);
        }
        // A node part names its Node as the owner of its `IPNode`.
        for report in self.cluster.list("ipnodes") {
            let name = report["metadata"]["name"].as_str().unwrap_or_default();
            if self.cluster.get("nodes", "", name).is_none() {
                self.cluster.delete("ipnodes", "", name, None);
                self.kernels.remove(name);
            }
        }
        // Pods and sets of deleted workloads are deleted together with their owner, in `workloads`.
        let ips = self.cluster.list("ips");
        let lives = |uid: &Value| ips.iter().any(|ip| &ip["metadata"]["uid"] == uid);
        for reservation in self.cluster.list("ipaddresses") {
            let meta = &reservation["metadata"];
            let owners = meta["ownerReferences"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let orphaned = !owners.is_empty() && !owners.iter().any(|owner| lives(&owner["uid"]));
            if orphaned && meta["deletionTimestamp"].is_null() {
                let name = meta["name"].as_str().unwrap_or_default();
                self.cluster.delete("ipaddresses", "", name, None);
                self.note(format!("IPAddress {name} belongs to nothing"));
            }
        }
    }

    /// All pods of the cluster.
    #[must_use]
    pub fn living(&self) -> Vec<Arc<Value>> {
        self.pods
            .values()
            .filter_map(|pod| self.cluster.get("pods", NAMESPACE, &pod.name))
            .collect()
    }
}
