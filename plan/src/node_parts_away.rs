//! Finds node parts that do not report any more, on nodes with addresses of blocks with `spec.node`. This only reports
//! them: what was programmed stays programmed, and the gates stay.
//! Rule: R4.46.

use alloc::format;
use alloc::vec::Vec;

use crate::facts::{AWAY, Facts, NodeReportSeen};
use crate::objects::Node;
use crate::reason::Reason;
use crate::step::{Notice, Regarding};
use crate::time::Instant;

impl Facts {
    /// The Event for each node with recorded addresses whose node part is away. The node parts are given time to report
    /// after this process began to lead: its watch can have been interrupted as well.
    #[must_use]
    pub fn node_parts_away(&self, now: Instant) -> Vec<Notice> {
        if now < self.led_since.plus(AWAY) {
            return Vec::new();
        }
        let away = |seen: &&NodeReportSeen| now >= seen.away_at();
        let silent = self.node_reports.values().filter(away);
        let nodes = silent.filter_map(|seen| self.nodes.get(&seen.report.node));
        let nodes = nodes.map(|seen| &seen.node);
        nodes
            .filter(|node| self.needs_node_part(node))
            .map(|node| Notice {
                on: Regarding::Node(node.name.clone(), node.uid.clone()),
                reason: Reason::NodePartAway,
                message: format!(
                    "the node part of node {} has not reported for {} s or more, and addresses are attached there: \
                     nothing says whether packets still pass. Check the pod of the DaemonSet mooring-node there",
                    node.name,
                    AWAY.as_secs()
                ),
            })
            .collect()
    }

    fn needs_node_part(&self, node: &Node) -> bool {
        let mut here = self.claimed_on(node);
        here.any(|(ip, claim)| claim.recorded() && self.asks_for_node_part(ip))
    }
}
