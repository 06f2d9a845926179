//! The object with a name changes: another instance for a node, another interface on an instance.

use mooring_cluster::{InterfaceSpec, Node, NodeSpec};
use serde_json::json;

use crate::harness::objects::on;
use crate::harness::scene::{AFTER_NODE_FAILURE, SOON, Scene};

scenes![
    shared a_node_on_a_new_instance_is_another_place,
    shared a_replaced_interface_is_detected,
    shared a_pod_on_a_node_without_an_interface_in_the_subnet_gets_an_event,
    shared a_kubelet_that_names_the_instance_of_another_node_gets_no_address,
];

async fn a_node_on_a_new_instance_is_another_place(scene: &Scene) {
    let block = scene.block().await;
    let first = scene.node("a").await;
    scene.expect_labelled(&first.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene.deployment("web", &ip).await;
    let old = scene.only_pod("web").await;
    scene.expect_attached(&ip, &old).await;
    // Another instance whose kubelet registers with the old name.
    let spare = NodeSpec::new("spare").interface(&scene.subnet);
    let spare = scene.node_of(spare).await;
    scene.cluster().delete_node(&spare.name).await;
    scene.cluster().delete_node(&first.name).await;
    let again = Node {
        name: first.name.clone(),
        ..spare
    };
    let spec = NodeSpec::new(&first.name).interface(&scene.subnet);
    scene
        .eventually("the old Node is gone", SOON, async || {
            scene.get("Node", &first.name).await.is_none()
        })
        .await;
    scene
        .kubectl(&format!("delete pod {old} --force --grace-period=0"))
        .await
        .success();
    let other = scene.node_of(NodeSpec::new("other")).await;
    scene
        .cluster()
        .deleted_nodes_are_forgotten(&other.name)
        .await;
    scene.cluster().register(&again, &spec).await;
    let new = scene
        .eventually(
            "the Deployment has another pod",
            AFTER_NODE_FAILURE,
            async || {
                let mut pods = scene.pods_of("web").await.into_iter();
                pods.find(|(name, _)| *name != old).map(|(name, _)| name)
            },
        )
        .await;
    let status = scene
        .expect_attached_within(&ip, &new, AFTER_NODE_FAILURE)
        .await;
    assert_eq!(status["status"]["instanceID"], again.instance_id.as_str());
    assert_eq!(status["status"]["networkInterfaceID"], again.interfaces[0]);
}

async fn a_replaced_interface_is_detected(scene: &Scene) {
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene.pod_with("web", &ip, &on(&node)).await;
    scene.expect_attached(&ip, "web").await;
    let state = scene.ec2().state().await;
    let mut interfaces = state.network_interfaces.iter();
    let attachment = interfaces
        .find(|interface| interface.network_interface_id == node.interfaces[0])
        .and_then(|interface| interface.attachment_id.clone())
        .expect("it is attached");
    scene
        .ec2()
        .call("DetachNetworkInterface", &[("AttachmentId", &attachment)])
        .await;
    let spec = InterfaceSpec::new(&scene.subnet);
    let new = scene
        .cluster()
        .add_interface(&node.instance_id, 1, &spec)
        .await;
    scene
        .eventually(
            "the address is on the new interface",
            AFTER_NODE_FAILURE,
            async || {
                let on = scene.ec2().address_on(&ip.address).await;
                if on.as_ref() == Some(&new) {
                    Ok(())
                } else {
                    Err(on)
                }
            },
        )
        .await;
    scene.expect_attached(&ip, "web").await;
}

async fn a_pod_on_a_node_without_an_interface_in_the_subnet_gets_an_event(scene: &Scene) {
    // The administrator chose the nodes of the block, and chose a wrong one.
    let pool = json!({"nodeSelector": {"matchLabels": {"pool": scene.name}}});
    scene.block_with(&pool).await;
    let node = scene
        .node_of(NodeSpec::new("bare").label("pool", &scene.name))
        .await;
    let ip = scene.ip("web", 10).await;
    scene.pod("web", &ip).await;
    scene.expect_event("NoEligibleNode", "web").await;
    let labels = scene.get("Node", &node.name).await.expect("it is there");
    let labels = labels["metadata"]["labels"].to_string();
    assert!(
        !labels.contains("ip.wgtwo.com.node-restriction"),
        "Mooring labels no node of a block with nodeSelector: {labels}"
    );
}

async fn a_kubelet_that_names_the_instance_of_another_node_gets_no_address(scene: &Scene) {
    let pool = json!({"nodeSelector": {"matchLabels": {"pool": scene.name}}});
    scene.block_with(&pool).await;
    let spec = |name: &str| NodeSpec::new(name).label("pool", &scene.name);
    let node = scene.node_of(spec("a").interface(&scene.subnet)).await;
    let forged = scene.node_of_kubelet(spec("forged"), &node).await;
    let shown = scene.get("Node", &forged.name).await.expect("it is there");
    // The API server accepts the address that the kubelet reports, so a comparison with EC2 would prove nothing (R3.2).
    let address = &shown["status"]["addresses"][0]["address"];
    assert_eq!(*address, json!(node.address));
    let ip = scene.ip("web", 10).await;
    scene.pod_with("on-forged", &ip, &on(&forged)).await;
    // Checks the names too, because before the first inventory an Event with this reason says that no node has an
    // interface.
    let names = [forged.name.as_str(), node.name.as_str()];
    scene
        .expect_event_naming("NoEligibleNode", "on-forged", &names, SOON)
        .await;
    scene.expect_detached(&ip).await;
    scene.pod_with("web", &ip, &on(&node)).await;
    scene.expect_attached(&ip, "web").await;
}
