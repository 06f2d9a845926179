//! What is done for blocks, beside the IPs' own steps, and the numbers that are shown of them.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, stream};
use mooring_plan::names::{BlockName, Millis};
use mooring_plan::step::BlockStep;

use super::{Actor, Flight, Landed, decided};
use crate::cloud::Cloud;
use crate::controller::effects::{Answer, action_of_block};
use crate::metrics::Metrics;

/// A block is looked at so often at most: its status is a summary, not news.
const AT_MOST: Millis = Millis::seconds(1);
/// But sooner when something was heard of a block whose last look led to more than a status: a new block
/// is a few steps from being of use.
const ON_ITS_WAY: Millis = Millis(50);
/// And so often at least: what failed is asked again.
const AT_LEAST: Millis = Millis::seconds(5);
/// What is shown of blocks is counted anew so often at most.
const SHOW: Millis = Millis::seconds(1);
/// So many of a block's steps are under way at once.
const STEPS_AT_ONCE: usize = 8;

/// When each block was looked at.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    touched: BTreeSet<BlockName>,
    all_touched: bool,
    /// The last look led to steps that others wait for: a finalizer, a read, a node's label.
    on_their_way: BTreeSet<BlockName>,
    looked: BTreeMap<BlockName, Millis>,
    running: BTreeSet<BlockName>,
    /// When to look next: at a block that was touched, or at all of them.
    next: Millis,
    /// Numbers that are shown, and when they were counted.
    shown: BTreeSet<(BlockName, &'static str)>,
    counted: Option<Millis>,
}

impl Blocks {
    pub(super) fn touch(&mut self, block: &BlockName) {
        self.touched.insert(block.clone());
        self.next = self.next.min(self.due(block));
    }

    pub(super) fn touch_all(&mut self) {
        self.all_touched = true;
        self.next = Millis(0);
    }

    pub(super) fn landed(&mut self, block: &BlockName) {
        self.running.remove(block);
        // What failed has told nothing, and is not tried again at once.
        if self.all_touched || self.touched.contains(block) {
            self.next = self.next.min(self.due(block));
        } else {
            self.on_their_way.remove(block);
            self.touch(block);
        }
    }

    pub(super) const fn next(&self) -> Millis {
        self.next
    }

    pub(super) fn forget_gauges(&mut self, metrics: &Metrics) {
        self.counted = None;
        for (block, state) in std::mem::take(&mut self.shown) {
            metrics.forget_block(block.as_str(), &[state]);
        }
    }

    /// When a block is to be looked at.
    fn due(&self, block: &BlockName) -> Millis {
        let touched = self.all_touched || self.touched.contains(block);
        let wait = match (touched, self.on_their_way.contains(block)) {
            (true, true) => ON_ITS_WAY,
            (true, false) => AT_MOST,
            (false, _) => AT_LEAST,
        };
        self.looked
            .get(block)
            .map_or(Millis(0), |looked| looked.plus(wait))
    }
}

impl<C: Cloud> Actor<C> {
    pub(super) fn launch_blocks(&mut self, now: Millis) {
        if now < self.blocks.next {
            return;
        }
        let blocks: Vec<BlockName> = self.facts.block_names().cloned().collect();
        let mut left_touched = BTreeSet::new();
        let mut next = now.plus(AT_LEAST);
        for block in &blocks {
            let due = self.blocks.due(block);
            let running = self.blocks.running.contains(block);
            if running || now < due {
                if !running {
                    next = next.min(due);
                }
                if self.blocks.all_touched || self.blocks.touched.contains(block) {
                    left_touched.insert(block.clone());
                }
                continue;
            }
            self.blocks.looked.insert(block.clone(), now);
            self.look_at(block, now);
        }
        self.blocks.looked.retain(|block, _| blocks.contains(block));
        self.blocks
            .on_their_way
            .retain(|block| blocks.contains(block));
        self.blocks.touched = left_touched;
        self.blocks.all_touched = false;
        self.blocks.next = next;
        self.said.sweep(now);
        let counted = self.blocks.counted;
        if counted.is_none_or(|counted| now.since(counted) >= SHOW) {
            self.blocks.counted = Some(now);
            self.show();
        }
    }

    fn look_at(&mut self, block: &BlockName, now: Millis) {
        let (steps, notices) = self.facts.block_steps(block, now);
        for notice in self.said.news(notices, now) {
            self.events.tell(notice);
        }
        let mut allowed = Vec::with_capacity(steps.len());
        for step in steps {
            // Without a token: the next look will find it still to be done.
            let token = action_of_block(&step).map(|action| self.buckets.take(action, now));
            if !matches!(token, Some(Err(_))) {
                allowed.push(step);
            }
        }
        let summary = |step: &BlockStep| matches!(step, BlockStep::Status(..));
        if allowed.iter().all(summary) {
            self.blocks.on_their_way.remove(block);
        } else {
            self.blocks.on_their_way.insert(block.clone());
        }
        if !allowed.is_empty() {
            self.begin_block(block.clone(), allowed);
        }
    }

    /// A few at a time, beside everything else: a block with a thousand nodes has a thousand labels.
    fn begin_block(&mut self, block: BlockName, steps: Vec<BlockStep>) {
        tracing::debug!(%block, ?steps, "for the block");
        steps.iter().for_each(decided::by_block);
        self.blocks.running.insert(block.clone());
        let effects = self.effects.clone();
        let begun = self.now();
        self.flights.spawn(async move {
            let done = steps.into_iter().map(|step| effects.block_step(step));
            let done: Vec<Answer> = stream::iter(done)
                .buffer_unordered(STEPS_AT_ONCE)
                .collect()
                .await;
            let mut answer = Answer::from(Vec::new());
            for one in done {
                answer.facts.extend(one.facts);
                answer.called.extend(one.called);
            }
            Landed {
                what: Flight::Block(block),
                begun,
                answer,
            }
        });
    }

    fn show(&mut self) {
        let metrics = &self.effects.metrics;
        let counts = self.facts.addresses_by_state();
        for ((block, state), count) in &counts {
            metrics.addresses(block.as_str(), state, *count);
        }
        let now: BTreeSet<_> = counts.into_keys().collect();
        for (block, state) in self.blocks.shown.difference(&now) {
            metrics.forget_block(block.as_str(), &[state]);
        }
        self.blocks.shown = now;
        for block in self.facts.block_names() {
            metrics.brake(block.as_str(), self.facts.brake_engaged(block));
        }
    }
}
