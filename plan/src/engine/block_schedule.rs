//! Decides when each block is reconciled.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use crate::names::BlockName;
use crate::time::Instant;

/// Minimum time between two reconciliations of a block. Its status is only a summary.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Shorter minimum for a block that changed after a reconciliation with more than a status write: a new block needs a
/// few steps before it can be used.
const IN_PROGRESS: Duration = Duration::from_millis(50);
/// Maximum time between two reconciliations of a block: failed requests are repeated then, if their backoff is over.
const MAX_INTERVAL: Duration = Duration::from_secs(5);

/// The state of the schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct BlockSchedule {
    blocks: BTreeMap<BlockName, BlockState>,
    all_affected: bool,
    /// When the next block is due.
    next: Instant,
    /// When the addresses were last counted.
    pub(super) counted: Option<Instant>,
}

/// The state of one block.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct BlockState {
    affected: bool,
    /// True if its last reconciliation had steps other than a status write, such as a finalizer, a read or a node
    /// label.
    in_progress: bool,
    looked: Option<Instant>,
    /// When its steps in flight were begun.
    running: Option<Instant>,
}

impl BlockState {
    /// When the block is due.
    fn due(&self, all_affected: bool) -> Instant {
        let wait = match (self.affected || all_affected, self.in_progress) {
            (true, true) => IN_PROGRESS,
            (true, false) => MIN_INTERVAL,
            (false, _) => MAX_INTERVAL,
        };
        let looked = self.looked;
        looked.map_or(Instant::START, |looked| looked.plus(wait))
    }
}

impl BlockSchedule {
    pub(super) fn mark_affected(&mut self, block: &BlockName) {
        let state = self.blocks.entry(block.clone()).or_default();
        state.affected = true;
        self.next = self.next.min(state.due(self.all_affected));
    }

    pub(super) fn mark_all_affected(&mut self) {
        self.all_affected = true;
        self.next = Instant::START;
    }

    /// The blocks that are due, of all blocks. They count as reconciled now.
    pub(super) fn take_due(&mut self, all: &[BlockName], now: Instant) -> Vec<BlockName> {
        // A block that is gone accepts the end of its steps.
        self.blocks.retain(|name, state| {
            let running = state.running;
            if !all.contains(name) {
                *state = BlockState {
                    running,
                    ..BlockState::default()
                };
            }
            all.contains(name) || running.is_some()
        });
        let all_affected = core::mem::take(&mut self.all_affected);
        self.next = now.plus(MAX_INTERVAL);
        let mut due = Vec::new();
        for name in all {
            let state = self.blocks.entry(name.clone()).or_default();
            state.affected |= all_affected;
            if state.running.is_some() {
                continue;
            }
            if now < state.due(false) {
                self.next = self.next.min(state.due(false));
                continue;
            }
            state.affected = false;
            state.looked = Some(now);
            due.push(name.clone());
        }
        due
    }

    /// Steps of the block were begun.
    pub(super) fn begun(&mut self, block: &BlockName, now: Instant) {
        self.blocks.entry(block.clone()).or_default().running = Some(now);
    }

    pub(super) fn is_running(&self, block: &BlockName) -> bool {
        let state = self.blocks.get(block);
        state.is_some_and(|state| state.running.is_some())
    }

    pub(super) fn set_in_progress(&mut self, block: &BlockName, in_progress: bool) {
        self.blocks.entry(block.clone()).or_default().in_progress = in_progress;
    }

    /// The steps of the block have ended. Returns when they were begun; None if no steps were in flight.
    pub(super) fn ended(&mut self, block: &BlockName) -> Option<Instant> {
        let state = self.blocks.get_mut(block)?;
        let begun = state.running.take();
        // For a model checker, an entry that says nothing would be another state.
        if *state == BlockState::default() {
            self.blocks.remove(block);
        }
        begun
    }

    /// Schedules the next reconciliation of a block after its steps have ended.
    pub(super) fn schedule_recheck(&mut self, block: &BlockName) {
        let state = self.blocks.entry(block.clone()).or_default();
        // If no fact changed, the steps failed: they are not repeated at once, and the status says what was refused.
        if !(state.affected || self.all_affected) {
            state.in_progress = false;
        }
        self.mark_affected(block);
    }

    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    pub(super) const fn stop_counting(&mut self) {
        self.counted = None;
    }
}
