//! The rules of the webhook for blocks, and for changes of a block that has IPs.

use serde_json::json;

use crate::harness::requests::block_named;
use crate::harness::scene::Scene;

scenes![
    shared a_block_is_canonical_and_overlaps_no_other,
    shared a_block_does_not_shrink_or_go_below_its_ips,
    shared fewer_namespaces_evict_no_pod_and_warn,
    shared a_node_selector_must_have_valid_labels,
    shared a_block_of_an_unknown_subnet_reports_it,
];

async fn a_block_of_an_unknown_subnet_reports_it(scene: &Scene) {
    let (mut subnet, _) = scene.another_subnet().await;
    "subnet-0123456789abcdef0".clone_into(&mut subnet.id);
    let block = scene.block_unready("lost", &subnet, &json!({})).await;
    let message = scene
        .expect_reason("IPBlock", &block, "Ready", "False", "SubnetNotFound")
        .await;
    assert!(message.contains(&subnet.id), "{message}");
    scene.expect_event("SubnetNotFound", &block).await;
}

async fn a_block_is_canonical_and_overlaps_no_other(scene: &Scene) {
    let block = scene.block().await;
    let second = scene.named("second");
    let of = |cidr: String| {
        let spec = json!({"cidr": cidr, "subnetID": scene.subnet.id});
        block_named(&second, &spec)
    };
    let answer = scene
        .would_create(&of(format!("{}/24", scene.address(5))))
        .await;
    answer.rejected(&[&scene.subnet.cidr]);
    for cidr in [
        scene.subnet.cidr.clone(),
        format!("{}/28", scene.address(16)),
    ] {
        let answer = scene.would_create(&of(cidr.clone())).await;
        answer.rejected(&["overlaps", &block, &scene.subnet.cidr, &cidr]);
    }
    let (_, beside) = scene.another_subnet().await;
    let answer = scene.would_create(&of(format!("{beside}0/24"))).await;
    answer.accepted_silently();
    // An exclusion outside of the block has no effect, so it is probably a mistake.
    let change = json!({"spec": {"excluded": ["192.0.2.1"]}});
    let answer = scene.would_change("IPBlock", &block, &change).await;
    answer.warns(&["192.0.2.1", "is not in"]);
    // A block whose change makes it overlap the first block.
    let name = scene
        .block_in("third", &scene.another_subnet().await.0, &json!({}))
        .await;
    let change = json!({"spec": {"cidr": scene.subnet.cidr}});
    let answer = scene.would_change("IPBlock", &name, &change).await;
    answer.rejected(&["overlaps", &block]);
}

async fn a_block_does_not_shrink_or_go_below_its_ips(scene: &Scene) {
    let block = scene.block().await;
    for host in 130..137 {
        scene.ip(&format!("ip-{host}"), host).await;
    }
    let shrink = json!({"spec": {"cidr": format!("{}/25", scene.address(0))}});
    let answer = scene.would_change("IPBlock", &block, &shrink).await;
    let message = answer.rejected(&[&block, "would lose addresses", "and 2 more"]);
    assert_eq!(message.matches(&scene.named("ip-")).count(), 5, "{message}");
    let exclude = json!({"spec": {"excluded": [scene.address(131)]}});
    let answer = scene.would_change("IPBlock", &block, &exclude).await;
    answer.rejected(&[&scene.named("ip-131"), &scene.address(131)]);
    let answer = scene.would_delete("IPBlock", &block).await;
    let message = answer.rejected(&[&block, "has IPs", "and 2 more", "delete them first"]);
    assert_eq!(message.matches(&scene.named("ip-")).count(), 5, "{message}");
    // A smaller block is allowed if no IP loses its address.
    let shrink = json!({"spec": {"cidr": format!("{}/25", scene.address(128))}});
    scene
        .would_change("IPBlock", &block, &shrink)
        .await
        .accepted_silently();
    for host in 130..137 {
        scene
            .delete("IP", &scene.named(&format!("ip-{host}")))
            .await;
    }
    for host in 130..137 {
        scene
            .expect_no("IP", &scene.named(&format!("ip-{host}")))
            .await;
    }
    scene.deletes("IPBlock", &block).await.accepted();
    scene.expect_no("IPBlock", &block).await;
}

async fn fewer_namespaces_evict_no_pod_and_warn(scene: &Scene) {
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene.pod("web", &ip).await;
    scene.expect_attached(&ip, "web").await;
    let narrow = json!({"spec": {"allowedNamespaces": ["elsewhere"]}});
    let answer = scene.changes("IPBlock", &block, &narrow).await;
    answer.warns(&[&block, "keep it", &format!("{}/web", scene.name)]);
    // Longer than two inventories.
    let period = std::time::Duration::from_secs(3);
    scene
        .remains("the pod that has it keeps it", period, async || {
            scene.attached(&ip, "web").await
        })
        .await;
    let next = scene.pod_asking("next", &ip.name, &json!({}));
    scene
        .would_create(&next)
        .await
        .rejected(&["may not use it"]);
}

async fn a_node_selector_must_have_valid_labels(scene: &Scene) {
    let block = scene.block().await;
    let choose = async |key: &str| {
        let change = json!({"spec": {"nodeSelector": {"matchLabels": {key: "edge"}}}});
        scene.would_change("IPBlock", &block, &change).await
    };
    // Only the webhook checks the syntax of the keys, not the schema.
    let answer = choose("a b").await;
    answer.rejected(&["the key \"a b\", which is not a valid label key", &block]);
    choose(&format!(
        "ip.wgtwo.com.node-restriction.kubernetes.io/{block}"
    ))
    .await
    .rejected(&["of your own"]);
    choose("role").await.accepted_silently();
}
