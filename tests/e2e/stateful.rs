//! A pod of a `StatefulSet` is recreated with the same name, and gets its address again.

use std::time::Duration;

use mooring_cluster::Node;
use serde_json::json;

use crate::harness::objects::{annotated, on};
use crate::harness::scene::{AFTER_NODE_FAILURE, Ip, Scene};

scenes![
    shared a_pod_recreated_under_the_same_name_gets_its_address_again,
    shared on_a_failed_node_the_address_waits_for_the_out_of_service_taint,
    shared on_a_failed_node_the_address_moves_when_the_node_is_deleted,
];

async fn attached(scene: &Scene) -> (Ip, (Node, Node)) {
    let block = scene.block().await;
    let nodes = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&nodes.0.name, &block).await;
    scene.expect_labelled(&nodes.1.name, &block).await;
    let ip = scene.ip("db", 10).await;
    scene.stateful_set("db", &ip).await;
    scene.expect_attached(&ip, "db-0").await;
    (ip, nodes)
}

/// Returns the node of `db-0` and the other node.
async fn node_and_other(scene: &Scene, (a, b): (Node, Node)) -> (Node, Node) {
    let pod = scene.get("Pod", "db-0").await.expect("it is attached");
    if pod["spec"]["nodeName"] == a.name.as_str() {
        (a, b)
    } else {
        (b, a)
    }
}

async fn a_pod_recreated_under_the_same_name_gets_its_address_again(scene: &Scene) {
    let (ip, nodes) = attached(scene).await;
    let (_, there) = node_and_other(scene, nodes).await;
    let before = scene.uid("db-0").await;
    scene
        .patch(
            "StatefulSet",
            "db",
            &json!({"spec": {"template": on(&there)}}),
        )
        .await;
    expect_recreated(scene, &before).await;
    let status = scene.expect_attached(&ip, "db-0").await;
    assert_ne!(status["status"]["podUID"], before.as_str());
    assert_eq!(status["status"]["networkInterfaceID"], there.interfaces[0]);
}

/// Waits until the `StatefulSet` has created a new pod of the same name.
async fn expect_recreated(scene: &Scene, before: &str) {
    scene
        .eventually(
            "a new pod of the same name",
            AFTER_NODE_FAILURE,
            async || {
                let pod = scene.get("Pod", "db-0").await?;
                (pod["metadata"]["uid"] != before).then_some(())
            },
        )
        .await;
}

/// Makes the node of `db-0` fail, and waits until Kubernetes deletes the pod. It stays terminating.
async fn fail_node_of_pod(scene: &Scene, here: &Node) {
    // The kubelet of a failed node ends no pod.
    let stuck = annotated("test.mooring/stuck-terminating", "true");
    scene.patch("Pod", "db-0", &stuck).await;
    scene.cluster().fail_node(&here.name).await;
    scene
        .eventually("the pod is being deleted", AFTER_NODE_FAILURE, async || {
            let pod = scene.get("Pod", "db-0").await.ok_or("no pod")?;
            let is_deleted = pod["metadata"]["deletionTimestamp"].is_string();
            if is_deleted {
                Ok(())
            } else {
                Err(pod["status"].to_string())
            }
        })
        .await;
}

async fn on_a_failed_node_the_address_waits_for_the_out_of_service_taint(scene: &Scene) {
    let (ip, nodes) = attached(scene).await;
    let (here, there) = node_and_other(scene, nodes).await;
    let before = scene.uid("db-0").await;
    fail_node_of_pod(scene, &here).await;
    // Without the taint no other pod gets the address, because the old pod can still send packets.
    scene
        .remains(
            "the address stays where it is",
            Duration::from_secs(5),
            async || {
                scene.ec2().address_on(&ip.address).await.as_ref() == Some(&here.interfaces[0])
            },
        )
        .await;
    assert_eq!(scene.uid("db-0").await, before);
    let taint = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute";
    scene.cluster().taint(&here.name, taint).await;
    expect_recreated(scene, &before).await;
    let status = scene.expect_attached(&ip, "db-0").await;
    assert_eq!(status["status"]["networkInterfaceID"], there.interfaces[0]);
}

async fn on_a_failed_node_the_address_moves_when_the_node_is_deleted(scene: &Scene) {
    let (ip, nodes) = attached(scene).await;
    let (here, there) = node_and_other(scene, nodes).await;
    let before = scene.uid("db-0").await;
    fail_node_of_pod(scene, &here).await;
    scene.cluster().delete_node(&here.name).await;
    expect_recreated(scene, &before).await;
    let status = scene.expect_attached(&ip, "db-0").await;
    assert_eq!(status["status"]["networkInterfaceID"], there.interfaces[0]);
}
