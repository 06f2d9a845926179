//! A node fails, and the address follows the pod of the Deployment.

use mooring_cluster::Node;
use serde_json::json;

use crate::harness::expectations::GATE;
use crate::harness::objects::{annotated, merged, on};
use crate::harness::scene::{AFTER_NODE_FAILURE, Ip, SOON, Scene};

scenes![
    shared the_address_of_a_failed_node_follows_the_pod,
    shared the_address_of_a_deleted_node_follows_the_pod,
    shared the_address_of_a_terminated_instance_follows_the_pod,
    shared the_address_of_a_stopped_instance_follows_the_pod,
    shared a_restarting_kubelet_moves_nothing,
    shared a_ready_pod_on_a_failed_node_takes_nothing,
];

/// Creates a Deployment whose pod has its address on the first of two nodes.
async fn attached(scene: &Scene) -> (Ip, String, Node, Node) {
    let block = scene.block().await;
    let (a, b) = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&a.name, &block).await;
    scene.expect_labelled(&b.name, &block).await;
    let ip = scene.ip("web", 10).await;
    // The pod prefers the first node, and can run on the other.
    let first = json!({"template": {"spec": {"affinity": {"nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": {
            "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [a.name]}]}}]}}}}});
    scene.deployment_with("web", &ip, &first).await;
    let pod = scene.only_pod("web").await;
    let status = scene.expect_attached(&ip, &pod).await;
    assert_eq!(status["status"]["node"], a.name.as_str());
    (ip, pod, a, b)
}

async fn follows(scene: &Scene, ip: &Ip, old: &str, there: &Node) {
    let new = scene
        .eventually(
            "the Deployment has another pod",
            AFTER_NODE_FAILURE,
            async || {
                let mut pods = scene.pods_of("web").await.into_iter();
                pods.find(|(name, _)| name != old).map(|(name, _)| name)
            },
        )
        .await;
    let status = scene
        .expect_attached_within(ip, &new, AFTER_NODE_FAILURE)
        .await;
    assert_eq!(status["status"]["networkInterfaceID"], there.interfaces[0]);
}

async fn the_address_of_a_failed_node_follows_the_pod(scene: &Scene) {
    let (ip, pod, here, there) = attached(scene).await;
    scene.cluster().fail_node(&here.name).await;
    follows(scene, &ip, &pod, &there).await;
    // The old pod stays terminating, unless its kubelet ends it before the failure. Its gate was closed.
    scene
        .eventually("the gate of the old pod is closed", SOON, async || {
            let audit = scene.audit();
            let of_pod = audit
                .iter()
                .filter(|event| event.is_write() && event.resource == "pods" && event.name == pod);
            let gates: Vec<_> = of_pod.filter_map(|event| event.condition(GATE)).collect();
            if gates.last() == Some(&"False") {
                Ok(())
            } else {
                Err(format!("{gates:?}"))
            }
        })
        .await;
}

async fn the_address_of_a_deleted_node_follows_the_pod(scene: &Scene) {
    let (ip, pod, here, there) = attached(scene).await;
    scene.cluster().delete_node(&here.name).await;
    follows(scene, &ip, &pod, &there).await;
}

async fn the_address_of_a_terminated_instance_follows_the_pod(scene: &Scene) {
    let (ip, pod, here, there) = attached(scene).await;
    scene.cluster().terminate_instance(&here.instance_id).await;
    scene.cluster().fail_node(&here.name).await;
    follows(scene, &ip, &pod, &there).await;
}

async fn a_restarting_kubelet_moves_nothing(scene: &Scene) {
    let block = scene.block_with(&json!({"failoverAfter": "10m"})).await;
    let (a, b) = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&a.name, &block).await;
    scene.expect_labelled(&b.name, &block).await;
    let ip = scene.ip("web", 10).await;
    let stuck = annotated("test.mooring/stuck-terminating", "true");
    scene.pod_with("web", &ip, &merged(on(&a), &stuck)).await;
    scene.expect_attached(&ip, "web").await;
    // On the other node, so that the address could move.
    scene.pod_with("next", &ip, &on(&b)).await;
    scene.expect_event("ClaimedByOther", "next").await;
    scene.delete("Pod", "web").await;
    scene.cluster().report_node_not_ready(&a.name, true).await;
    scene
        .expect_condition("Node", &a.name, "Ready", "False")
        .await;
    scene
        .remains(
            "the draining pod keeps it",
            std::time::Duration::from_secs(5),
            async || scene.ec2().address_on(&ip.address).await.as_ref() == Some(&a.interfaces[0]),
        )
        .await;
    scene.cluster().report_node_not_ready(&a.name, false).await;
    let gone = json!({"metadata": {"annotations": {"test.mooring/stuck-terminating": null}}});
    scene.patch("Pod", "web", &gone).await;
    scene.expect_attached(&ip, "next").await;
}

async fn the_address_of_a_stopped_instance_follows_the_pod(scene: &Scene) {
    let (ip, pod, here, there) = attached(scene).await;
    scene.cluster().stop_instance(&here.instance_id).await;
    scene.cluster().fail_node(&here.name).await;
    follows(scene, &ip, &pod, &there).await;
    // A stopped instance keeps its addresses until they are unassigned.
    let off = scene.mutations().await.into_iter().any(|mutation| {
        mutation.action.starts_with("Unassign")
            && mutation.result == "Success"
            && mutation.network_interface_id.as_ref() == Some(&here.interfaces[0])
    });
    assert!(off, "it was taken off the stopped instance");
}

async fn a_ready_pod_on_a_failed_node_takes_nothing(scene: &Scene) {
    // Long enough that the pod of the failed node is not evicted during the scene.
    let block = scene.block_with(&json!({"failoverAfter": "10m"})).await;
    let (a, b) = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&a.name, &block).await;
    scene.expect_labelled(&b.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene
        .deployment_with("web", &ip, &json!({"template": on(&a)}))
        .await;
    let old = scene.only_pod("web").await;
    scene.expect_attached(&ip, &old).await;
    let waiting = merged(on(&b), &annotated("test.mooring/never-ready", "true"));
    scene.roll_out("web", &waiting).await;
    let new = scene.new_pod("web", &[&old]).await;
    scene
        .expect_condition("Pod", &new, "ContainersReady", "False")
        .await;
    scene.cluster().fail_node(&b.name).await;
    scene
        .eventually("the node has failed", AFTER_NODE_FAILURE, async || {
            let node = scene.get("Node", &b.name).await.ok_or("no node")?;
            match crate::harness::expectations::condition(&node, "Ready") {
                Some(("Unknown", ..)) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    // The scene writes the whole list of conditions below. So Mooring must have written its condition before.
    scene.expect_gate_closed(&new, "NoEligibleNode").await;
    // The last report of the kubelet: the containers are ready.
    let pod = scene.get("Pod", &new).await.expect("it is there");
    let mut conditions = pod["status"]["conditions"].clone();
    for condition in conditions.as_array_mut().expect("it has conditions") {
        if condition["type"] == "ContainersReady" {
            condition["status"] = "True".into();
        }
    }
    let ready = json!({"status": {"conditions": conditions}});
    scene
        .changes("Pod", &format!("{new}/status"), &ready)
        .await
        .accepted();
    scene
        .remains(
            "the old pod keeps it",
            std::time::Duration::from_secs(8),
            async || scene.attached(&ip, &old).await,
        )
        .await;
    // When the node works again, the new pod gets the address. So the failed node was the only obstacle.
    scene.cluster().restore_node(&b.name).await;
    scene
        .patch(
            "Pod",
            &new,
            &json!({"metadata": {"annotations": {"test.mooring/never-ready": null}}}),
        )
        .await;
    scene
        .expect_attached_within(&ip, &new, AFTER_NODE_FAILURE)
        .await;
}
