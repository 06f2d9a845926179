//! Decides when each block is reconciled.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use crate::names::BlockName;
use crate::time::Instant;

/// Minimum time between two reconciliations of a block. Its status is only a summary.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Shorter minimum for a block that changed after a reconciliation with more than a status write: a new block needs a
/// few steps before it can be used.
const IN_PROGRESS: Duration = Duration::from_millis(50);
/// Maximum time between two reconciliations of a block: failed requests are repeated then, if their backoff is over.
pub(super) const MAX_INTERVAL: Duration = Duration::from_secs(5);

/// The state of the schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct BlockSchedule {
    pub(super) affected: BTreeSet<BlockName>,
    pub(super) all_affected: bool,
    /// Blocks whose last reconciliation had steps other than a status write, such as a finalizer, a read or a node
    /// label.
    pub(super) in_progress: BTreeSet<BlockName>,
    pub(super) looked: BTreeMap<BlockName, Instant>,
    /// Blocks with steps in flight, and when these steps were begun.
    pub(super) running: BTreeMap<BlockName, Instant>,
    /// When the next block is due.
    pub(super) next: Instant,
    /// When the addresses were last counted.
    pub(super) counted: Option<Instant>,
}

impl BlockSchedule {
    pub(super) fn mark_affected(&mut self, block: &BlockName) {
        self.affected.insert(block.clone());
        self.next = self.next.min(self.due(block));
    }

    pub(super) fn mark_all_affected(&mut self) {
        self.all_affected = true;
        self.next = Instant::START;
    }

    /// The steps of the block have ended. Returns when they were begun; None if no steps were in flight.
    pub(super) fn ended(&mut self, block: &BlockName) -> Option<Instant> {
        self.running.remove(block)
    }

    /// Schedules the next reconciliation of a block after its steps have ended.
    pub(super) fn schedule_recheck(&mut self, block: &BlockName) {
        // If no fact changed, the steps failed: they are not repeated at once, and the status says what was refused.
        if self.is_affected(block) {
            self.next = self.next.min(self.due(block));
        } else {
            self.in_progress.remove(block);
            self.mark_affected(block);
        }
    }

    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    pub(super) const fn stop_counting(&mut self) {
        self.counted = None;
    }

    pub(super) fn is_affected(&self, block: &BlockName) -> bool {
        self.all_affected || self.affected.contains(block)
    }

    /// When a block is due.
    pub(super) fn due(&self, block: &BlockName) -> Instant {
        let wait = match (self.is_affected(block), self.in_progress.contains(block)) {
            (true, true) => IN_PROGRESS,
            (true, false) => MIN_INTERVAL,
            (false, _) => MAX_INTERVAL,
        };
        let looked = self.looked.get(block);
        looked.map_or(Instant::START, |looked| looked.plus(wait))
    }
}
