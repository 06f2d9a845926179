//! Begins the inventories that are due.

use alloc::vec::Vec;

use super::{Effect, Engine, Report};
use crate::facts::Fact;
use crate::outcome::Action;
use crate::time::Instant;

impl Engine {
    /// Begins the inventories that are due.
    pub(super) fn begin_inventories(&mut self, now: Instant) {
        let effects = self.reconcile_inventories(now);
        self.outbox.extend(effects);
    }

    /// Begins the inventories that are due. [`Engine::poll`] does this; a model checker chooses the time itself.
    pub fn reconcile_inventories(&mut self, now: Instant) -> Vec<Effect> {
        let wanted = self.facts.subnets_wanted();
        let mut effects = Vec::new();
        if !self.leading {
            return effects;
        }
        self.inventories
            .no_token
            .retain(|subnet, _| wanted.contains(subnet));
        if self.inventories.shown != wanted {
            self.inventories.shown.clone_from(&wanted);
            self.report(Report::Subnets(wanted.iter().cloned().collect()));
        }
        for subnet in wanted {
            let running = self.inventories.running.contains_key(&subnet);
            if running || now < self.inventories.due(&subnet, &self.facts) {
                continue;
            }
            if let Err(token) = self.take_token(Action::DescribeInterfaces, now) {
                self.inventories.no_token.insert(subnet, token);
                continue;
            }
            self.inventories.no_token.remove(&subnet);
            self.inventories.running.insert(subnet.clone(), now);
            self.apply_fact(Fact::InventoryBegun(subnet.clone()), now, now);
            effects.push(Effect::Inventory(subnet));
        }
        effects
    }
}
