//! The rules of the webhook for IPs. Each refusal has the problem and a remedy.

use serde_json::{Value, json};

use crate::harness::requests::{block_named, ip_named};
use crate::harness::scene::Scene;

scenes![
    shared an_address_must_be_usable_in_its_block,
    shared an_address_in_use_is_refused_with_its_holder,
    shared an_address_of_a_service_is_refused_with_the_service,
    shared a_change_or_deletion_of_an_attached_ip_is_warned_of,
    shared an_attached_ip_cannot_change_its_block,
    shared an_ip_with_invalid_references_is_refused,
    alone the_block_of_an_ip_must_exist_and_be_clear,
];

fn asking(scene: &Scene, address: &str) -> Value {
    ip_named(&scene.named("asking"), &json!({"address": address}))
}

async fn an_address_must_be_usable_in_its_block(scene: &Scene) {
    let excluded = format!("{}/30", scene.address(40));
    let block = json!({"excluded": [scene.address(30), excluded]});
    let block = scene.block_with(&block).await;
    for host in [0, 1, 2, 3, 255] {
        let answer = scene
            .would_create(&asking(scene, &scene.address(host)))
            .await;
        let message = answer.rejected(&["that AWS reserves in subnet", &scene.subnet.cidr]);
        assert!(message.contains("choose another address"), "{message}");
    }
    for (host, entry) in [(30, scene.address(30)), (42, excluded)] {
        let answer = scene
            .would_create(&asking(scene, &scene.address(host)))
            .await;
        answer.rejected(&["is excluded by IPBlock", &block, &entry]);
    }
    let elsewhere = json!({"address": "192.0.2.1", "block": block});
    let answer = scene
        .would_create(&ip_named(&scene.named("asking"), &elsewhere))
        .await;
    answer.rejected(&["192.0.2.1", "is not in IPBlock", &block, &scene.subnet.cidr]);
    for host in [4, 254] {
        let answer = scene
            .would_create(&asking(scene, &scene.address(host)))
            .await;
        answer.accepted_silently();
    }
}

async fn an_address_in_use_is_refused_with_its_holder(scene: &Scene) {
    let block = scene.block().await;
    let web = scene.ip("web", 10).await;
    let answer = scene.would_create(&asking(scene, &web.address)).await;
    answer.rejected(&[&web.address, "in use by IP", &web.name]);
    // An allocated address is in use, the same as a requested one.
    let allocated = scene.allocated("allocated", &block).await;
    let answer = scene.would_create(&asking(scene, &allocated.address)).await;
    answer.rejected(&["in use by IP", &allocated.name]);
    // The same for a change of another IP.
    let change = json!({"spec": {"address": allocated.address}});
    let answer = scene.would_change("IP", &web.name, &change).await;
    answer.rejected(&["in use by IP", &allocated.name]);
    let change = json!({"spec": {"address": scene.address(11)}});
    let answer = scene.would_change("IP", &web.name, &change).await;
    answer.accepted();
}

async fn an_address_of_a_service_is_refused_with_the_service(scene: &Scene) {
    // The Service range of the API server. No other scene has a block there.
    let subnet = scene.cluster().add_subnet("10.0.0.0/24").await;
    scene
        .block_in("services", &subnet, &json!({"cidr": "10.0.0.0/25"}))
        .await;
    let service = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "shop", "namespace": scene.name},
        "spec": {"clusterIP": "10.0.0.77", "ports": [{"port": 80}]}});
    scene.creates(&service).await.accepted();
    let named = format!("{}/shop", scene.name);
    let answer = scene.would_create(&asking(scene, "10.0.0.77")).await;
    answer.rejected(&["10.0.0.77", "in use by", "ervice", &named]);
    // The reverse: a Service cannot get the address of an IP.
    let name = scene.named("web");
    scene.remember_ip(&name);
    let ip = ip_named(&name, &json!({"address": "10.0.0.78"}));
    scene.creates(&ip).await.accepted();
    scene
        .expect_condition("IP", &name, "Reserved", "True")
        .await;
    let mut second = service.clone();
    second["metadata"]["name"] = "second".into();
    second["spec"]["clusterIP"] = "10.0.0.78".into();
    scene
        .creates(&second)
        .await
        .rejected(&["10.0.0.78", "already allocated"]);
    scene.delete("Service", "shop").await;
}

async fn a_change_or_deletion_of_an_attached_ip_is_warned_of(scene: &Scene) {
    let ip = scene.attached_pod().await;
    let pod = format!("{}/web", scene.name);
    let next = scene.address(11);
    let change = json!({"spec": {"address": next}});
    let answer = scene.would_change("IP", &ip.name, &change).await;
    answer.warns(&[&ip.address, "will be unassigned from pod", &pod, &next]);
    let answer = scene.would_delete("IP", &ip.name).await;
    answer.warns(&[&ip.name, "held by pod", &pod, &ip.address]);
    // No warning for a change that moves nothing, and for the deletion of an IP without a holder.
    let change = json!({"spec": {"reassign": true}});
    let answer = scene.would_change("IP", &ip.name, &change).await;
    answer.accepted_silently();
    let free = scene.ip("free", 12).await;
    let answer = scene.would_delete("IP", &free.name).await;
    answer.accepted_silently();
}

async fn an_attached_ip_cannot_change_its_block(scene: &Scene) {
    let ip = scene.attached_pod().await;
    let (subnet, prefix) = scene.another_subnet().await;
    let other = scene.block_in("other", &subnet, &json!({})).await;
    let change = json!({"spec": {"address": format!("{prefix}20")}});
    let answer = scene.would_change("IP", &ip.name, &change).await;
    let pod = format!("{}/web", scene.name);
    answer.rejected(&["held by pod", &pod, "cannot go to IPBlock", &other]);
    // Without a holder, the IP can change its block.
    scene.delete("Pod", "web").await;
    scene.expect_detached(&ip).await;
    scene.changes("IP", &ip.name, &change).await.accepted();
    scene
        .eventually(
            "it is reserved in the other block",
            crate::harness::scene::SOON,
            async || {
                let now = scene.get("IP", &ip.name).await.ok_or("no such IP")?;
                let status = &now["status"];
                let there = status["block"] == other.as_str();
                if there && status["address"] == format!("{prefix}20").as_str() {
                    Ok(())
                } else {
                    Err(status.to_string())
                }
            },
        )
        .await;
}

async fn an_ip_with_invalid_references_is_refused(scene: &Scene) {
    scene.block().await;
    let web = scene.ip("web", 10).await;
    let from =
        |value: Value| json!({"metadata": {"annotations": {"ip.wgtwo.com/take-from": value}}});
    let wrong = from("yes".into());
    let mut asking = asking(scene, &scene.address(11));
    let parts = ["take-from", "\"yes\"", "such as eni-0123456789abcdef0"];
    asking["metadata"]["annotations"] = wrong["metadata"]["annotations"].clone();
    scene.would_create(&asking).await.rejected(&parts);
    // The same for `kubectl annotate`, which does not change the spec.
    let would = async |change: &Value| scene.would_change("IP", &web.name, change).await;
    would(&wrong).await.rejected(&parts);
    would(&from("eni-0123456789abcdef0".into()))
        .await
        .accepted_silently();
    would(&from(Value::Null)).await.accepted_silently();
    let change = json!({"spec": {"allowedNamespaces": ["Default"]}});
    would(&change).await.rejected(&["namespace's name"]);
}

async fn the_block_of_an_ip_must_exist_and_be_clear(scene: &Scene) {
    scene.mooring().await;
    let answer = scene.would_create(&asking(scene, "192.0.2.1")).await;
    answer.rejected(&["is in no IPBlock. There is no IPBlock yet."]);
    let block = scene.block().await;
    let listed = format!("{block} ({})", scene.subnet.cidr);
    let answer = scene.would_create(&asking(scene, "192.0.2.1")).await;
    let exist = format!("Existing blocks: {listed}. Use an address of one of them");
    answer.rejected(&["192.0.2.1", "is in no IPBlock", &exist]);
    let missing = json!({"address": scene.address(10), "block": "nowhere"});
    let answer = scene.would_create(&ip_named("asking", &missing)).await;
    answer.rejected(&["IPBlock \"nowhere\", which does not exist", &listed]);
    let missing = json!({"block": "nowhere"});
    let answer = scene.would_create(&ip_named("asking", &missing)).await;
    answer.rejected(&["which does not exist", &listed]);
    // Two blocks overlap only if the second was created without the webhook.
    scene.cluster().unregister_webhooks().await;
    let twin = scene.named("twin");
    scene.remember_block(&twin);
    let spec = json!({"cidr": scene.subnet.cidr, "subnetID": scene.subnet.id});
    scene.creates(&block_named(&twin, &spec)).await.accepted();
    let replicas = scene.test_cluster.replicas.lock().await;
    scene.cluster().register_webhooks(&[&replicas[0]]).await;
    drop(replicas);
    scene
        .eventually(
            "the webhook knows of both",
            crate::harness::scene::SOON,
            async || {
                let answer = scene.would_create(&asking(scene, &scene.address(10))).await;
                let ambiguous = ["is in more than one IPBlock", &block, &twin];
                if ambiguous.iter().all(|part| answer.message().contains(part)) {
                    Ok(())
                } else {
                    Err(format!("{answer:?}"))
                }
            },
        )
        .await;
    // With `spec.block` the block is clear, so the IP is accepted.
    let clear = json!({"address": scene.address(10), "block": block});
    let answer = scene.would_create(&ip_named("asking", &clear)).await;
    answer.accepted();
    scene.delete("IPBlock", &twin).await;
    scene.expect_no("IPBlock", &twin).await;
}
