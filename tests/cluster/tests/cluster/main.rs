//! Tests of the test cluster without Mooring: the properties that the end-to-end tests rely on.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

mod api_server;
mod nodes;
mod pods;

use std::time::Duration;

use mooring_cluster::{Cluster, ClusterOptions, NodeSpec};

const LIMIT: Duration = Duration::from_secs(30);

/// One cluster for all tests of this crate, with a node `good-1`.
async fn cluster() -> &'static Cluster {
    static CLUSTER: tokio::sync::OnceCell<Cluster> = tokio::sync::OnceCell::const_new();
    CLUSTER
        .get_or_init(|| async {
            let cluster = Cluster::start(ClusterOptions {
                manifests: false,
                // Failed nodes are detected sooner than by default, so that this test takes less time.
                node_grace: Duration::from_secs(10),
                ..ClusterOptions::default()
            })
            .await;
            cluster
                .add_node(NodeSpec::new("good-1").label("pool", "good"))
                .await;
            cluster
        })
        .await
}
