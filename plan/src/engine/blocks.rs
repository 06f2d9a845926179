//! Reconciles blocks, and counts their addresses for the metrics.

use alloc::vec::Vec;
use core::time::Duration;

use super::{Effect, Engine, Pacing, Report};
use crate::names::BlockName;
use crate::outcome::Action;
use crate::step::BlockStep;
use crate::time::Instant;

/// The most steps of one block whose requests are in flight: a block with a thousand nodes has a thousand labels to
/// write. The caller keeps to it.
pub const BLOCK_STEPS_AT_ONCE: usize = 8;

/// Interval of counting addresses.
const COUNT: Duration = Duration::from_secs(1);

impl Engine {
    /// Begins the steps of all blocks that are due.
    pub(super) fn begin_blocks(&mut self, now: Instant) {
        if now < self.blocks.next() {
            return;
        }
        let blocks: Vec<BlockName> = self.facts.block_names().cloned().collect();
        for block in self.blocks.take_due(&blocks, now) {
            if let Some(effect) = self.next_block_effect(&block, now) {
                self.outbox.push_back(effect);
            }
        }
        self.nodes.mark_affected();
        self.dedup.forget_old(now);
        let counted = self.blocks.counted;
        if counted.is_none_or(|counted| now.since(counted) >= COUNT) {
            self.blocks.counted = Some(now);
            self.report_counts(now);
        }
    }

    /// Begins the steps that a block needs. [`Engine::poll`] does this for each block that is due; a caller with
    /// [`Pacing::Off`] chooses the time itself.
    pub fn reconcile_block(&mut self, block: &BlockName, now: Instant) -> Option<Effect> {
        if !self.leading || self.blocks.is_running(block) {
            return None;
        }
        self.next_block_effect(block, now)
    }

    /// Marks a block (None: all blocks) as changed: its status or its steps can be different now.
    pub(super) fn mark_affected(&mut self, block: Option<&BlockName>) {
        if self.pacing == Pacing::On {
            if let Some(block) = block {
                self.blocks.mark_affected(block);
            } else {
                self.blocks.mark_all_affected();
                self.nodes.mark_affected();
            }
        }
    }

    fn next_block_effect(&mut self, block: &BlockName, now: Instant) -> Option<Effect> {
        let (steps, notices) = self.facts.block_steps(block, now);
        self.post_new(notices, now);
        let mut allowed = Vec::with_capacity(steps.len());
        for step in steps {
            // A step without a token is skipped: the next reconciliation returns it again.
            let token = step.action().map(|action| self.take_token(action, now));
            if !matches!(token, Some(Err(_))) {
                allowed.push(step);
            }
        }
        if self.pacing == Pacing::On {
            let summary = |step: &BlockStep| matches!(step, BlockStep::Status { .. });
            let in_progress = !allowed.iter().all(summary);
            self.blocks.set_in_progress(block, in_progress);
        }
        if allowed.is_empty() {
            return None;
        }
        self.blocks.begun(block, now);
        Some(Effect::BlockSteps(block.clone(), allowed))
    }

    fn report_counts(&mut self, now: Instant) {
        let counts = self.facts.addresses_by_state();
        self.report(Report::Addresses(counts));
        for action in [Action::Assign, Action::Unassign] {
            let held = self.buckets.held(action, now);
            self.report(Report::Tokens(action, held));
        }
        let probed = self.facts.probed_addresses();
        self.report(Report::Probed(probed));
        let away = self.facts.node_parts_away(now);
        let count = u64::try_from(away.len()).unwrap_or(u64::MAX);
        self.report(Report::NodePartsAway(count));
        self.post_new(away, now);
        let blocks: Vec<BlockName> = self.facts.block_names().cloned().collect();
        for block in blocks {
            let engaged = self.facts.brake_engaged(&block);
            self.report(Report::Brake(block, engaged));
        }
    }
}
