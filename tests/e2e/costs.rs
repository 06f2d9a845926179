//! What Mooring has spent, from the emulator's and the API server's counters.

use mooring_cluster::Calls;

use crate::scene::{SOON, Scene};

/// Where counting began.
pub struct Begin {
    calls: Calls,
    mutations: usize,
    audit: u64,
}

/// What was spent.
#[derive(Debug)]
pub struct Costs {
    /// Assigns and Unassigns of the scene's addresses in order, as `Assign Success`.
    pub mutations: Vec<String>,
    /// Describe calls, of whatever.
    pub describes: u64,
    /// Writes of an IP's status.
    pub status_writes: usize,
    /// Writes of pods by Mooring.
    pub pod_writes: usize,
    /// Describe calls other than lists of interfaces.
    pub other_describes: u64,
    /// Events that Mooring has told.
    pub events: usize,
    /// All of Mooring's writes but those of Leases and Events, as `patch ips/status name`.
    pub writes: Vec<String>,
}

impl Scene {
    /// Waits until a Mooring that was started with a long interval has looked at the scene's subnet twice, as it
    /// does at first: no look is due from then on. Counted since the emulator's counters were reset.
    pub async fn expect_two_inventories(&self) {
        self.eventually("the subnet is listed twice", SOON, async || {
            self.ec2().calls().await.of("DescribeNetworkInterfaces") >= 2
        })
        .await;
    }

    /// Begins to count.
    pub async fn costs(&self) -> Begin {
        Begin {
            calls: self.ec2().calls().await,
            mutations: self.mutations().await.len(),
            audit: self.cluster().audit_since(u64::MAX).1,
        }
    }
}

impl Begin {
    /// What was spent since.
    pub async fn until_now(&self, scene: &Scene) -> Costs {
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
        Costs {
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
