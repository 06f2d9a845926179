//! The node parts: each programs the addresses on its node in one turn, and reports them in the next.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Health, World};

/// The programmed state of one kernel: the entries of its `IPNode`, by IP.
pub(super) type Kernel = BTreeMap<String, Value>;

/// The interval of the heartbeat in the status, in seconds.
const HEARTBEAT: u64 = 10;

/// The time of the last heartbeat that is due.
fn heartbeat(now: Duration) -> String {
    let due = now.as_secs() / HEARTBEAT * HEARTBEAT;
    let due = SignedDuration::from_secs(i64::try_from(due).unwrap_or(i64::MAX));
    (Timestamp::UNIX_EPOCH + due).to_string()
}

impl World {
    /// Runs one turn of each running node part. Some turns are left out: it restarts, or its watch lags.
    pub(super) fn run_node_parts(&mut self) {
        if !self.shape.node_part {
            return;
        }
        let well = |(name, health): (&String, Health)| {
            matches!(health, Health::Well).then(|| name.clone())
        };
        let machines = self
            .machines
            .iter()
            .map(|(name, machine)| (name, machine.health));
        let nodes: Vec<String> = machines.filter_map(well).collect();
        let ips = self.cluster.list("ips");
        for node in nodes {
            if self.chance.one_in(8) {
                continue;
            }
            self.report(&node);
            let here = ips.iter().filter(|ip| ip["status"]["node"] == *node);
            let kernel = here.filter_map(|ip| self.entry(ip)).collect();
            self.kernels.insert(node, kernel);
        }
    }

    /// What the node part programs for an IP on its node.
    fn entry(&self, ip: &Value) -> Option<(String, Value)> {
        let status = &ip["status"];
        let pod = status["podUID"].as_str()?;
        let ready = status["assigned"] == true
            && !status["macAddress"].is_null()
            && self.pods.contains_key(pod);
        let entry = json!({
            "ip": ip["metadata"]["name"], "address": status["address"], "podUID": pod, "claim": status["claimID"],
            "state": if ready { "Programmed" } else { "Waiting" },
        });
        (status["claimed"] == true).then(|| {
            (
                ip["metadata"]["name"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                entry,
            )
        })
    }

    /// Writes the programmed state and the heartbeat into the `IPNode`, if they differ.
    fn report(&self, node: &str) {
        let Some(kernel) = self.kernels.get(node) else {
            return;
        };
        let addresses: Vec<&Value> = kernel.values().collect();
        let shown = self.cluster.get("ipnodes", "", node);
        if shown.is_none() {
            let object = json!({
                "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPNode", "metadata": {"name": node}, "spec": {},
            });
            if self.cluster.create("ipnodes", object).is_err() {
                return;
            }
        }
        let status = json!({
            "version": env!("CARGO_PKG_VERSION"), "heartbeatTime": heartbeat(self.log.now()), "addresses": addresses,
        });
        if shown.is_none_or(|shown| shown["status"] != status) {
            self.cluster.merge_status("ipnodes", "", node, status);
        }
    }
}
