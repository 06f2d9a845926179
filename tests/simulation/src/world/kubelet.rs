//! The kubelets: pods start, become ready, and end after their deletion. Also the eviction of pods from machines that
//! are away.

use std::time::Duration;

use serde_json::{Value, json};

use super::pod::{Pod, Stage};
use super::{Health, NAMESPACE, World};

/// The readiness gate of Mooring.
const GATE: &str = "ip.wgtwo.com/attached";
/// The most time that a pod takes to end.
pub(super) const GRACE: u64 = 30;

/// Whether the condition of this type is `True`.
#[must_use]
pub(super) fn is_true(pod: &Value, kind: &str) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    conditions.is_some_and(|conditions| {
        conditions
            .iter()
            .any(|one| one["type"] == kind && one["status"] == "True")
    })
}

impl World {
    pub(super) fn run_kubelets(&mut self, now: Duration) {
        let uids: Vec<String> = self.pods.keys().cloned().collect();
        for uid in uids {
            let Some(pod) = self.pods.get(&uid).cloned() else {
                continue;
            };
            let Some(node) = pod.node.clone() else {
                if pod.ending.is_some() {
                    self.remove_pod(&uid, &pod);
                }
                continue;
            };
            let health = self.machines.get(&node).map(|machine| machine.health);
            match health {
                Some(Health::Well) => self.tend(&uid, pod, now),
                Some(Health::Silent(since) | Health::Stopped(since) | Health::Gone(since)) => {
                    // The Node is tainted after 40 s, and the pod is evicted after its toleration.
                    let marked = self
                        .machines
                        .get(&node)
                        .is_some_and(|machine| machine.marked);
                    if marked
                        && pod.ending.is_none()
                        && now >= since + Duration::from_secs(40) + pod.stays
                    {
                        self.delete_pod(&uid, false);
                    }
                }
                // The garbage collector deletes the pod.
                None => {}
            }
        }
    }

    /// The work of the kubelet of a healthy machine for a pod.
    fn tend(&mut self, uid: &str, pod: Pod, now: Duration) {
        if let Some(end) = pod.ending {
            if now >= end {
                self.remove_pod(uid, &pod);
            }
            return;
        }
        if pod.lost.is_some_and(|until| now >= until) {
            self.set(uid, |pod| pod.lost = None);
            self.show(uid, pod.containers_ready, pod.ready);
        }
        match pod.stage {
            Stage::Starting(until) if now >= until => {
                self.set(uid, |pod| pod.stage = Stage::Running);
                let ready = !pod.broken && !pod.needs_address;
                self.set(uid, |pod| pod.containers_ready = ready);
                self.show(uid, ready, false);
            }
            Stage::Running if !pod.ready && !pod.broken => {
                let Some(object) = self.cluster.get("pods", NAMESPACE, &pod.name) else {
                    return;
                };
                if object["metadata"]["uid"] != uid || !is_true(&object, GATE) {
                    return;
                }
                self.set(uid, |pod| (pod.ready, pod.containers_ready) = (true, true));
                self.show(uid, true, true);
            }
            Stage::Running | Stage::Starting(_) | Stage::Unbound | Stage::Ended => {}
        }
    }

    fn set(&mut self, uid: &str, change: impl FnOnce(&mut Pod)) {
        if let Some(pod) = self.pods.get_mut(uid) {
            change(pod);
        }
    }

    /// Writes the status of the pod.
    fn show(&self, uid: &str, containers: bool, ready: bool) {
        let Some(pod) = self.pods.get(uid) else {
            return;
        };
        let word = |is: bool| if is { "True" } else { "False" };
        let status = json!({
            "phase": "Running",
            "containerStatuses": [{
                "name": "main", "image": "i", "imageID": "", "ready": containers, "restartCount": 0,
                "state": {"running": {}},
            }],
            "conditions": [
                {"type": "ContainersReady", "status": word(containers)},
                {"type": "Ready", "status": word(ready)},
            ],
        });
        self.cluster
            .merge_conditions(NAMESPACE, &pod.name, uid, status);
    }

    /// The phase of the pod is `Unknown` for some time. It continues to run.
    pub fn lose_phase(&mut self, uid: &str, until: Duration) {
        let runs = |pod: &&Pod| pod.stage == Stage::Running && pod.ending.is_none();
        let Some(pod) = self.pods.get(uid).filter(runs) else {
            return;
        };
        let status = json!({"phase": "Unknown", "reason": "NodeLost"});
        self.cluster
            .merge_conditions(NAMESPACE, &pod.name, uid, status);
        self.log.fault(format!(
            "world    the phase of pod {} is not known",
            pod.name
        ));
        self.set(uid, |pod| pod.lost = Some(until));
    }

    /// The pod ends by itself.
    pub fn complete_pod(&mut self, uid: &str, phase: &str) {
        let Some(pod) = self
            .pods
            .get(uid)
            .filter(|pod| pod.stage == Stage::Running && pod.ending.is_none())
        else {
            return;
        };
        let status = json!({"phase": phase, "conditions": [
            {"type": "ContainersReady", "status": "False"}, {"type": "Ready", "status": "False"},
        ]});
        self.cluster
            .merge_conditions(NAMESPACE, &pod.name, uid, status);
        self.note(format!("pod {} ended: {phase}", pod.name));
        self.set(uid, |pod| {
            pod.stage = Stage::Ended;
            pod.ready = false;
            // A pod that has ended never runs again.
            pod.lost = None;
        });
    }

    /// Deletes a pod. With force the object is gone at once, although its containers may still run.
    pub fn delete_pod(&mut self, uid: &str, force: bool) {
        let Some(pod) = self.pods.get(uid).cloned() else {
            return;
        };
        if force || pod.node.is_none() || pod.stage == Stage::Ended {
            self.remove_pod(uid, &pod);
            return;
        }
        if pod.ending.is_some() {
            return;
        }
        self.cluster
            .delete("pods", NAMESPACE, &pod.name, Some(GRACE));
        let takes = self.chance.millis(1000, 12_000);
        let end = self.log.now() + takes;
        self.set(uid, |pod| pod.ending = Some(end));
        self.note(format!("pod {} is being deleted", pod.name));
    }

    /// Removes the pod object.
    pub(super) fn remove_pod(&mut self, uid: &str, pod: &Pod) {
        self.cluster.delete("pods", NAMESPACE, &pod.name, Some(0));
        self.pods.remove(uid);
        self.note(format!("pod {} ({uid}) is gone", pod.name));
    }
}
