//! Fast failover: Mooring sets the taint `out-of-service` on a node whose instance has ended according to EC2, and on
//! no other node.

use std::time::Duration;

use mooring_cluster::{Fault, Node};
use serde_json::{Value, json};

use crate::harness::objects::annotated;
use crate::harness::scene::{AFTER_NODE_FAILURE, Ip, SOON, Scene};

scenes![
    alone a_stateful_sets_address_follows_when_its_instance_is_terminated,
    shared a_deployments_address_follows_when_its_instance_is_terminated,
    shared a_node_that_ec2_does_not_say_has_ended_stays_in_service,
    shared a_node_is_put_back_when_its_instance_runs_again,
];

const KEY: &str = "node.kubernetes.io/out-of-service";

/// Creates two nodes of a block with fast failover, and an IP.
async fn ready(scene: &Scene) -> (Ip, Node, Node) {
    let block = scene.block_with(&json!({"fastFailover": true})).await;
    let (a, b) = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&a.name, &block).await;
    scene.expect_labelled(&b.name, &block).await;
    (scene.ip("web", 10).await, a, b)
}

/// Returns the node with the address first, then the other. From now on the kubelet of the pod does not end it.
async fn attached(scene: &Scene, ip: &Ip, pod: &str, (a, b): (Node, Node)) -> (Node, Node) {
    let status = scene.expect_attached(ip, pod).await;
    let stuck = annotated("test.mooring/stuck-terminating", "true");
    scene.patch("Pod", pod, &stuck).await;
    if status["status"]["node"] == a.name.as_str() {
        (a, b)
    } else {
        (b, a)
    }
}

/// The values of the `out-of-service` taints of a node.
async fn taints(scene: &Scene, node: &Node) -> Vec<String> {
    let found = scene.get("Node", &node.name).await.unwrap_or_default();
    let taints = found["spec"]["taints"].as_array().cloned();
    let ours = |taint: &Value| taint["key"] == KEY && taint["effect"] == "NoExecute";
    let taints = taints.unwrap_or_default().into_iter().filter(ours);
    taints
        .map(|taint| taint["value"].as_str().unwrap_or_default().to_owned())
        .collect()
}

async fn expect_taints(scene: &Scene, node: &Node, expected: &[&str]) {
    let sentence = format!("the taints of node {} are {expected:?}", node.name);
    scene
        .eventually(&sentence, SOON, async || {
            let found = taints(scene, node).await;
            if found == expected {
                Ok(())
            } else {
                Err(format!("{found:?}"))
            }
        })
        .await;
}

/// Waits until the `StatefulSet` has created a new pod of the same name. The pod garbage collector runs every 20 s.
async fn comes_again(scene: &Scene, before: &str) {
    scene
        .eventually(
            "a new pod of the same name",
            AFTER_NODE_FAILURE,
            async || {
                let pod = scene.get("Pod", "web-0").await?;
                (pod["metadata"]["uid"] != before).then_some(())
            },
        )
        .await;
}

async fn remains_in_service(scene: &Scene, node: &Node) {
    scene
        .remains("no taint is set", Duration::from_secs(6), async || {
            taints(scene, node).await.is_empty()
        })
        .await;
}

/// The number of measurements of a part of a failover.
async fn measured(scene: &Scene, part: &str) -> f64 {
    let part = format!("part=\"{part}\"");
    let replicas = scene.test_cluster.replicas.lock().await;
    replicas[0]
        .metric("mooring_failover_seconds_count", &[part.as_str()])
        .await
}

async fn a_stateful_sets_address_follows_when_its_instance_is_terminated(scene: &Scene) {
    scene.mooring().await;
    let (ip, a, b) = ready(scene).await;
    scene.stateful_set("web", &ip).await;
    let (here, there) = attached(scene, &ip, "web-0", (a, b)).await;
    let before = scene.uid("web-0").await;
    let count = measured(scene, "total").await;
    scene.cluster().terminate_instance(&here.instance_id).await;
    // The last report of its kubelet.
    scene
        .cluster()
        .report_node_not_ready(&here.name, true)
        .await;
    expect_taints(scene, &here, &["mooring"]).await;
    let note = scene.expect_event("OutOfService", &here.name).await;
    assert!(note.contains("is terminated"), "{note}");
    scene.expect_event("OutOfService", "web-0").await;
    comes_again(scene, &before).await;
    let status = scene.expect_attached(&ip, "web-0").await;
    assert_eq!(status["status"]["networkInterfaceID"], there.interfaces[0]);
    scene
        .eventually("its parts are measured", SOON, async || {
            measured(scene, "total").await > count + 0.5
        })
        .await;
    for part in [
        "detection",
        "eviction",
        "scheduling",
        "claim",
        "ec2",
        "record",
    ] {
        assert!(measured(scene, part).await > 0.5, "{part}");
    }
}

async fn a_deployments_address_follows_when_its_instance_is_terminated(scene: &Scene) {
    let (ip, a, b) = ready(scene).await;
    scene.deployment("web", &ip).await;
    let pod = scene.only_pod("web").await;
    let (here, there) = attached(scene, &ip, &pod, (a, b)).await;
    scene.cluster().terminate_instance(&here.instance_id).await;
    // The kubelet stops reporting. Kubernetes notices that after the node monitor grace period.
    scene.cluster().fail_node(&here.name).await;
    let next = scene
        .eventually("another pod", AFTER_NODE_FAILURE, async || {
            let mut pods = scene.pods_of("web").await.into_iter();
            pods.find(|(name, _)| name != &pod).map(|(name, _)| name)
        })
        .await;
    let status = scene
        .expect_attached_within(&ip, &next, AFTER_NODE_FAILURE)
        .await;
    assert_eq!(status["status"]["networkInterfaceID"], there.interfaces[0]);
    expect_taints(scene, &here, &["mooring"]).await;
}

async fn a_node_that_ec2_does_not_say_has_ended_stays_in_service(scene: &Scene) {
    let (ip, a, b) = ready(scene).await;
    scene.stateful_set("web", &ip).await;
    let (here, _) = attached(scene, &ip, "web-0", (a, b)).await;
    // The node is not ready, but EC2 reports that the instance runs.
    scene
        .cluster()
        .report_node_not_ready(&here.name, true)
        .await;
    scene
        .expect_condition("Node", &here.name, "Ready", "False")
        .await;
    remains_in_service(scene, &here).await;
    // The instance has ended, but EC2 answers with errors.
    let silent = Fault::error("InternalError")
        .of("DescribeInstances")
        .instance(&here.instance_id)
        .forever();
    let silent = scene.ec2().fault(silent).await;
    scene.cluster().stop_instance(&here.instance_id).await;
    remains_in_service(scene, &here).await;
    scene.ec2().clear_fault(silent).await;
    expect_taints(scene, &here, &["mooring"]).await;
}

async fn a_node_is_put_back_when_its_instance_runs_again(scene: &Scene) {
    let (ip, a, b) = ready(scene).await;
    scene.stateful_set("web", &ip).await;
    let (here, there) = attached(scene, &ip, "web-0", (a, b)).await;
    let person = format!("{KEY}=nodeshutdown:NoExecute");
    scene.cluster().taint(&there.name, &person).await;
    let before = scene.uid("web-0").await;
    scene.cluster().stop_instance(&here.instance_id).await;
    scene
        .cluster()
        .report_node_not_ready(&here.name, true)
        .await;
    expect_taints(scene, &here, &["mooring"]).await;
    comes_again(scene, &before).await;
    scene.cluster().start_instance(&here.instance_id).await;
    scene
        .cluster()
        .report_node_not_ready(&here.name, false)
        .await;
    expect_taints(scene, &here, &[]).await;
    scene.expect_event("BackInService", &here.name).await;
    assert_eq!(taints(scene, &there).await, ["nodeshutdown"]);
    // The next pod can run only on this node.
    let status = scene
        .expect_attached_within(&ip, "web-0", AFTER_NODE_FAILURE)
        .await;
    assert_eq!(status["status"]["node"], here.name.as_str());
}
