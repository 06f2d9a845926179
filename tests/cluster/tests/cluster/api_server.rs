//! The API server of the test cluster: its history of requests, and its restart.

use mooring_cluster::{AuditEvent, Cluster, ClusterOptions, NodeSpec, run};
use serde_json::json;

use crate::cluster;
use crate::pods::pod;

#[test]
fn a_history_continues_at_its_mark() {
    run(async {
        let cluster = cluster().await;
        let (_, mark) = cluster.audit_since(u64::MAX);
        cluster.add_namespace("history").await;
        cluster
            .apply(&pod("history", "once", "good", &[], &json!({})))
            .await;
        let (events, mark) = cluster.audit_since(mark);
        let made = |event: &AuditEvent| {
            event.namespace == "history" && event.name == "once" && event.user == "admin"
        };
        let event = events.iter().find(|event| made(event)).unwrap();
        assert!(
            event.is_write() && event.resource_version().is_some(),
            "{event:?}"
        );
        assert_eq!(event.request["metadata"]["name"], "once");
        let (later, _) = cluster.audit_since(mark);
        assert!(!later.iter().any(made), "an event is returned once");
    });
}

#[test]
fn a_restart_of_the_api_server_loses_nothing() {
    run(async {
        // A separate cluster, because this test restarts the API server.
        let cluster = Cluster::start(ClusterOptions {
            manifests: false,
            ..ClusterOptions::default()
        })
        .await;
        cluster.add_namespace("kept").await;
        cluster.restart_api_server().await;
        let output = cluster
            .kubectl(["get", "namespace", "kept", "-o", "name"])
            .await
            .success();
        assert_eq!(output.trim(), "namespace/kept");
        cluster.add_node(NodeSpec::new("later")).await;
    });
}
