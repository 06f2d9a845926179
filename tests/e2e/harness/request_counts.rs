//! The number of requests of Mooring, from the counters of the emulator and from the audit log.

use mooring_cluster::{AuditEvent, Calls};

use crate::harness::scene::{SOON, Scene};

/// The counters at the start.
pub struct CountStart {
    calls: Calls,
    mutations: usize,
    audit: u64,
}

/// The requests since the start.
#[derive(Debug)]
pub struct RequestCounts {
    /// The Assigns and Unassigns of the addresses of the scene in order, as `Assign Success`.
    pub mutations: Vec<String>,
    /// All Describe calls.
    pub describes: u64,
    /// Writes of the status of an IP.
    pub status_writes: usize,
    /// Writes of pods by Mooring.
    pub pod_writes: usize,
    /// Describe calls other than lists of interfaces.
    pub other_describes: u64,
    /// Writes of Events by Mooring.
    pub events: usize,
    /// The reads between the first write of an IP (the claim) and the last write of a pod (the gate), as `get pods/
    /// web`. The reads of the review of the pod come earlier.
    pub reads_on_the_way: Vec<String>,
    /// All writes of Mooring except Leases and Events, as `patch ips/status name`.
    pub writes: Vec<String>,
}

impl Scene {
    /// Waits until a Mooring with a long inventory interval has taken its first two inventories of the subnet. Then no
    /// inventory is due. Uses the counters since their last reset.
    pub async fn expect_two_inventories(&self) {
        self.eventually("the subnet is listed twice", SOON, async || {
            self.ec2().calls().await.of("DescribeNetworkInterfaces") >= 2
        })
        .await;
    }

    /// Starts to count.
    pub async fn count_requests(&self) -> CountStart {
        CountStart {
            calls: self.ec2().calls().await,
            mutations: self.mutations().await.len(),
            audit: self.cluster().audit_since(u64::MAX).1,
        }
    }
}

impl CountStart {
    /// The requests since the start of the count.
    pub async fn until_now(&self, scene: &Scene) -> RequestCounts {
        let calls = scene.ec2().calls().await;
        let mutations = scene.mutations().await.split_off(self.mutations);
        let (audit, _) = scene.cluster().audit_since(self.audit);
        let all: Vec<_> = audit
            .iter()
            .filter(|event| event.by_mooring() && event.is_write())
            .collect();
        let writes: Vec<_> = all
            .iter()
            .filter(|event| event.resource != "leases" && event.resource != "events")
            .collect();
        let is_status =
            |resource: &str, subresource: &str| resource == "ips" && subresource == "status";
        let describes = calls.describes() - self.calls.describes();
        let lists = "DescribeNetworkInterfaces";
        RequestCounts {
            other_describes: describes - (calls.of(lists) - self.calls.of(lists)),
            events: all
                .iter()
                .filter(|event| event.resource == "events")
                .count(),
            mutations: mutations
                .iter()
                .map(|mutation| {
                    let action = mutation.action.trim_end_matches("PrivateIpAddresses");
                    format!("{action} {}", mutation.result)
                })
                .collect(),
            describes,
            status_writes: writes
                .iter()
                .filter(|event| is_status(&event.resource, &event.subresource))
                .count(),
            reads_on_the_way: reads_on_the_way(&audit),
            pod_writes: writes
                .iter()
                .filter(|event| event.resource == "pods")
                .count(),
            writes: writes.iter().map(|event| in_words(event)).collect(),
        }
    }
}

fn in_words(event: &AuditEvent) -> String {
    format!(
        "{} {}/{} {}",
        event.verb, event.resource, event.subresource, event.name
    )
}

/// The reads of Mooring between the claim and the gate.
fn reads_on_the_way(audit: &[AuditEvent]) -> Vec<String> {
    let ours = || audit.iter().filter(|event| event.by_mooring());
    let writes = |resource: &'static str| {
        ours().filter(move |event| event.is_write() && event.resource == resource)
    };
    let claimed = writes("ips").map(|event| event.received).min();
    let reported = writes("pods").map(|event| event.answered).max();
    let (Some(claimed), Some(reported)) = (claimed, reported) else {
        return Vec::new();
    };
    ours()
        .filter(|event| matches!(event.verb.as_str(), "get" | "list"))
        // Leases and blocks do not belong to the attach: they are read and written independently of it.
        .filter(|event| event.resource != "leases" && event.resource != "ipblocks")
        .filter(|event| claimed <= event.received && event.received <= reported)
        .map(in_words)
        .collect()
}
