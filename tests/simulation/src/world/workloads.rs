//! The workloads of users: what users deploy, change and undo.

use std::time::Duration;

use serde_json::json;

use super::{NAMESPACE, World};

/// The kind of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A Deployment that starts the new pod before it ends the old one.
    Rolling,
    /// A Deployment that ends the old pod before it starts the new one.
    Recreate,
    /// A `StatefulSet`, which reuses one pod name.
    Stateful,
    /// A pod without a controller.
    Bare,
}

/// A `ReplicaSet`, or the template of another workload.
#[derive(Clone, Debug)]
pub struct Template {
    /// Its number, which is part of its name.
    pub number: u32,
    /// The revision of the Deployment.
    pub revision: u32,
    /// Whether the containers of its pods never become ready.
    pub broken: bool,
    /// The UID of the `ReplicaSet`. Empty for a template of another workload.
    pub uid: String,
    /// The desired number of pods.
    pub replicas: usize,
}

/// A workload.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The IP that its pods ask for.
    pub ip: String,
    /// The desired number of pods.
    pub replicas: usize,
    /// Whether its containers need the address to become ready.
    pub needs_address: bool,
    /// Its templates. The last one is desired.
    pub templates: Vec<Template>,
    /// No pod is created before this time, because the last one was refused.
    pub not_before: Duration,
}

impl Workload {
    pub(super) const fn deployed(&self) -> bool {
        matches!(self.kind, Kind::Rolling | Kind::Recreate)
    }
}

impl World {
    /// A user creates a workload.
    pub fn deploy(&mut self, name: &str, kind: Kind, ip: &str, replicas: usize) {
        let needs_address = kind == Kind::Rolling && self.chance.one_in(4);
        self.workloads.push(Workload {
            name: name.to_owned(),
            kind,
            ip: ip.to_owned(),
            replicas,
            needs_address,
            templates: Vec::new(),
            not_before: Duration::ZERO,
        });
        self.roll_out(self.workloads.len() - 1, false);
        self.note(format!(
            "{name} is deployed as {kind:?} x{replicas} for {ip}"
        ));
    }

    /// A user changes the template.
    pub fn roll_out(&mut self, index: usize, broken: bool) {
        let number = u32::try_from(self.number()).unwrap_or_default();
        let Some(workload) = self.workloads.get_mut(index) else {
            return;
        };
        let revision = workload.templates.iter().map(|one| one.revision).max();
        workload.templates.push(Template {
            number,
            revision: revision.unwrap_or_default() + 1,
            broken,
            uid: String::new(),
            replicas: 0,
        });
        let name = workload.name.clone();
        if workload.deployed() {
            self.write_set(index, workload_last(&self.workloads, index));
        }
        self.note(format!(
            "{name} rolls out template {number}, broken: {broken}"
        ));
    }

    /// A user returns to the former template.
    pub fn undo(&mut self, index: usize) {
        let Some(workload) = self.workloads.get_mut(index) else {
            return;
        };
        let count = workload.templates.len();
        if count < 2 {
            return;
        }
        let highest = workload.templates.iter().map(|one| one.revision).max();
        let mut template = workload.templates.remove(count - 2);
        template.revision = highest.unwrap_or_default() + 1;
        workload.templates.push(template);
        let name = workload.name.clone();
        if workload.deployed() {
            self.write_set(index, workload_last(&self.workloads, index));
        }
        self.note(format!("{name} goes back to its template before"));
    }

    /// Rolls out a working template if the desired one is broken.
    pub fn roll_out_working(&mut self, index: usize) {
        let broken = self
            .workloads
            .get(index)
            .and_then(|workload| workload.templates.last());
        if broken.is_some_and(|template| template.broken) {
            self.roll_out(index, false);
        }
    }

    /// Writes the desired state of a `ReplicaSet`.
    pub(super) fn write_set(&mut self, index: usize, at: usize) {
        let Some(workload) = self.workloads.get(index) else {
            return;
        };
        let Some(template) = workload.templates.get(at) else {
            return;
        };
        let name = format!("{}-{}", workload.name, template.number);
        let hash = template.number.to_string();
        let labels = json!({"app": workload.name, "pod-template-hash": hash});
        let selector = if self.shape.expressions {
            let app = json!({"key": "app", "operator": "In", "values": [workload.name]});
            json!({"matchLabels": {"pod-template-hash": hash}, "matchExpressions": [app]})
        } else {
            json!({"matchLabels": labels})
        };
        let patch = json!({
            "metadata": {"annotations": {"deployment.kubernetes.io/revision": template.revision.to_string()}},
            "spec": {"replicas": template.replicas},
        });
        if !template.uid.is_empty() {
            self.cluster.merge("replicasets", NAMESPACE, &name, patch);
            return;
        }
        let owner = json!([{
            "apiVersion": "apps/v1", "kind": "Deployment", "name": workload.name,
            "uid": format!("deployment-{}", workload.name), "controller": true, "blockOwnerDeletion": true,
        }]);
        let set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {
                "name": name, "namespace": NAMESPACE, "labels": labels, "ownerReferences": owner,
                "annotations": patch["metadata"]["annotations"],
            },
            "spec": {
                "replicas": template.replicas, "selector": selector,
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "i"}]}},
            },
        });
        let made = self
            .cluster
            .create("replicasets", set)
            .expect("a ReplicaSet is made");
        let uid = made["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if let Some(template) = self
            .workloads
            .get_mut(index)
            .and_then(|workload| workload.templates.get_mut(at))
        {
            template.uid = uid;
        }
    }
}

fn workload_last(workloads: &[Workload], index: usize) -> usize {
    workloads
        .get(index)
        .map_or(0, |workload| workload.templates.len().saturating_sub(1))
}
