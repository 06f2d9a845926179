//! A pod as the world remembers it.

use std::time::Duration;

/// How far a pod has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// No node is chosen yet.
    Unbound,
    /// Its containers start, until then.
    Starting(Duration),
    /// Its containers run.
    Running,
    /// It has ended by itself.
    Ended,
}

/// A pod.
#[derive(Clone, Debug)]
pub struct Pod {
    /// Its name: one of a `StatefulSet` is used again.
    pub name: String,
    /// Which workload's.
    pub workload: usize,
    /// Which template's, by its number.
    pub revision: u32,
    /// Its node.
    pub node: Option<String>,
    /// How far it has come.
    pub stage: Stage,
    /// Its containers never become ready.
    pub broken: bool,
    /// Its containers become ready only with the address.
    pub needs_address: bool,
    /// It is ready, gate included.
    pub ready: bool,
    /// Its containers are ready.
    pub containers_ready: bool,
    /// It is being deleted: when its kubelet has done.
    pub ending: Option<Duration>,
    /// How long it stays on a node that is out of reach.
    pub stays: Duration,
    /// When it was made.
    pub made: Duration,
    /// Its phase is not known, until then at least.
    pub lost: Option<Duration>,
}

impl Pod {
    /// It counts as a replica.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.ending.is_none() && self.stage != Stage::Ended
    }
}
