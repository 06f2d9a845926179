//! A pod that no longer needs its address releases it.

use serde_json::json;

use crate::harness::expectations::{GATE, condition};
use crate::harness::objects::{IP, annotated};
use crate::harness::scene::{SOON, Scene};

scenes![
    shared a_deleted_pods_address_is_detached,
    shared removing_the_annotation_detaches_and_the_pod_keeps_running,
    shared a_waiting_pod_without_its_annotation_is_released,
    shared a_completed_pod_releases_its_address,
    shared a_failed_pod_releases_its_address,
    shared a_force_deleted_pod_is_followed_by_its_successor,
    shared a_stuck_pod_on_a_healthy_node_keeps_its_address,
];

async fn a_deleted_pods_address_is_detached(scene: &Scene) {
    let ip = scene.attached_pod().await;
    scene.delete("Pod", "web").await;
    scene.expect_detached(&ip).await;
    scene.expect_event("Detached", &ip.name).await;
    let object = scene.get("IP", &ip.name).await.expect("the IP stays");
    for field in ["pod", "podUID", "node", "instanceID", "networkInterfaceID"] {
        assert!(
            object["status"][field].is_null(),
            "{field} is left in {}",
            object["status"]
        );
    }
    scene
        .expect_condition("IP", &ip.name, "Ready", "True")
        .await;
    // It is still reserved, and the next pod gets it.
    scene.pod("next", &ip).await;
    scene.expect_attached(&ip, "next").await;
}

async fn removing_the_annotation_detaches_and_the_pod_keeps_running(scene: &Scene) {
    let ip = scene.attached_pod().await;
    scene.expect_pod_ready("web").await;
    scene
        .patch(
            "Pod",
            "web",
            &json!({"metadata": {"annotations": {IP: null}}}),
        )
        .await;
    scene.expect_detached(&ip).await;
    scene
        .eventually(
            "the pod is left without label and with an open gate",
            SOON,
            async || {
                let pod = scene.get("Pod", "web").await.ok_or("no pod")?;
                let labelled = !pod["metadata"]["labels"][IP].is_null()
                    || !pod["metadata"]["annotations"]["ip.wgtwo.com/ip-uid"].is_null();
                match condition(&pod, GATE) {
                    Some(("True", "NotRequested", _)) if !labelled => Ok(()),
                    gate => Err(format!("{gate:?}, {}", pod["metadata"])),
                }
            },
        )
        .await;
    scene.expect_pod_ready("web").await;
}

async fn a_waiting_pod_without_its_annotation_is_released(scene: &Scene) {
    let ip = scene.attached_pod().await;
    scene.pod("second", &ip).await;
    scene.expect_event("ClaimedByOther", "second").await;
    scene
        .patch(
            "Pod",
            "second",
            &json!({"metadata": {"annotations": {IP: null}}}),
        )
        .await;
    scene
        .expect_reason("Pod", "second", GATE, "True", "NotRequested")
        .await;
    scene.expect_attached(&ip, "web").await;
}

async fn a_completed_pod_releases_its_address(scene: &Scene) {
    let ip = scene.attached_pod().await;
    let done = json!({"metadata": {"annotations": {"test.mooring/complete": "Succeeded"}}});
    scene.patch("Pod", "web", &done).await;
    scene.expect_detached(&ip).await;
    assert!(
        scene.get("Pod", "web").await.is_some(),
        "the pod is still there"
    );
}

async fn a_failed_pod_releases_its_address(scene: &Scene) {
    let ip = scene.attached_pod().await;
    let done = json!({"metadata": {"annotations": {"test.mooring/complete": "Failed"}}});
    scene.patch("Pod", "web", &done).await;
    scene.expect_detached(&ip).await;
}

async fn a_stuck_pod_on_a_healthy_node_keeps_its_address(scene: &Scene) {
    let block = scene.block_with(&json!({"failoverAfter": "1s"})).await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    let stuck = annotated("test.mooring/stuck-terminating", "true");
    scene.pod_with("web", &ip, &stuck).await;
    scene.expect_attached(&ip, "web").await;
    scene.pod("successor", &ip).await;
    // Reported while the holder runs: for a holder that is being deleted there is no Event.
    scene.expect_event("ClaimedByOther", "successor").await;
    scene.delete("Pod", "web").await;
    // Longer than `failoverAfter` of the block and the grace period of the pod (2 s).
    scene
        .remains(
            "the pod that can still send packets keeps it",
            std::time::Duration::from_secs(6),
            async || scene.attached(&ip, "web").await,
        )
        .await;
    scene
        .patch(
            "Pod",
            "web",
            &json!({"metadata": {"annotations": {"test.mooring/stuck-terminating": null}}}),
        )
        .await;
    scene.expect_attached(&ip, "successor").await;
}

async fn a_force_deleted_pod_is_followed_by_its_successor(scene: &Scene) {
    let block = scene.block().await;
    let (a, b) = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&a.name, &block).await;
    scene.expect_labelled(&b.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene.deployment("web", &ip).await;
    let old = scene.only_pod("web").await;
    let before = scene.expect_attached(&ip, &old).await;
    let node = before["status"]["node"].as_str().expect("a node");
    // The successor must be scheduled onto the other node.
    scene.kubectl(&format!("cordon {node}")).await.success();
    scene
        .kubectl(&format!("delete pod {old} --force --grace-period=0"))
        .await
        .success();
    let new = scene.new_pod("web", &[&old]).await;
    let after = scene.expect_attached(&ip, &new).await;
    // The Unassign comes first: with `reassign: false` the refusal of EC2 guards the attach.
    let (from, to) = (
        &before["status"]["networkInterfaceID"],
        &after["status"]["networkInterfaceID"],
    );
    assert_ne!(from, to);
    let mutations = scene.mutations().await;
    let last: Vec<_> = mutations.iter().rev().take(2).collect();
    assert!(last[0].action.starts_with("Assign") && last[1].action.starts_with("Unassign"));
}
