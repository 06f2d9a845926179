//! The writes of the audit log that matter for calls of EC2, by address: a scene has thousands of both.

use std::collections::{BTreeMap, BTreeSet};

use mooring_cluster::AuditEvent;
use serde_json::Value;

/// The writes of IPs, and the nodes of pods.
pub struct Writes<'a> {
    /// The writes of each IP, by UID.
    of_ip: BTreeMap<&'a str, Vec<&'a AuditEvent>>,
    /// The UIDs of the IPs that ever named an address, as present or previous one.
    naming: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// UID and node of each pod that was ever bound.
    bound: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> Writes<'a> {
    pub fn of(audit: &'a [AuditEvent]) -> Self {
        let mut writes = Self {
            of_ip: BTreeMap::new(),
            naming: BTreeMap::new(),
            bound: BTreeSet::new(),
        };
        for event in audit.iter().filter(|event| event.is_write()) {
            let Some(uid) = event.response["metadata"]["uid"].as_str() else {
                continue;
            };
            match event.resource.as_str() {
                "ips" => {
                    writes.of_ip.entry(uid).or_default().push(event);
                    for address in addresses(&event.response["status"]) {
                        writes.naming.entry(address).or_default().insert(uid);
                    }
                }
                "pods" => {
                    let node = event.response["spec"]["nodeName"].as_str();
                    writes.bound.extend(node.map(|node| (uid, node)));
                }
                _ => {}
            }
        }
        writes
    }

    /// The writes of the IPs that ever named this address: IP by IP, each in order.
    pub fn of_ips_naming(&self, address: &str) -> impl Iterator<Item = &[&'a AuditEvent]> {
        let naming = self.naming.get(address).into_iter().flatten();
        naming.filter_map(|uid| self.of_ip.get(uid).map(Vec::as_slice))
    }

    /// Was this pod ever on this node?
    pub fn was_bound(&self, pod: &str, node: &str) -> bool {
        self.bound.contains(&(pod, node))
    }
}

fn addresses(status: &Value) -> impl Iterator<Item = &str> {
    let previous = status["previous"].as_array().into_iter().flatten();
    let all = std::iter::once(status).chain(previous);
    all.filter_map(|place| place["address"].as_str())
}
