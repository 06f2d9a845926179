//! The state of a pod that the world stores.

use std::time::Duration;

/// The stage of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// No node is chosen yet.
    Unbound,
    /// Its containers start until this time.
    Starting(Duration),
    /// Its containers run.
    Running,
    /// The pod has ended by itself.
    Ended,
}

/// A pod.
#[derive(Clone, Debug)]
pub struct Pod {
    /// Its name. Pods of a `StatefulSet` reuse the name.
    pub name: String,
    /// The name of its workload.
    pub workload: usize,
    /// The number of its template.
    pub revision: u32,
    /// Its node.
    pub node: Option<String>,
    /// Its stage.
    pub stage: Stage,
    /// Whether its containers never become ready.
    pub broken: bool,
    /// Whether its containers become ready only with the address.
    pub needs_address: bool,
    /// Whether the pod is ready, including its gates.
    pub ready: bool,
    /// Whether its containers are ready.
    pub containers_ready: bool,
    /// If it is being deleted: when the kubelet has ended it.
    pub ending: Option<Duration>,
    /// How long it stays on an unreachable node.
    pub stays: Duration,
    /// When it was created.
    pub made: Duration,
    /// Its phase is `Unknown` at least until this time.
    pub lost: Option<Duration>,
}

impl Pod {
    /// Whether it counts as a replica.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.ending.is_none() && self.stage != Stage::Ended
    }
}
