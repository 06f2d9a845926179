//! Counts the requests of Mooring to EC2 and to the API server in a phase.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::Duration;

use mooring_cluster::{AuditEvent, Calls};

use super::cluster::{Bench, LONG};
use crate::harness::scene::Ip;

const ASSIGN: &str = "AssignPrivateIpAddresses";
const UNASSIGN: &str = "UnassignPrivateIpAddresses";

/// The begin of a phase, in the counters and in the audit log.
pub struct Mark {
    calls: Calls,
    audit: u64,
}

/// The requests since a [`Mark`].
#[derive(Debug)]
pub struct Counted {
    /// Executed Assigns.
    pub assigns: u64,
    pub unassigns: u64,
    /// Assigns and Unassigns that EC2 throttled because the bucket had no token.
    pub throttled: u64,
    pub describes: u64,
    pub lists_of_interfaces: u64,
    /// The audit log, of all clients.
    pub audit: Vec<AuditEvent>,
}

impl Bench<'_> {
    /// Starts to count.
    pub async fn mark(&self) -> Mark {
        Mark {
            calls: self.scene.ec2().calls().await,
            audit: self.scene.cluster().audit_since(u64::MAX).1,
        }
    }

    /// The requests since the mark.
    pub async fn since(&self, mark: &Mark) -> Counted {
        let calls = self.scene.ec2().calls().await;
        let of = |action: &str| calls.of(action) - mark.calls.of(action);
        let throttled = |action: &str| {
            let of = |calls: &Calls| calls.0.get(action)?.get("RequestLimitExceeded").copied();
            of(&calls).unwrap_or_default() - of(&mark.calls).unwrap_or_default()
        };
        Counted {
            assigns: of(ASSIGN) - throttled(ASSIGN),
            unassigns: of(UNASSIGN) - throttled(UNASSIGN),
            throttled: throttled(ASSIGN) + throttled(UNASSIGN),
            describes: calls.describes() - mark.calls.describes(),
            lists_of_interfaces: of("DescribeNetworkInterfaces"),
            audit: self.scene.cluster().audit_since(mark.audit).0,
        }
    }

    /// Waits until Mooring has written nothing for one second. Events count too, because they are written later than
    /// the change that they report.
    pub async fn quiet(&self) {
        let writes = |counted: &Counted| {
            let mut writes = counted.audit.iter().filter(|event| is_write(event));
            writes.next().map(|event| event.uri.clone())
        };
        self.a_second_without("a write", writes).await;
    }

    /// Waits for one second in which Mooring writes and reads nothing, and no client writes a pod. With thousands of
    /// IPs, a new leader reads its lists for seconds, and kubelets write the status of pods for minutes.
    pub async fn all_quiet(&self) {
        let requests = |counted: &Counted| {
            let written =
                |event: &&AuditEvent| is_write(event) || writes(event) && event.resource == "pods";
            let reads = counted.reads(ReadBy::Controller).len();
            let requests = counted.audit.iter().filter(written).count() + reads;
            (requests > 0).then_some(requests)
        };
        self.a_second_without("work", requests).await;
    }

    /// Waits for a second in which `found` finds nothing.
    async fn a_second_without<T: Debug>(&self, what: &str, found: impl Fn(&Counted) -> Option<T>) {
        self.scene
            .eventually(&format!("a second without {what}"), LONG, async || {
                let mark = self.mark().await;
                tokio::time::sleep(Duration::from_secs(1)).await;
                found(&self.since(&mark).await).map_or(Ok(()), Err)
            })
            .await;
    }

    /// The same as [`Bench::quiet`], after Mooring has become the leader.
    pub async fn quiet_leader(&self) {
        self.scene
            .eventually("it leads", LONG, async || {
                self.mooring.metric("mooring_leader", &[]).await > 0.5
            })
            .await;
        self.quiet().await;
    }
}

fn writes(event: &AuditEvent) -> bool {
    let verbs = ["create", "update", "patch", "delete", "deletecollection"];
    verbs.contains(&event.verb.as_str())
}

/// Is this a write request of Mooring, accepted or not, other than of Leases and `SubjectAccessReview`s?
fn is_write(event: &AuditEvent) -> bool {
    event.by_mooring()
        && writes(event)
        && !["leases", "subjectaccessreviews"].contains(&event.resource.as_str())
}

impl Counted {
    /// Assigns and Unassigns.
    pub const fn mutations(&self) -> u64 {
        self.assigns + self.unassigns
    }

    /// Write requests except Events and blocks. (The status of a block contains counts, and is written at most once per
    /// second.)
    fn write_events(&self) -> Vec<&AuditEvent> {
        let counted = |event: &&AuditEvent| {
            is_write(event) && event.resource != "events" && event.resource != "ipblocks"
        };
        self.audit.iter().filter(counted).collect()
    }

    /// The same without writes of other IPs. An IP that was moved earlier can have a last write now, after an inventory
    /// showed its old interface without the address.
    pub fn writes_of(&self, ips: &[Ip]) -> Vec<&AuditEvent> {
        let names: BTreeSet<&str> = ips.iter().map(|ip| ip.name.as_str()).collect();
        let mut writes = self.write_events();
        writes.retain(|event| event.resource != "ips" || names.contains(event.name.as_str()));
        writes
    }

    /// The same write requests, as text.
    pub fn writes(&self) -> Vec<String> {
        let text = |event: &AuditEvent| {
            let (verb, resource, part) = (&event.verb, &event.resource, &event.subresource);
            format!("{verb} {resource}/{part} {}: {}", event.name, event.code)
        };
        self.write_events().into_iter().map(text).collect()
    }

    /// The number of all write requests except Events.
    pub fn all_writes(&self) -> usize {
        let writes = self.audit.iter().filter(|event| is_write(event));
        writes.filter(|event| event.resource != "events").count()
    }

    /// The number of requests for blocks except watches. The status of a block contains counts of addresses.
    pub fn of_block(&self) -> usize {
        let requests = self.audit.iter().filter(|event| event.by_mooring());
        requests
            .filter(|event| event.resource == "ipblocks" && event.verb != "watch")
            .count()
    }

    /// The number of posted Events.
    pub fn events(&self) -> usize {
        let writes = self.audit.iter().filter(|event| is_write(event));
        writes.filter(|event| event.resource == "events").count()
    }

    /// The reads of objects. A read during the creation of a pod belongs to the review of the pod, because the
    /// controller does not see the pod before it exists. Not counted are watches, reads of a block (before its status
    /// is written), and lists with `limit=1` (the periodic read of a list version).
    pub fn reads(&self, of: ReadBy) -> Vec<&str> {
        let creations = self
            .audit
            .iter()
            .filter(|event| event.verb == "create" && event.resource == "pods")
            .filter(|event| event.subresource.is_empty());
        let creations: Vec<_> = creations
            .map(|event| (event.received, event.answered))
            .collect();
        let by = |event: &AuditEvent| {
            let within = creations.iter().any(|(received, answered)| {
                *received <= event.received && event.answered <= *answered
            });
            if within {
                ReadBy::Review
            } else {
                ReadBy::Controller
            }
        };
        let reads = self.audit.iter().filter(|event| {
            event.by_mooring()
                && matches!(event.verb.as_str(), "get" | "list")
                && !["leases", "ipblocks"].contains(&event.resource.as_str())
                && !event.uri.contains("limit=1&")
                && !event.uri.ends_with("limit=1")
        });
        reads
            .filter(|event| by(event) == of)
            .map(|event| event.uri.as_str())
            .collect()
    }
}

/// The number of requests of each kind, as one line for the terminal.
pub fn kinds(events: &[&AuditEvent]) -> String {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for event in events {
        let (verb, resource, part) = (&event.verb, &event.resource, &event.subresource);
        let kind = format!("{verb} {resource}/{part} {}", event.code);
        *kinds.entry(kind).or_default() += 1;
    }
    let kinds = kinds.iter().map(|(kind, count)| format!("{count} {kind}"));
    kinds.collect::<Vec<_>>().join(", ")
}

/// The part of Mooring that made a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBy {
    Controller,
    Review,
}
