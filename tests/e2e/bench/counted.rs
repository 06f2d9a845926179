//! What Mooring asked of EC2 and of the API server in a phase.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::Duration;

use mooring_cluster::{AuditEvent, Calls};

use super::cluster::{Bench, LONG};
use crate::harness::scene::Ip;

const ASSIGN: &str = "AssignPrivateIpAddresses";
const UNASSIGN: &str = "UnassignPrivateIpAddresses";

/// Where a phase begins.
pub struct Mark {
    calls: Calls,
    audit: u64,
}

/// What came since then.
#[derive(Debug)]
pub struct Counted {
    /// Executed ones.
    pub assigns: u64,
    pub unassigns: u64,
    /// Assigns and Unassigns that EC2 has not executed for want of a token.
    pub throttled: u64,
    pub describes: u64,
    pub lists_of_interfaces: u64,
    /// Of all clients.
    pub audit: Vec<AuditEvent>,
}

impl Bench<'_> {
    /// Begins to count.
    pub async fn mark(&self) -> Mark {
        Mark {
            calls: self.scene.ec2().calls().await,
            audit: self.scene.cluster().audit_since(u64::MAX).1,
        }
    }

    /// What came since the mark.
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

    /// Waits until Mooring has written nothing for a second, Events included: they come behind what they tell of.
    pub async fn quiet(&self) {
        let writes = |counted: &Counted| {
            let mut writes = counted.audit.iter().filter(|event| is_write(event));
            writes.next().map(|event| event.uri.clone())
        };
        self.a_second_without("a write", writes).await;
    }

    /// Waits until, for one second, Mooring writes and reads nothing, and no client writes a pod. With thousands of IPs, a
    /// new leader reads its list for seconds, and kubelets write the status of pods for minutes.
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

    /// As [`Bench::quiet`], and it leads.
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

/// An attempt of Mooring to write, accepted or not, but its Lease and its reviews of access.
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

    /// Attempts to write objects, but Events, and the status of blocks, which counts and is written once a second at most.
    fn write_events(&self) -> Vec<&AuditEvent> {
        let counted = |event: &&AuditEvent| {
            is_write(event) && event.resource != "events" && event.resource != "ipblocks"
        };
        self.audit.iter().filter(counted).collect()
    }

    /// The same, without writes of other IPs: one that was moved before can have a last write now, when its old interface
    /// has been seen without it.
    pub fn writes_of(&self, ips: &[Ip]) -> Vec<&AuditEvent> {
        let names: BTreeSet<&str> = ips.iter().map(|ip| ip.name.as_str()).collect();
        let mut writes = self.write_events();
        writes.retain(|event| event.resource != "ips" || names.contains(event.name.as_str()));
        writes
    }

    /// All of them, as text.
    pub fn writes(&self) -> Vec<String> {
        let text = |event: &AuditEvent| {
            let (verb, resource, part) = (&event.verb, &event.resource, &event.subresource);
            format!("{verb} {resource}/{part} {}: {}", event.name, event.code)
        };
        self.write_events().into_iter().map(text).collect()
    }

    /// All attempts to write, but Events.
    pub fn all_writes(&self) -> usize {
        let writes = self.audit.iter().filter(|event| is_write(event));
        writes.filter(|event| event.resource != "events").count()
    }

    /// Requests for the block, whose status counts its addresses.
    pub fn of_block(&self) -> usize {
        let requests = self.audit.iter().filter(|event| event.by_mooring());
        requests
            .filter(|event| event.resource == "ipblocks" && event.verb != "watch")
            .count()
    }

    /// Posted Events.
    pub fn events(&self) -> usize {
        let writes = self.audit.iter().filter(|event| is_write(event));
        writes.filter(|event| event.resource == "events").count()
    }

    /// Reads of objects. A read within the creation of a pod is one of its review: before the pod is there, the controller
    /// cannot know of it. Watches are not counted, nor reads of a block before its status is written, nor lists of one object, by which the version of a list is asked for
    /// from time to time.
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

/// How many requests there are of each kind, for one line on the terminal.
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

/// Which part of Mooring has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBy {
    Controller,
    Review,
}
