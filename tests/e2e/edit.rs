//! The address of an IP is edited while a pod has it.

use serde_json::json;

use crate::harness::scene::{Ip, SOON, Scene};

scenes![
    shared an_edit_to_a_free_address_replaces_the_old_one,
    shared an_edit_to_an_address_in_use_changes_nothing,
    shared an_edit_to_an_address_on_an_interface_waits_until_it_is_off,
    shared an_address_of_another_block_is_refused,
];

async fn attached(scene: &Scene) -> Ip {
    let ip = scene.attached_pod().await;
    scene.expect_pod_ready("web").await;
    ip
}

async fn an_edit_to_a_free_address_replaces_the_old_one(scene: &Scene) {
    let old = attached(scene).await;
    let new = Ip {
        address: scene.address(11),
        ..old.clone()
    };
    scene
        .patch("IP", &new.name, &json!({"spec": {"address": new.address}}))
        .await;
    scene
        .eventually("the new address is attached", SOON, async || {
            let status = scene.attached(&new, "web").await?["status"].clone();
            if status["address"] == new.address.as_str() {
                Ok(())
            } else {
                Err(status.to_string())
            }
        })
        .await;
    scene
        .eventually("nothing is left of the old address", SOON, async || {
            let on = scene.ec2().address_on(&old.address).await;
            let reserved = scene.get("IPAddress", &old.address).await;
            if on.is_none() && reserved.is_none() {
                Ok(())
            } else {
                Err(format!("{on:?}, {reserved:?}"))
            }
        })
        .await;
    scene.expect_pod_ready("web").await;
    // The holder was never released: its gate was closed with the reason of the edit, and the IP stayed claimed.
    let audit = scene.audit();
    let closed = audit.iter().any(|event| {
        event.resource == "pods" && event.response.to_string().contains("\"AddressChanging\"")
    });
    assert!(closed, "the gate was closed while the address changed");
    let mut claims = audit
        .iter()
        .filter(|event| event.resource == "ips" && event.subresource == "status");
    let first = claims.position(|event| event.response["status"]["assigned"] == true);
    assert!(first.is_some());
    let let_go = audit
        .iter()
        .filter(|event| event.resource == "ips" && event.subresource == "status")
        .skip(first.unwrap_or_default())
        .any(|event| event.response["status"]["claimed"] != true);
    assert!(!let_go, "the holder stays the holder");
}

async fn an_edit_to_an_address_in_use_changes_nothing(scene: &Scene) {
    let ip = attached(scene).await;
    let other = scene.ip("other", 11).await;
    let before = scene.mutations().await.len();
    // The refusal of the webhook names the holder. If the webhook accepts the edit (stale cache, race), the reservation
    // decides.
    let change = json!({"spec": {"address": other.address}});
    if let Err(error) = scene.try_patch("IP", &ip.name, &change).await {
        assert!(
            error.to_string().contains(&other.name),
            "the holder is named: {error}"
        );
    } else {
        let message = scene
            .expect_reason("IP", &ip.name, "Reserved", "False", "AddressInUse")
            .await;
        assert!(
            message.contains(&other.name),
            "the holder is named: {message}"
        );
    }
    scene.expect_attached(&ip, "web").await;
    assert_eq!(scene.mutations().await.len(), before);
}

/// This also applies to the interface of the holder: the new address on it belongs to the CNI or to another client.
async fn an_edit_to_an_address_on_an_interface_waits_until_it_is_off(scene: &Scene) {
    let old = attached(scene).await;
    let object = scene.expect_attached(&old, "web").await;
    let eni = object["status"]["networkInterfaceID"].as_str();
    let eni = eni.expect("it is attached");
    let new = Ip {
        address: scene.address(11),
        ..old.clone()
    };
    scene.foreign_assign(eni, &new.address).await;
    let before = scene.mutations().await.len();
    let change = json!({"spec": {"address": new.address}});
    scene.patch("IP", &new.name, &change).await;
    let message = scene
        .expect_reason("IP", &new.name, "Reserved", "False", "AddressInUse")
        .await;
    assert!(message.contains(eni), "the interface is named: {message}");
    scene.expect_attached(&old, "web").await;
    scene.expect_pod_ready("web").await;
    assert_eq!(scene.mutations().await.len(), before);
    scene.foreign_unassign(eni, &new.address).await;
    scene
        .eventually("the new address is attached", SOON, async || {
            let status = scene.attached(&new, "web").await?["status"].clone();
            let there = status["address"] == new.address.as_str();
            if there {
                Ok(())
            } else {
                Err(status.to_string())
            }
        })
        .await;
    scene.expect_pod_ready("web").await;
}

async fn an_address_of_another_block_is_refused(scene: &Scene) {
    let ip = attached(scene).await;
    let (subnet, prefix) = scene.another_subnet().await;
    scene.block_in("other", &subnet, &json!({})).await;
    let change = json!({"spec": {"address": format!("{prefix}10"), "block": scene.named("other")}});
    let answer = scene.changes("IP", &ip.name, &change).await;
    answer.rejected(&["held by pod", "cannot go to IPBlock", &scene.named("other")]);
    scene.expect_attached(&ip, "web").await;
    assert!(
        scene
            .ec2()
            .address_on(&format!("{prefix}10"))
            .await
            .is_none()
    );
}
