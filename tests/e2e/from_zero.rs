//! No node of the block exists yet: an autoscaler has to add one.

use mooring_cluster::NodeSpec;

use crate::harness::scene::Scene;
use crate::readme::{INSTALL, page};

scenes![shared without_a_node_of_the_block_a_pod_waits_with_a_reason_until_a_node_joins];

async fn without_a_node_of_the_block_a_pod_waits_with_a_reason_until_a_node_joins(scene: &Scene) {
    let block = scene.block().await;
    let ip = scene.ip("web", 10).await;
    scene.deployment("web", &ip).await;
    let pod = scene.only_pod("web").await;
    let reason = scene.expect_event("NoEligibleNode", &pod).await;
    assert!(reason.contains(&block), "the block is named: {reason}");
    assert!(reason.contains("node template"), "the remedy is: {reason}");
    // The pod is unschedulable, because no node has the required label. An autoscaler reacts to that.
    let (reason, _) = scene
        .expect_condition("Pod", &pod, "PodScheduled", "False")
        .await;
    assert_eq!(reason, "Unschedulable");
    let label = format!("ip.wgtwo.com.node-restriction.kubernetes.io/{block}");
    let object = scene.get("Pod", &pod).await.expect("it waits");
    let affinity = &object["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let wanted = &affinity["nodeSelectorTerms"][0]["matchExpressions"][0];
    assert_eq!(
        (&wanted["key"], &wanted["operator"]),
        (&label.clone().into(), &"Exists".into()),
        "what a node template has to have: {affinity}"
    );
    let install = page(INSTALL);
    for words in [
        "ip.wgtwo.com.node-restriction.kubernetes.io/partners",
        "node-template/label/",
    ] {
        assert!(install.contains(words), "{INSTALL} does not say {words}");
    }
    // The node is created from its template: it has the label before Mooring sets it.
    let spec = NodeSpec::new("new")
        .label(&label, "")
        .interface(&scene.subnet);
    let node = scene.node_of(spec).await;
    let status = scene.expect_attached(&ip, &pod).await;
    assert_eq!(status["status"]["networkInterfaceID"], node.interfaces[0]);
    scene.expect_labelled(&node.name, &block).await;
}
