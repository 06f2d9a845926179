//! The controllers of workloads: the number of pods of each `ReplicaSet`, and the pods that they create and delete.

use std::time::Duration;

use serde_json::{Value, json};

use super::pod::{Pod, Stage};
use super::workloads::{Kind, Template, Workload};
use super::{NAMESPACE, World};

impl World {
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

    /// The controller of the Deployment: sets the number of pods of each `ReplicaSet`.
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
                // Keep as many old pods as ready new ones are missing.
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

    /// The controllers of the sets: create and delete pods until the desired number exists.
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
                self.note(format!("pod {name} ({uid}) is made"));
                self.pods.insert(uid, pod);
            }
            Err(why) => {
                if let Some(workload) = self.workloads.get_mut(index) {
                    workload.not_before = now + Duration::from_secs(3);
                }
                self.note(format!("pod {name} is refused: {why}"));
            }
        }
    }
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
