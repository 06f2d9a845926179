//! The times of the steps of an attach or a move, from the audit log of the API server.

use jiff::Timestamp;
use mooring_cluster::AuditEvent;

use super::cluster::Bench;
use crate::harness::expectations::GATE;

/// The times at which a pod could get its IP, the IP was recorded as attached, and the gate was opened.
#[derive(Clone, Copy, Debug)]
pub struct Timeline {
    pub begun: Timestamp,
    pub recorded: Timestamp,
    pub opened: Timestamp,
}

/// The last event that a pod waits for.
#[derive(Clone, Copy, Debug)]
pub enum Since<'a> {
    /// The binding of the pod.
    Binding,
    /// The deletion of the pods of this prefix, which had the IPs.
    DeletionOf(&'a str),
}

impl Timeline {
    /// The timeline of the pod of an IP. None if an entry is missing.
    fn of(audit: &[AuditEvent], pod: &str, ip: &str, since: &str) -> Option<Self> {
        let begun = audit
            .iter()
            .filter(|event| event.code < 300)
            .find(|event| {
                let begins = if since == pod {
                    event.subresource == "binding"
                } else {
                    event.verb == "delete"
                };
                event.resource == "pods" && begins && event.name == since
            })?;
        let holder = format!("{}/{pod}", begun.namespace);
        let after = |event: &&AuditEvent| event.by_mooring() && event.answered >= begun.answered;
        let recorded = audit.iter().filter(after).find(|event| {
            let status = &event.response["status"];
            event.resource == "ips"
                && event.subresource == "status"
                && event.name == ip
                && status["assigned"] == true
                && status["pod"] == holder.as_str()
        })?;
        let opened = audit.iter().filter(after).find(|event| {
            event.resource == "pods" && event.name == pod && event.condition(GATE) == Some("True")
        })?;
        Some(Self {
            begun: begun.answered,
            recorded: recorded.answered,
            opened: opened.answered,
        })
    }
}

/// The times until the Record and until the open gate, in milliseconds.
pub struct Times {
    pub record: Vec<f64>,
    pub gate: Vec<f64>,
}

/// The times of the pods of these IPs.
pub fn times(
    bench: &Bench<'_>,
    audit: &[AuditEvent],
    prefix: &str,
    ips: std::ops::Range<usize>,
    since: Since<'_>,
) -> Times {
    let mut times = Times {
        record: Vec::new(),
        gate: Vec::new(),
    };
    for number in ips {
        let pod = format!("{prefix}-{number}");
        let begins = match since {
            Since::Binding => pod.clone(),
            Since::DeletionOf(old) => format!("{old}-{number}"),
        };
        let found = Timeline::of(audit, &pod, &bench.ips[number].name, &begins);
        let found = found.unwrap_or_else(|| panic!("{pod} is not in the audit log"));
        times.record.push(millis(found.begun, found.recorded));
        times.gate.push(millis(found.begun, found.opened));
    }
    times
}

/// The time between two moments, in milliseconds.
pub fn millis(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64() * 1e3
}
