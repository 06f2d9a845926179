//! What is seen of Nodes.

use crate::facts::{Affected, Facts, NodeSeen};
use crate::names::{Millis, NodeName};
use crate::objects::Node;

impl Facts {
    pub(super) fn see_node(&mut self, node: Node, now: Millis) -> Affected {
        let before = self.nodes.get(&node.name);
        if before.is_some_and(|before| before.node == node) {
            return Affected::Nothing;
        }
        let not_ready_since = (!node.ready).then(|| {
            before
                .and_then(|before| before.not_ready_since)
                .unwrap_or(now)
        });
        if let Some(before) = before {
            self.index.remove_node(&before.node);
        }
        self.index.add_node(&node);
        let name = node.name.clone();
        let seen = NodeSeen {
            node,
            not_ready_since,
        };
        let before = self.nodes.insert(name.clone(), seen);
        let touched = self.affected_by_node(&name, before.as_ref());
        for ip in &touched {
            if let Some(memory) = self.memory.get_mut(ip) {
                memory.failures.news(now);
            }
        }
        Affected::Several(touched)
    }

    /// Whatever was learnt of its type goes with the last Node of it.
    pub(super) fn lose_node(&mut self, name: &NodeName) -> Affected {
        let Some(gone) = self.nodes.remove(name) else {
            return Affected::Nothing;
        };
        self.index.remove_node(&gone.node);
        let of_type = |seen: &NodeSeen| seen.node.instance_type == gone.node.instance_type;
        if let Some(kind) = &gone.node.instance_type
            && !self.nodes.values().any(of_type)
        {
            self.limits.remove(kind);
            self.limits_unanswered.remove(kind);
        }
        Affected::Several(self.affected_by_node(name, Some(&gone)))
    }
}
