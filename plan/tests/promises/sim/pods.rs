//! Pods, and the changes that users and kubelets make.

use mooring_plan::names::{IpName, NodeName, WorkloadUid};
use mooring_plan::objects::{Controller, Handover, Pod};
use mooring_world::objects::{self, of_replica_set};

use super::{Sim, key};

/// A builder for a pod. Each method changes the pod in the world at once.
pub struct Described<'a> {
    sim: &'a mut Sim,
    name: String,
}

impl Sim {
    /// An admitted pod that asks for the IP "partner", not bound yet.
    pub fn pod(&mut self, name: &str) -> Described<'_> {
        let uid = self.kube.new_uid(name);
        let version = self.kube.bump();
        let asks = "partner";
        let ip = self.kube.ips.get(&IpName::from(asks));
        let pod = Pod {
            version,
            created: i64::try_from(version.0).unwrap(),
            ..objects::pod(name, uid, asks, ip.map(|ip| ip.uid.clone()))
        };
        self.note(format!("pod {name} ({}) is created", pod.uid));
        assert!(
            self.kube.pods.insert(pod.key.clone(), pod).is_none(),
            "pod {name} exists"
        );
        Described {
            sim: self,
            name: name.to_owned(),
        }
    }

    pub fn the_pod(&self, name: &str) -> &Pod {
        &self.kube.pods[&key(name)]
    }

    pub fn has_pod(&self, name: &str) -> bool {
        self.kube.pods.contains_key(&key(name))
    }

    pub fn change_pod(&mut self, name: &str, change: impl FnOnce(&mut Pod)) {
        self.kube.change_pod(&key(name), change);
    }

    /// Its containers run and are ready.
    pub fn containers_ready(&mut self, name: &str) {
        self.note(format!("the containers of {name} are ready"));
        self.change_pod(name, |pod| {
            pod.containers_ready = true;
            pod.containers_running = true;
        });
    }

    /// The deletion of the pod begins, with a grace period of 30 s.
    pub fn delete_pod(&mut self, name: &str) {
        self.note(format!("pod {name} is being deleted"));
        self.change_pod(name, |pod| pod.deleting = Some(30));
    }

    /// The pod object is removed.
    pub fn remove_pod(&mut self, name: &str) {
        self.note(format!("pod {name} goes"));
        self.kube.bump();
        self.kube.pods.remove(&key(name));
    }

    pub fn remove_annotation(&mut self, name: &str) {
        self.note(format!("the annotation of {name} is removed"));
        self.change_pod(name, |pod| pod.annotated = false);
    }
}

impl Described<'_> {
    fn so(self, change: impl FnOnce(&mut Pod)) -> Self {
        self.sim.change_pod(&self.name, change);
        self
    }

    /// Lets the pod ask for this IP instead of "partner".
    pub fn asks(self, ip: &str) -> Self {
        let name = IpName::from(ip);
        let uid = self.sim.kube.ips.get(&name).map(|ip| ip.uid.clone());
        self.so(|pod| {
            pod.label = Some(name);
            pod.ip = uid;
        })
    }

    /// Binds it to this node.
    pub fn on(self, node: &str) -> Self {
        let node = NodeName::from(node);
        self.so(|pod| pod.node = Some(node))
    }

    /// Sets its `ReplicaSet`, which is created if it does not exist.
    pub fn of_replica_set(self, name: &str, revision: u64, deployment: &str) -> Self {
        if self.sim.kube.replica_sets.contains_key(name) {
            return self.of(of_replica_set(name));
        }
        self.replica_set(name, revision, deployment)
    }

    /// Sets its `ReplicaSet`, which is written with this revision and Deployment.
    pub fn replica_set(self, name: &str, revision: u64, deployment: &str) -> Self {
        self.sim.replica_set(name, revision, deployment, 1);
        self.of(of_replica_set(name))
    }

    /// Sets a controller that is not a `ReplicaSet`, such as a `StatefulSet`.
    pub fn of_controller(self, uid: &str) -> Self {
        self.of(Controller::Other(WorkloadUid::from(uid)))
    }

    fn of(self, controller: Controller) -> Self {
        self.so(|pod| pod.controller = Some(controller))
    }

    /// Its containers run and are ready.
    pub fn ready(self) {
        self.so(|pod| {
            pod.containers_ready = true;
            pod.containers_running = true;
        });
    }

    /// `ip.wgtwo.com/handover: running`.
    pub fn hands_over_running(self) -> Self {
        self.so(|pod| pod.handover = Handover::Running)
    }
}
