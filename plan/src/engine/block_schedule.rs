//! When each block is looked at.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use crate::names::BlockName;
use crate::time::Instant;

/// A block is looked at no more often than this: its status is a summary.
const AT_MOST: Duration = Duration::from_secs(1);
/// But sooner if it was touched after a look that led to more than a status: a new block is a few steps from being
/// of use.
const IN_PROGRESS: Duration = Duration::from_millis(50);
/// And no less often than this: what failed is asked again.
pub(super) const AT_LEAST: Duration = Duration::from_secs(5);

/// When each block was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct BlockSchedule {
    pub(super) touched: BTreeSet<BlockName>,
    pub(super) all_touched: bool,
    /// Blocks whose last look led to steps that others wait for: a finalizer, a read, a node's label.
    pub(super) in_progress: BTreeSet<BlockName>,
    pub(super) looked: BTreeMap<BlockName, Instant>,
    /// Blocks whose steps are in flight, and when those were begun.
    pub(super) running: BTreeMap<BlockName, Instant>,
    /// When to look next: at a block that was touched, or at all of them.
    pub(super) next: Instant,
    /// When addresses were counted.
    pub(super) counted: Option<Instant>,
}

impl BlockSchedule {
    pub(super) fn touch(&mut self, block: &BlockName) {
        self.touched.insert(block.clone());
        self.next = self.next.min(self.due(block));
    }

    pub(super) fn touch_all(&mut self) {
        self.all_touched = true;
        self.next = Instant::START;
    }

    /// Its steps have ended; when they were begun. None: there were none.
    pub(super) fn ended(&mut self, block: &BlockName) -> Option<Instant> {
        self.running.remove(block)
    }

    /// Looks again at what its steps have led to.
    pub(super) fn look_after(&mut self, block: &BlockName) {
        // What failed changed no fact, and is not tried again at once.
        if self.is_touched(block) {
            self.next = self.next.min(self.due(block));
        } else {
            self.in_progress.remove(block);
            self.touch(block);
        }
    }

    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    pub(super) const fn stop_counting(&mut self) {
        self.counted = None;
    }

    pub(super) fn is_touched(&self, block: &BlockName) -> bool {
        self.all_touched || self.touched.contains(block)
    }

    /// When a block is to be looked at.
    pub(super) fn due(&self, block: &BlockName) -> Instant {
        let wait = match (self.is_touched(block), self.in_progress.contains(block)) {
            (true, true) => IN_PROGRESS,
            (true, false) => AT_MOST,
            (false, _) => AT_LEAST,
        };
        let looked = self.looked.get(block);
        looked.map_or(Instant::START, |looked| looked.plus(wait))
    }
}
