//! Reconciles blocks, and counts their addresses for the metrics.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

use super::block_schedule::MAX_INTERVAL;
use super::{Effect, Engine, Pacing, Report};
use crate::names::BlockName;
use crate::outcome::Action;
use crate::step::BlockStep;
use crate::time::Instant;

/// Interval of counting addresses.
const COUNT: Duration = Duration::from_secs(1);

impl Engine {
    /// Begins the steps of all blocks that are due.
    pub(super) fn begin_blocks(&mut self, now: Instant) {
        if now < self.blocks.next {
            return;
        }
        let blocks: Vec<BlockName> = self.facts.block_names().cloned().collect();
        let mut still_affected = BTreeSet::new();
        let mut next = now.plus(MAX_INTERVAL);
        for block in &blocks {
            let due = self.blocks.due(block);
            let running = self.blocks.running.contains_key(block);
            if running || now < due {
                if !running {
                    next = next.min(due);
                }
                if self.blocks.is_affected(block) {
                    still_affected.insert(block.clone());
                }
                continue;
            }
            self.blocks.looked.insert(block.clone(), now);
            if let Some(effect) = self.next_block_effect(block, now) {
                self.outbox.push_back(effect);
            }
        }
        self.blocks.looked.retain(|block, _| blocks.contains(block));
        self.blocks
            .in_progress
            .retain(|block| blocks.contains(block));
        self.blocks.affected = still_affected;
        self.blocks.all_affected = false;
        self.blocks.next = next;
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
        if !self.leading || self.blocks.running.contains_key(block) {
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
