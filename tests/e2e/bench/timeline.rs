//! What happened when, by the audit log of the API server.

use jiff::Timestamp;
use mooring_cluster::AuditEvent;

use crate::harness::expectations::GATE;

/// When a pod was bound, its IP was recorded as attached, and its gate was opened.
#[derive(Clone, Copy, Debug)]
pub struct Attach {
    pub bound: Timestamp,
    pub recorded: Timestamp,
    pub opened: Timestamp,
}

impl Attach {
    /// Of a pod and its IP; None: not all of it is there.
    pub fn of(audit: &[AuditEvent], pod: &str, ip: &str) -> Option<Self> {
        let bound = audit.iter().rfind(|event| {
            event.resource == "pods" && event.subresource == "binding" && event.name == pod
        })?;
        let after = |event: &&AuditEvent| event.by_mooring() && event.answered >= bound.answered;
        let recorded = audit.iter().filter(after).find(|event| {
            event.resource == "ips"
                && event.subresource == "status"
                && event.name == ip
                && event.response["status"]["assigned"] == true
        })?;
        let opened = audit.iter().filter(after).find(|event| {
            event.resource == "pods" && event.name == pod && event.condition(GATE) == Some("True")
        })?;
        Some(Self {
            bound: bound.answered,
            recorded: recorded.answered,
            opened: opened.answered,
        })
    }

    /// From the binding to the record, in milliseconds.
    pub fn to_record(self) -> f64 {
        millis(self.bound, self.recorded)
    }

    /// From the binding to the gate, in milliseconds.
    pub fn to_gate(self) -> f64 {
        millis(self.bound, self.opened)
    }
}

/// The time between two moments, in milliseconds.
pub fn millis(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64() * 1e3
}
