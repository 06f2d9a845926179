//! Applies facts about Nodes, from a watch or an answer.
//! Rule: R1.26.

use crate::facts::{Affected, Facts, NodeSeen, WriteOutcome};
use crate::names::{NodeName, ResourceVersion};
use crate::objects::Node;
use crate::outcome::Outcome;
use crate::time::Instant;

impl Facts {
    pub(super) fn see_node(&mut self, node: Node, now: Instant) -> Affected {
        if self.is_of_the_past(&node) {
            return Affected::Nothing;
        }
        if let Some(before) = self.nodes.get_mut(&node.name) {
            if before.node.version != node.version {
                before.version_seen = now;
            }
            // If only the version changed, it matters only for the next write.
            before.node.version = node.version;
            if before.node == node {
                return Affected::Nothing;
            }
        }
        let before = self.nodes.get(&node.name);
        if before.is_none() {
            // A watch that lags can show a Node that an earlier read did not find: it must be read again.
            self.reads.nodes.remove(&node.name);
        }
        let not_ready_since = (!node.ready).then(|| {
            before
                .and_then(|before| before.not_ready_since)
                .unwrap_or(now)
        });
        let back_since = (node.ready && node.our_taint)
            .then(|| before.and_then(|before| before.back_since).unwrap_or(now));
        if let Some(before) = before {
            self.index.remove_node(&before.node);
            let same = |node: &Node| (node.ready, node.out_of_service, node.instance.clone());
            if same(&before.node) != same(&node) {
                self.node_paces.remove(&node.name);
                // Earlier status checks are from a time in which the Node was away.
                for node in [&before.node, &node] {
                    if let Some(instance) = &node.instance {
                        self.impaired.remove(instance);
                    }
                }
            }
        }
        self.index.add_node(&node);
        let name = node.name.clone();
        let seen = NodeSeen {
            node,
            version_seen: now,
            not_ready_since,
            back_since,
        };
        let before = self.nodes.insert(name.clone(), seen);
        let affected = self.affected_by_node(&name, before.as_ref());
        for ip in &affected {
            if let Some(memory) = self.memory.get_mut(ip) {
                memory.failures.end_backoff(now);
            }
        }
        Affected::Several(affected)
    }

    /// A quorum read has shown the Node.
    pub(super) fn node_read(&mut self, node: Node, begun: Instant, now: Instant) -> Affected {
        // What was known before the read began is older than its answer, also with a higher version: then the API server
        // was restored from a backup, and no list has shown that yet.
        let earlier = |seen: &&mut NodeSeen| seen.version_seen < begun;
        if let Some(known) = self.nodes.get_mut(&node.name).filter(earlier) {
            known.node.version = ResourceVersion(0);
        }
        let lost = self.lost_nodes.get(&node.name);
        if lost.is_some_and(|(_, at)| *at < begun) {
            self.lost_nodes.remove(&node.name);
        }
        self.see_node(node, now)
    }

    /// True if something later is known of the Node: the watch lags behind an answer, or the answer behind the watch.
    fn is_of_the_past(&self, node: &Node) -> bool {
        let known = self.nodes.get(&node.name);
        let lost = self.lost_nodes.get(&node.name);
        known.is_some_and(|known| known.node.version > node.version)
            || lost.is_some_and(|(uid, _)| *uid == node.uid)
    }

    /// A question to EC2 about the instance of a Node has ended.
    pub(super) fn node_asked(
        &mut self,
        name: &NodeName,
        failed: Option<Outcome>,
        begun: Instant,
        now: Instant,
    ) {
        if self.nodes.contains_key(name) {
            let pace = self.node_paces.entry(name.clone()).or_default();
            pace.asked(name, failed, begun, now);
        }
    }

    /// A write of a taint of a Node was answered.
    pub(super) fn node_wrote(&mut self, name: &NodeName, outcome: &WriteOutcome, now: Instant) {
        if self.nodes.contains_key(name) {
            let pace = self.node_paces.entry(name.clone()).or_default();
            pace.wrote(name, outcome, now);
        }
    }

    /// A watch or a list does not show the Node with this UID any more.
    pub(super) fn lose_node_of(&mut self, name: &NodeName, uid: &str, now: Instant) -> Affected {
        // The watch lags: an answer has shown the next Node of this name, and no event has to show it again.
        let known = self.nodes.get(name);
        if known.is_some_and(|known| known.node.uid != uid) {
            return Affected::Nothing;
        }
        self.lose_node(name, now)
    }

    /// Removes a Node. With the last Node of an instance type, the limits of the type are removed too.
    pub(super) fn lose_node(&mut self, name: &NodeName, now: Instant) -> Affected {
        let Some(gone) = self.nodes.remove(name) else {
            return Affected::Nothing;
        };
        self.forget_lost_nodes(now);
        self.lost_nodes
            .insert(name.clone(), (gone.node.uid.clone(), now));
        self.index.remove_node(&gone.node);
        self.node_paces.remove(name);
        if let Some(instance) = &gone.node.instance {
            self.impaired.remove(instance);
        }
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
