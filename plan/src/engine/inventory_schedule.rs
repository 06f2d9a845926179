//! Decides when the ENIs of a subnet are listed: one inventory at a time for each subnet that a block names.
//! Rule: R1.12.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::facts::Facts;
use crate::names::SubnetId;
use crate::time::Instant;

/// The inventories in flight, and those that wait for a token.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct InventorySchedule {
    /// When each inventory in flight was begun.
    pub(super) running: BTreeMap<SubnetId, Instant>,
    pub(super) no_token: BTreeMap<SubnetId, Instant>,
    /// The subnets in the last report.
    pub(super) shown: BTreeSet<SubnetId>,
}

impl InventorySchedule {
    /// The inventory has ended. Returns when it was begun; None if none was in flight.
    pub(super) fn ended(&mut self, subnet: &SubnetId) -> Option<Instant> {
        self.running.remove(subnet)
    }

    pub(super) fn stop_showing(&mut self) {
        self.shown.clear();
    }

    /// When the next inventory is due.
    pub(super) fn next(&self, facts: &Facts) -> Option<Instant> {
        let wanted = facts.subnets_wanted().into_iter();
        let idle = wanted.filter(|subnet| !self.running.contains_key(subnet));
        idle.map(|subnet| self.due(&subnet, facts)).min()
    }

    #[cfg(feature = "timestamps")]
    pub(super) fn each_timestamp(&mut self, change: &mut impl FnMut(&mut Instant)) {
        self.running.values_mut().for_each(change);
    }

    pub(super) fn due(&self, subnet: &SubnetId, facts: &Facts) -> Instant {
        let due = facts.inventory_due(subnet);
        let token = self.no_token.get(subnet);
        token.map_or(due, |token| due.max(*token))
    }
}
