//! The cluster of `up` and `demo`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use mooring_cluster::{
    Cluster, ClusterOptions, Mooring, MooringOptions, NodeSpec, Subnet, http_get, repository, wait,
};

/// The time limit until a restarted process is ready.
const READY: Duration = Duration::from_mins(1);

/// The nodes.
pub(crate) const NODES: [&str; 3] = ["node-a", "node-b", "node-c"];

/// A cluster with three nodes on emulated instances, and Mooring in it.
pub(crate) struct World {
    // Fields are dropped in this order: Mooring releases its lease while the API server still runs.
    pub mooring: Mooring,
    pub subnet: Subnet,
    /// The interfaces of the nodes in that subnet.
    pub interfaces: Vec<String>,
    pub cluster: Cluster,
}

impl World {
    pub(crate) async fn start(options: ClusterOptions) -> Self {
        let cluster = Cluster::start(options).await;
        let subnet = cluster.add_subnet("203.0.113.0/24").await;
        let mut interfaces = Vec::new();
        for name in NODES {
            let node = cluster
                .add_node(NodeSpec::new(name).interface(&subnet))
                .await;
            interfaces.extend(node.interfaces.first().cloned());
        }
        let mooring = Mooring::start(
            &cluster,
            MooringOptions {
                identity: Some("mooring-dev".to_owned()),
                ..MooringOptions::default()
            },
        )
        .await;
        Self {
            mooring,
            subnet,
            interfaces,
            cluster,
        }
    }

    /// Restarts the processes that have ended, and waits until Mooring is ready. Returns one sentence for each.
    pub(crate) async fn revive(&self) -> Result<Vec<String>, String> {
        if let Some(status) = self.cluster.ec2().process().ended() {
            return Err(format!(
                "the EC2 emulator has ended ({status}), and what it knew is gone: `make down`, then `make up`"
            ));
        }
        let control_plane = [
            "etcd",
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
            "kwok",
        ]
        .map(|name| (name, self.cluster.process(name)));
        let processes: Vec<_> = control_plane
            .into_iter()
            .chain([("Mooring", self.mooring.process())])
            .collect();
        let mut revived = BTreeMap::new();
        let readyz = format!("{}/readyz", self.mooring.http_url());
        // Check in each round: a killed process ends only after all of its threads.
        let ready = wait(READY, || {
            for (name, process) in &processes {
                if let Entry::Vacant(entry) = revived.entry(*name)
                    && let Some(status) = process.ended()
                {
                    process.restart();
                    entry.insert(format!("{name} had ended ({status}) and was started again"));
                }
            }
            async {
                let answer = http_get(&readyz).await?;
                if answer.code == 200 {
                    Ok(())
                } else {
                    Err(answer.body)
                }
            }
        });
        ready
            .await
            .map_err(|seen| format!("Mooring is not ready after {READY:?}: {seen}"))?;
        Ok(revived.into_values().collect())
    }

    /// Ends all processes, Mooring first.
    pub(crate) async fn stop(self) {
        let Self {
            mooring, cluster, ..
        } = self;
        mooring.terminate().await;
        drop(cluster);
    }

    /// A manifest of `config/samples`. The block gets the subnet of this cluster and more lines in its `spec`.
    pub(crate) fn sample(&self, name: &str, more: &[&str]) -> Result<String, String> {
        let path = repository().join("config/samples").join(name);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let mut sample = String::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((indent, _)) = line.split_once("subnetID:") else {
                sample.extend([line, "\n"]);
                continue;
            };
            sample.extend([indent, "subnetID: ", &self.subnet.id, "\n"]);
            for line in more {
                sample.extend([indent, line, "\n"]);
            }
        }
        Ok(sample)
    }
}
