//! When each block is looked at: what it needs beside the steps of its IPs, and what is counted of it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::{Effect, Engine, Pacing, Report};
use crate::names::{BlockName, Millis};
use crate::step::BlockStep;

/// A block is looked at no more often than this: its status is a summary.
const AT_MOST: Millis = Millis::seconds(1);
/// But sooner if it was touched after a look that led to more than a status: a new block is a few steps from being
/// of use.
const IN_PROGRESS: Millis = Millis(50);
/// And no less often than this: what failed is asked again.
const AT_LEAST: Millis = Millis::seconds(5);
/// How often addresses are counted.
const COUNT: Millis = Millis::seconds(1);

/// When each block was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct BlockSchedule {
    touched: BTreeSet<BlockName>,
    all_touched: bool,
    /// Blocks whose last look led to steps that others wait for: a finalizer, a read, a node's label.
    in_progress: BTreeSet<BlockName>,
    looked: BTreeMap<BlockName, Millis>,
    /// Blocks whose steps are in flight, and when those were begun.
    running: BTreeMap<BlockName, Millis>,
    /// When to look next: at a block that was touched, or at all of them.
    next: Millis,
    /// When addresses were counted.
    counted: Option<Millis>,
}

impl BlockSchedule {
    fn touch(&mut self, block: &BlockName) {
        self.touched.insert(block.clone());
        self.next = self.next.min(self.due(block));
    }

    fn touch_all(&mut self) {
        self.all_touched = true;
        self.next = Millis(0);
    }

    /// Its steps have ended; when they were begun. None: there were none.
    pub(super) fn ended(&mut self, block: &BlockName) -> Option<Millis> {
        self.running.remove(block)
    }

    /// Looks again at what its steps have led to.
    pub(super) fn look_after(&mut self, block: &BlockName) {
        // What failed changed no fact, and is not tried again at once.
        if self.all_touched || self.touched.contains(block) {
            self.next = self.next.min(self.due(block));
        } else {
            self.in_progress.remove(block);
            self.touch(block);
        }
    }

    pub(super) const fn next(&self) -> Millis {
        self.next
    }

    pub(super) const fn stop_counting(&mut self) {
        self.counted = None;
    }

    fn is_touched(&self, block: &BlockName) -> bool {
        self.all_touched || self.touched.contains(block)
    }

    /// When a block is to be looked at.
    fn due(&self, block: &BlockName) -> Millis {
        let wait = match (self.is_touched(block), self.in_progress.contains(block)) {
            (true, true) => IN_PROGRESS,
            (true, false) => AT_MOST,
            (false, _) => AT_LEAST,
        };
        let looked = self.looked.get(block);
        looked.map_or(Millis(0), |looked| looked.plus(wait))
    }
}

impl Engine {
    /// Begins what blocks need.
    pub(super) fn begin_blocks(&mut self, now: Millis) {
        if now < self.blocks.next {
            return;
        }
        let blocks: Vec<BlockName> = self.facts.block_names().cloned().collect();
        let mut left_touched = BTreeSet::new();
        let mut next = now.plus(AT_LEAST);
        for block in &blocks {
            let due = self.blocks.due(block);
            let running = self.blocks.running.contains_key(block);
            if running || now < due {
                if !running {
                    next = next.min(due);
                }
                if self.blocks.is_touched(block) {
                    left_touched.insert(block.clone());
                }
                continue;
            }
            self.blocks.looked.insert(block.clone(), now);
            if let Some(effect) = self.look_at(block, now) {
                self.outbox.push_back(effect);
            }
        }
        self.blocks.looked.retain(|block, _| blocks.contains(block));
        self.blocks
            .in_progress
            .retain(|block| blocks.contains(block));
        self.blocks.touched = left_touched;
        self.blocks.all_touched = false;
        self.blocks.next = next;
        self.dedup.forget_old(now);
        let counted = self.blocks.counted;
        if counted.is_none_or(|counted| now.since(counted) >= COUNT) {
            self.blocks.counted = Some(now);
            self.report_counts();
        }
    }

    /// What a block needs, begun. [`Engine::poll`] does this for each block that is due; a caller without
    /// [`Pacing`] chooses the moment itself.
    pub fn reconcile_block(&mut self, block: &BlockName, now: Millis) -> Option<Effect> {
        if !self.leading || self.blocks.running.contains_key(block) {
            return None;
        }
        self.look_at(block, now)
    }

    /// Something changed that a block's status may show, or that leads to a step of it.
    pub(super) fn touch_block(&mut self, block: Option<&BlockName>) {
        if self.pacing == Pacing::On {
            match block {
                Some(block) => self.blocks.touch(block),
                None => self.blocks.touch_all(),
            }
        }
    }

    fn look_at(&mut self, block: &BlockName, now: Millis) -> Option<Effect> {
        let (steps, notices) = self.facts.block_steps(block, now);
        self.post_new(notices, now);
        let mut allowed = Vec::with_capacity(steps.len());
        for step in steps {
            // Without a token: the next look finds it still to be done.
            let token = step.action().map(|action| self.take_token(action, now));
            if !matches!(token, Some(Err(_))) {
                allowed.push(step);
            }
        }
        if self.pacing == Pacing::On {
            let summary = |step: &BlockStep| matches!(step, BlockStep::Status(..));
            if allowed.iter().all(summary) {
                self.blocks.in_progress.remove(block);
            } else {
                self.blocks.in_progress.insert(block.clone());
            }
        }
        if allowed.is_empty() {
            return None;
        }
        self.blocks.running.insert(block.clone(), now);
        Some(Effect::BlockSteps(block.clone(), allowed))
    }

    fn report_counts(&mut self) {
        let counts = self.facts.addresses_by_state();
        self.report(Report::Addresses(counts));
        let blocks: Vec<BlockName> = self.facts.block_names().cloned().collect();
        for block in blocks {
            let engaged = self.facts.brake_engaged(&block);
            self.report(Report::Brake(block, engaged));
        }
    }
}
