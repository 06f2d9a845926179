//! Tracks the request of one connection. The slot and the timeouts depend on the stage of the request.

use std::sync::Arc;

use super::connection_limit::Slot;
use super::io_timeout::RequestStage;

/// The stage of the request of one connection. Each request has it as an extension.
pub(in crate::admission) struct Following {
    stage: Arc<RequestStage>,
    slot: Slot,
}

impl Following {
    pub(super) fn new(slot: Slot, stage: Arc<RequestStage>) -> Arc<Self> {
        Arc::new(Self { stage, slot })
    }

    /// The head of a request was read.
    pub(super) fn arrived(&self) {
        self.stage.arriving();
    }

    /// The whole request was read. It counts as being answered until the returned guard is dropped.
    pub fn begin(self: &Arc<Self>) -> Answering {
        self.slot.become_busy();
        self.stage.asked();
        Answering(Arc::clone(self))
    }

    /// The answer is known. Returns whether the whole request had been read.
    pub(super) fn answered(&self) -> bool {
        let whole = !self.stage.is_arriving();
        self.stage.answered();
        whole
    }

    /// Whether there is no request, not even the first byte of one.
    pub(super) fn is_quiet(&self) -> bool {
        self.stage.is_quiet()
    }
}

/// Guard of a request that is being answered.
pub(in crate::admission) struct Answering(Arc<Following>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.stage.answered();
        self.0.slot.become_idle();
    }
}
