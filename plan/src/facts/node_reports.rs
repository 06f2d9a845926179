//! Applies the reports of node parts (`IPNode` objects).
//! Rules: R3.34, R4.39, R4.45.

use alloc::collections::BTreeSet;
use core::time::Duration;

use super::{Affected, Facts, NodeSeen};
use crate::names::{IpName, NodeName};
use crate::objects::NodeReport;
use crate::time::Instant;

/// Interval of the heartbeats that a node part writes.
pub const HEARTBEAT: Duration = Duration::from_secs(10);

/// After three missing heartbeats a node part counts as away.
pub(crate) const AWAY: Duration = HEARTBEAT.saturating_mul(3);

/// A heartbeat that is late by half an interval leads to a question to EC2 (fast failover), and has no other effect.
const LATE: Duration = Duration::from_secs(HEARTBEAT.as_secs() * 3 / 2);

/// The report of a node part, and when its heartbeat last changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeReportSeen {
    pub(crate) report: NodeReport,
    pub(crate) heartbeat_at: Instant,
}

impl NodeReportSeen {
    /// When the node part counts as away, if it does not report before.
    pub(crate) fn away_at(&self) -> Instant {
        self.heartbeat_at.plus(AWAY)
    }

    /// When EC2 is asked whether the instance still runs, if the node part does not report before.
    pub(crate) fn late_at(&self) -> Instant {
        self.heartbeat_at.plus(LATE)
    }
}

impl Facts {
    /// True if the node was rebooted since this report: its kernel has nothing of what the report says. False while one
    /// of the two boots is not known.
    pub(crate) fn is_of_another_boot(&self, seen: &NodeReportSeen) -> bool {
        let node = self.nodes.get(&seen.report.node);
        let boots = node.and_then(|node| node.node.boot).zip(seen.report.boot);
        boots.is_some_and(|(node, report)| node != report)
    }

    /// Applies a report. If only the heartbeat changed, IPs are affected only if the node part was away.
    pub(super) fn see_node_report(&mut self, report: NodeReport, now: Instant) -> Affected {
        let name = report.node.clone();
        let before = self.node_reports.get(&name);
        if before.is_some_and(|before| before.report == report) {
            return Affected::Nothing;
        }
        let heartbeat_at = before
            .filter(|before| before.report.heartbeat == report.heartbeat)
            .map_or(now, |before| before.heartbeat_at);
        if heartbeat_at == now {
            // The heartbeat changed: the next question begins with the short interval again. If the Node itself is not
            // ready or has our taint, the questions about it continue.
            let ready = |seen: &NodeSeen| seen.node.ready && !seen.node.our_taint;
            if self.nodes.get(&name).is_some_and(ready) {
                self.node_paces.remove(&name);
            }
        }
        let seen = NodeReportSeen {
            report,
            heartbeat_at,
        };
        let before = self.node_reports.insert(name.clone(), seen);
        self.affected_by_report(&name, before.as_ref(), now)
    }

    pub(super) fn lose_node_report(&mut self, name: &NodeName, now: Instant) -> Affected {
        let before = self.node_reports.remove(name);
        self.affected_by_report(name, before.as_ref(), now)
    }

    /// The IPs claimed for the node whose report changed; all IPs claimed for it if the node part is new, gone, of
    /// another version or boot, or was away.
    fn affected_by_report(
        &self,
        name: &NodeName,
        before: Option<&NodeReportSeen>,
        now: Instant,
    ) -> Affected {
        let after = self.node_reports.get(name);
        let same_part = before.zip(after).is_some_and(|(before, after)| {
            before.report.version == after.report.version
                && before.report.boot == after.report.boot
                && now < before.away_at()
        });
        let report = |seen: Option<&NodeReportSeen>, ip: &IpName| {
            seen.and_then(|seen| seen.report.addresses.get(ip).cloned())
        };
        let concerned = |ip: &&IpName| !same_part || report(before, ip) != report(after, ip);
        let ips: BTreeSet<IpName> = self.index.ips_on(name).filter(concerned).cloned().collect();
        Affected::of(ips)
    }
}
