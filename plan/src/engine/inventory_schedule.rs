//! When each subnet's interfaces are listed: one inventory at a time for each subnet that a block names.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::{Effect, Engine, Report};
use crate::facts::{Fact, Facts};
use crate::names::{Millis, SubnetId};
use crate::outcome::Action;

/// The inventories in flight, and those that wait for a token.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct InventorySchedule {
    /// When each was begun.
    running: BTreeMap<SubnetId, Millis>,
    no_token: BTreeMap<SubnetId, Millis>,
    /// The subnets that were reported last.
    shown: BTreeSet<SubnetId>,
}

impl InventorySchedule {
    /// It has ended; when it was begun. None: there was none.
    pub(super) fn ended(&mut self, subnet: &SubnetId) -> Option<Millis> {
        self.running.remove(subnet)
    }

    pub(super) fn stop_showing(&mut self) {
        self.shown.clear();
    }

    /// When the next one is due.
    pub(super) fn next(&self, facts: &Facts) -> Option<Millis> {
        let wanted = facts.subnets_wanted().into_iter();
        let idle = wanted.filter(|subnet| !self.running.contains_key(subnet));
        idle.map(|subnet| self.due(&subnet, facts)).min()
    }

    pub(super) fn each_moment(&mut self, change: &mut impl FnMut(&mut Millis)) {
        self.running.values_mut().for_each(change);
    }

    fn due(&self, subnet: &SubnetId, facts: &Facts) -> Millis {
        let due = facts.inventory_due(subnet);
        let token = self.no_token.get(subnet);
        token.map_or(due, |token| due.max(*token))
    }
}

impl Engine {
    /// Begins the inventories that are due.
    pub(super) fn begin_inventories(&mut self, now: Millis) {
        let effects = self.reconcile_inventories(now);
        self.outbox.extend(effects);
    }

    /// The inventories that are due, begun. [`Engine::poll`] does this; a model checker chooses the moment itself.
    pub fn reconcile_inventories(&mut self, now: Millis) -> Vec<Effect> {
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
