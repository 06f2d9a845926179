//! When nodes are looked at, and which of their steps are in flight.

use alloc::collections::BTreeMap;

use crate::names::{Millis, NodeName};
use crate::step::NodeStep;

/// Nodes are looked at no more often than this: facts come in crowds.
const BETWEEN: Millis = Millis(20);

/// The steps of nodes that are in flight, and when to look for the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeSchedule {
    pub(super) running: BTreeMap<NodeName, Running>,
    pub(super) looked: Millis,
    /// None: when a fact says that something has changed.
    pub(super) next: Option<Millis>,
}

/// A step of a node that is in flight.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Running {
    pub(super) begun: Millis,
    pub(super) step: NodeStep,
    /// Since when the node is away.
    pub(super) away: Option<Millis>,
}

impl NodeSchedule {
    pub(super) fn touch(&mut self) {
        let soon = self.looked.plus(BETWEEN);
        self.next = Some(self.next.map_or(soon, |next| next.min(soon)));
    }

    pub(super) const fn next(&self) -> Option<Millis> {
        self.next
    }
}
