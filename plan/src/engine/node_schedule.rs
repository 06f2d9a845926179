//! Decides when nodes are checked, and keeps their steps in flight.

use alloc::collections::BTreeMap;
use core::time::Duration;

use crate::names::NodeName;
use crate::step::NodeStep;
use crate::time::Instant;

/// Minimum time between two checks of the nodes: many facts can come at once.
const MIN_INTERVAL: Duration = Duration::from_millis(20);

/// The steps of nodes in flight, and when to check the nodes again.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeSchedule {
    pub(super) running: BTreeMap<NodeName, Running>,
    pub(super) looked: Instant,
    /// When to check again. None: after the next fact that changes something.
    pub(super) next: Option<Instant>,
}

/// A step of a node that is in flight.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Running {
    pub(super) begun: Instant,
    pub(super) step: NodeStep,
    /// Since when the node is away.
    pub(super) away: Option<Instant>,
}

impl NodeSchedule {
    pub(super) fn mark_affected(&mut self) {
        let soon = self.looked.plus(MIN_INTERVAL);
        self.next = Some(self.next.map_or(soon, |next| next.min(soon)));
    }

    pub(super) const fn next(&self) -> Option<Instant> {
        self.next
    }
}
