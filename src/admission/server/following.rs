//! Following the requests of one connection: its slot and its timeouts depend on how far the request is.

use std::sync::Arc;

use super::connection_limit::Slot;
use super::io_timeout::Progress;

/// How far a connection's request is. Each request carries it as an extension.
pub(in crate::admission) struct Following {
    progress: Arc<Progress>,
    slot: Slot,
}

impl Following {
    pub(super) fn new(slot: Slot, progress: Arc<Progress>) -> Arc<Self> {
        Arc::new(Self { progress, slot })
    }

    /// The head of a request was read.
    pub(super) fn arrived(&self) {
        self.progress.arriving();
    }

    /// The request is there as a whole, and is answered until what this gives is dropped.
    pub fn begin(self: &Arc<Self>) -> Answering {
        self.slot.become_busy();
        self.progress.asked();
        Answering(Arc::clone(self))
    }

    /// The answer is known. Returns whether the whole request had been read.
    pub(super) fn answered(&self) -> bool {
        let whole = !self.progress.is_arriving();
        self.progress.answered();
        whole
    }

    /// Whether there is no request, not even the first byte of one.
    pub(super) fn is_quiet(&self) -> bool {
        self.progress.is_quiet()
    }
}

/// A request that is being answered: over when this is dropped.
pub(in crate::admission) struct Answering(Arc<Following>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.progress.answered();
        self.0.slot.become_idle();
    }
}
