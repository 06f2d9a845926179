//! The judge: checks the invariants of a scene (S1 to S4) in the histories of EC2 and of the API server. At the end of
//! the scene nothing may be left over.

pub mod explained;
pub mod rules;
pub mod writes;

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use futures::StreamExt as _;
use futures::future::ready;
use futures::stream::iter;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::DeleteParams;
use mooring_cluster::{AuditEvent, Mutation, wait};

use crate::harness::judge::explained::{explained, may_steal};
use crate::harness::judge::rules::{
    changes_nothing, claimed_before, gate_false_before, has_open_gate, not_empty, one_holder,
};
use crate::harness::judge::writes::Writes;
use crate::harness::scene::{SOON, Scene};

/// The number of concurrent deletions: the review of a deleted block lists all IPs, and such a list takes the API
/// server up to 100 ms.
const SIDE_BY_SIDE: usize = 8;

impl Scene {
    /// The calls with the addresses of the scene, refused or not.
    pub async fn mutations(&self) -> Vec<Mutation> {
        let prefixes = self.prefixes.lock().unwrap().clone();
        let mut history = self.ec2().history().await;
        history.retain(|mutation| {
            mutation.action.ends_with("PrivateIpAddresses")
                && mutation
                    .addresses
                    .iter()
                    .any(|address| prefixes.iter().any(|prefix| address.starts_with(prefix)))
        });
        history
    }

    /// The audit log since the start of the scene, in the order of the writes in etcd.
    pub fn audit(&self) -> Vec<AuditEvent> {
        let (events, _) = self.cluster().audit_naming(&self.name, self.audit_mark);
        in_order(events)
    }

    /// S1 to S4: one holder at a time, no call without a claim that was written before, and no address taken from
    /// an interface that the status does not explain.
    pub async fn judge(&self) {
        let foreign = self.foreign.lock().unwrap().clone();
        let history = self.mutations().await;
        let mut mutations = history.clone();
        mutations.retain(|mutation| !foreign.contains(&mutation.sequence));
        let attached = self.attached.load(Ordering::Relaxed);
        if attached {
            // The API server writes to the audit log after it has answered: on a busy machine the last line is late.
            let _late = wait(SOON, async || has_open_gate(&self.audit())).await;
        }
        let audit = self.audit();
        if attached {
            not_empty(&mutations, &audit);
        }
        let spans = one_holder(&audit, &self.name);
        self.judge_rights(&audit).await;
        let writes = Writes::of(&audit);
        for mutation in &mutations {
            claimed_before(mutation, &writes);
            if !changes_nothing(mutation, &history) {
                gate_false_before(mutation, &spans);
            }
            explained(mutation, &history, &writes);
            may_steal(mutation, &writes);
        }
    }

    /// Deletes the objects of the scene, the nodes last, and waits until all of them are gone.
    pub async fn clean_up(&self) {
        for kind in ["Deployment", "StatefulSet", "DaemonSet", "Job", "Pod"] {
            let now = DeleteParams::default().grace_period(0);
            let all = kube::api::ListParams::default();
            // A kind that the scene does not use has no objects to delete.
            let _ = self.api(kind).delete_collection(&now, &all).await;
        }
        for (kind, names) in [("IP", &self.ips), ("IPBlock", &self.blocks)] {
            let names = names.lock().unwrap().clone();
            self.eventually(
                &format!("no {kind} of the scene is left"),
                SOON,
                async || {
                    let deletions = names.iter().map(|name| self.delete_left(kind, name));
                    let left = iter(deletions).buffer_unordered(SIDE_BY_SIDE);
                    let left: Vec<String> = left.filter_map(ready).collect().await;
                    if left.is_empty() {
                        Ok(())
                    } else {
                        Err(left.join("\n"))
                    }
                },
            )
            .await;
        }
        let prefixes = self.prefixes.lock().unwrap().clone();
        let ours = |address: &String| prefixes.iter().any(|prefix| address.starts_with(prefix));
        self.eventually("no reservation of the scene is left", SOON, async || {
            let left = self.list("IPAddress").await;
            let mut names = left.iter().map(|left| left["metadata"]["name"].to_string());
            names
                .find(|name| ours(&name.trim_matches('"').to_owned()))
                .map_or(Ok(()), Err)
        })
        .await;
        let foreign = self.foreign_addresses().await;
        let state = self.ec2().state().await;
        let left: Vec<&String> = state
            .network_interfaces
            .iter()
            .flat_map(|interface| &interface.secondary)
            .filter(|address| ours(address) && !foreign.contains(*address))
            .collect();
        assert!(left.is_empty(), "EC2 still has {left:?}");
        let nodes = self.nodes.lock().unwrap().clone();
        for node in &nodes {
            let _ = self
                .api("Node")
                .delete(node, &DeleteParams::default())
                .await;
        }
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let _ = namespaces
            .delete(&self.name, &DeleteParams::default())
            .await;
    }

    /// Deletes an object, and returns its state for a failure message. None if it does not exist.
    async fn delete_left(&self, kind: &str, name: &str) -> Option<String> {
        let object = self.get(kind, name).await?;
        if !object["metadata"]["deletionTimestamp"].is_null() {
            return Some(format!("being deleted: {object}"));
        }
        // On a busy machine the webhook can ask for a retry, so an error is only reported.
        let deleted = self.api(kind).delete(name, &DeleteParams::default()).await;
        let answer = deleted.map_or_else(|error| error.to_string(), |_| "deleted".to_owned());
        Some(format!("{answer}: {object}"))
    }

    /// Addresses that the scene assigned as a foreign client. They may stay.
    async fn foreign_addresses(&self) -> BTreeSet<String> {
        let foreign = self.foreign.lock().unwrap().clone();
        let mutations = self.mutations().await.into_iter();
        mutations
            .filter(|mutation| {
                foreign.contains(&mutation.sequence) && mutation.action.starts_with("Assign")
            })
            .flat_map(|mutation| mutation.addresses)
            .collect()
    }
}

/// Sorts the audit log by resourceVersion, which is the order of the writes in etcd. (The log itself is in the order of
/// the responses.) Entries that are not writes keep their place.
pub fn in_order(events: Vec<AuditEvent>) -> Vec<AuditEvent> {
    let mut last = 0_u64;
    let mut keyed: Vec<(u64, AuditEvent)> = Vec::with_capacity(events.len());
    for event in events {
        let version: Option<u64> = event
            .resource_version()
            .and_then(|version| version.parse().ok());
        if event.is_write() {
            last = version.unwrap_or(last);
        }
        keyed.push((last, event));
    }
    keyed.sort_by_key(|(version, _)| *version);
    keyed.into_iter().map(|(_, event)| event).collect()
}
