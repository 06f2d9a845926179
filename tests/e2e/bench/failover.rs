//! A node whose instance is terminated, in a block with `fastFailover`.

use serde_json::json;

use super::cluster::{Bench, nodes_in};
use super::figures::Figure;
use super::timeline::millis;
use crate::harness::expectations::GATE;

/// The time from the call that terminates the instance to the readiness gate of the next pod of a Deployment. The
/// kubelet reports that its node is not ready.
pub async fn of_a_deployment(bench: &Bench<'_>) {
    let scene = bench.scene;
    let (subnet, _) = scene.another_subnet().await;
    let nodes = nodes_in(scene, &subnet, "failing", 2).await;
    let block = scene
        .block_in("fast", &subnet, &json!({"fastFailover": true}))
        .await;
    for node in &nodes {
        scene.expect_labelled(node, &block).await;
    }
    let ip = scene.ip_with("fast", &json!({"block": block})).await;
    scene.deployment("fast", &ip).await;
    let pod = scene.only_pod("fast").await;
    let status = scene.expect_attached(&ip, &pod).await;
    scene.expect_pod_ready(&pod).await;
    let node = status["status"]["node"].as_str().expect("it is attached");
    let object = scene.get("Node", node).await.expect("it is there");
    let provider = object["spec"]["providerID"].as_str().unwrap_or_default();
    let instance = provider.rsplit('/').next().unwrap_or_default();
    bench.quiet().await;
    let (mark, terminated) = (bench.mark().await, jiff::Timestamp::now());
    scene.cluster().terminate_instance(instance).await;
    scene.cluster().report_node_not_ready(node, true).await;
    let next = scene.new_pod("fast", &[&pod]).await;
    scene.expect_attached(&ip, &next).await;
    let counted = bench.since(&mark).await;
    let opened = counted.audit.iter().find(|event| {
        event.by_mooring() && event.name == next && event.condition(GATE) == Some("True")
    });
    let opened = opened.expect("its gate was opened").answered;
    Figure::new(
        "failover",
        "instance terminated, `fastFailover`: until the next pod of a Deployment has the address",
    )
    .goal("10 s")
    .is(format!("{:.1} s", millis(terminated, opened) / 1e3));
}
