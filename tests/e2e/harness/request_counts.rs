//! The number of requests of Mooring, from the counters of the emulator and from the audit log.

use mooring_cluster::Calls;

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
    /// All writes of Mooring except Leases and Events, as `patch ips/status name`.
    pub writes: Vec<String>,
}

impl Scene {
    /// Waits until a Mooring with a long inventory interval has taken its first two inventories of the subnet: then
    /// no inventory is due. It uses the counters since their last reset.
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
    /// The requests since then.
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
            pod_writes: writes
                .iter()
                .filter(|event| event.resource == "pods")
                .count(),
            writes: writes
                .iter()
                .map(|event| {
                    format!(
                        "{} {}/{} {}",
                        event.verb, event.resource, event.subresource, event.name
                    )
                })
                .collect(),
        }
    }
}
