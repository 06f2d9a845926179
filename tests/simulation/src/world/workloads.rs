//! The workloads of users, and their controllers.

use std::time::Duration;

use serde_json::{Value, json};

use super::pod::{Pod, Stage};
use super::{NAMESPACE, World};

/// Of which kind a workload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A Deployment that starts the new before it ends the old.
    Rolling,
    /// A Deployment that ends the old before it starts the new.
    Recreate,
    /// A `StatefulSet`: one name, again and again.
    Stateful,
    /// A pod without a controller.
    Bare,
}

/// A `ReplicaSet`, or the template of another workload.
#[derive(Clone, Debug)]
pub struct Template {
    /// Its number, which names it.
    pub number: u32,
    /// The revision of the Deployment.
    pub revision: u32,
    /// Its pods' containers never become ready.
    pub broken: bool,
    /// The UID of the `ReplicaSet`; empty if it is none.
    pub uid: String,
    /// How many pods it is to have.
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
    /// How many pods it is to have.
    pub replicas: usize,
    /// Its containers need the address to become ready.
    pub needs_address: bool,
    /// Its templates; the desired one is the last.
    pub templates: Vec<Template>,
    /// Not before then is a pod made: the last one was refused.
    pub not_before: Duration,
}

impl Workload {
    const fn deployed(&self) -> bool {
        matches!(self.kind, Kind::Rolling | Kind::Recreate)
    }
}

impl World {
    /// A user deploys something.
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
        self.say(format!(
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
        self.say(format!(
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
        self.say(format!("{name} goes back to its template before"));
    }

    /// The desired template works.
    pub fn mend(&mut self, index: usize) {
        let broken = self
            .workloads
            .get(index)
            .and_then(|workload| workload.templates.last());
        if broken.is_some_and(|template| template.broken) {
            self.roll_out(index, false);
        }
    }

    /// Writes a `ReplicaSet` as it is to be.
    fn write_set(&mut self, index: usize, at: usize) {
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

    pub(super) fn run_workloads(&mut self, now: Duration) {
        for index in 0..self.workloads.len() {
            let Some(workload) = self.workloads.get(index) else {
                continue;
            };
            if now < workload.not_before {
                continue;
            }
            if workload.deployed() {
                self.scale_sets(index);
            }
            self.make_and_end_pods(index, now);
        }
    }

    fn of(&self, index: usize) -> impl Iterator<Item = (&String, &Pod)> {
        self.pods
            .iter()
            .filter(move |(_, pod)| pod.workload == index)
    }

    /// The controller of the Deployment: the number of pods of each `ReplicaSet`.
    fn scale_sets(&mut self, index: usize) {
        let Some(workload) = self.workloads.get(index).cloned() else {
            return;
        };
        let last = workload.templates.len().saturating_sub(1);
        let Some(newest) = workload.templates.get(last) else {
            return;
        };
        let ready = self
            .of(index)
            .filter(|(_, pod)| pod.revision == newest.number && pod.counts() && pod.ready)
            .count();
        let old = self
            .of(index)
            .filter(|(_, pod)| pod.revision != newest.number && pod.stage != Stage::Ended)
            .count();
        let wanted = |at: usize, template: &Template| -> usize {
            match (workload.kind, at == last) {
                (Kind::Rolling, true) => workload.replicas,
                // As many old ones as are missing among the new.
                (Kind::Rolling, false) => template
                    .replicas
                    .min(workload.replicas.saturating_sub(ready)),
                (_, true) if old == 0 => workload.replicas,
                (_, true) => template.replicas,
                (_, false) => 0,
            }
        };
        for (at, template) in workload.templates.iter().enumerate() {
            let wanted = wanted(at, template);
            if wanted == template.replicas {
                continue;
            }
            if let Some(template) = self
                .workloads
                .get_mut(index)
                .and_then(|workload| workload.templates.get_mut(at))
            {
                template.replicas = wanted;
            }
            self.write_set(index, at);
        }
    }

    /// The controllers of the sets: as many pods as there are to be.
    fn make_and_end_pods(&mut self, index: usize, now: Duration) {
        let Some(workload) = self.workloads.get(index).cloned() else {
            return;
        };
        if !workload.deployed() {
            // A StatefulSet waits until the name of its pod is free; a pod without a controller is created once.
            let Some(template) = workload.templates.last() else {
                return;
            };
            let there: Vec<(String, Pod)> = self
                .of(index)
                .map(|(uid, pod)| (uid.clone(), pod.clone()))
                .collect();
            if there.is_empty() && workload.replicas > 0 {
                self.make_pod(index, template, now);
                if workload.kind == Kind::Bare
                    && self.of(index).next().is_some()
                    && let Some(workload) = self.workloads.get_mut(index)
                {
                    workload.replicas = 0;
                }
            }
            for (uid, pod) in there {
                let outdated = workload.kind == Kind::Stateful
                    && (pod.revision != template.number || pod.stage == Stage::Ended);
                if outdated && pod.ending.is_none() {
                    self.delete_pod(&uid, false);
                }
            }
            return;
        }
        for template in &workload.templates {
            let counting: Vec<String> = self
                .of(index)
                .filter(|(_, pod)| pod.revision == template.number && pod.counts())
                .map(|(uid, _)| uid.clone())
                .collect();
            for _ in counting.len()..template.replicas {
                self.make_pod(index, template, now);
            }
            for uid in counting.iter().skip(template.replicas) {
                self.delete_pod(uid, false);
            }
        }
    }

    fn make_pod(&mut self, index: usize, template: &Template, now: Duration) {
        let Some(workload) = self.workloads.get(index).cloned() else {
            return;
        };
        let name = match workload.kind {
            Kind::Stateful => format!("{}-0", workload.name),
            _ => format!("{}-{}-{}", workload.name, template.number, self.number()),
        };
        let manifest = manifest(&workload, template, &name);
        match self.cluster.admit_and_create(manifest) {
            Ok(made) => {
                let uid = made["metadata"]["uid"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
                let pod = Pod {
                    name: name.clone(),
                    workload: index,
                    revision: template.number,
                    node: None,
                    stage: Stage::Unbound,
                    broken: template.broken,
                    needs_address: workload.needs_address,
                    ready: false,
                    containers_ready: false,
                    ending: None,
                    stays: Duration::from_secs(30),
                    made: now,
                    lost: None,
                };
                self.say(format!("pod {name} ({uid}) is made"));
                self.pods.insert(uid, pod);
            }
            Err(why) => {
                if let Some(workload) = self.workloads.get_mut(index) {
                    workload.not_before = now + Duration::from_secs(3);
                }
                self.say(format!("pod {name} is refused: {why}"));
            }
        }
    }
}

fn workload_last(workloads: &[Workload], index: usize) -> usize {
    workloads
        .get(index)
        .map_or(0, |workload| workload.templates.len().saturating_sub(1))
}

fn manifest(workload: &Workload, template: &Template, name: &str) -> Value {
    let tolerate = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
    let mut annotations = json!({"ip.wgtwo.com/ip": workload.ip});
    if workload.needs_address {
        annotations["ip.wgtwo.com/handover"] = json!("running");
    }
    let owner = match workload.kind {
        Kind::Bare => json!([]),
        Kind::Stateful => json!([{
            "apiVersion": "apps/v1", "kind": "StatefulSet", "name": workload.name,
            "uid": format!("stateful-{}", workload.name), "controller": true,
        }]),
        Kind::Rolling | Kind::Recreate => json!([{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{}-{}", workload.name, template.number),
            "uid": template.uid, "controller": true, "blockOwnerDeletion": true,
        }]),
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": NAMESPACE, "annotations": annotations, "ownerReferences": owner,
            "labels": {"app": workload.name},
        },
        "spec": {
            "containers": [{"name": "main", "image": "i"}],
            "terminationGracePeriodSeconds": super::kubelet::GRACE,
            "tolerations": [tolerate("node.kubernetes.io/not-ready"), tolerate("node.kubernetes.io/unreachable")],
        },
    })
}
