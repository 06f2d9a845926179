//! Changes by other clients in EC2: Mooring takes no address from them, and repairs its own addresses.

use std::time::Duration;

use mooring_cluster::Fault;
use serde_json::json;

use crate::harness::scene::{SOON, Scene};

scenes![
    shared an_address_on_a_foreign_interface_stays_until_take_from_names_it,
    shared an_unassigned_address_is_assigned_again,
    shared an_address_that_was_moved_to_a_foreign_interface_stays_there,
    shared an_orphaned_address_is_reported_and_left,
    shared an_ip_takes_over_the_address_of_one_whose_finalizer_was_removed_by_hand,
    shared an_ip_of_another_name_takes_over_the_address_of_one_that_is_gone,
];

async fn an_address_on_a_foreign_interface_stays_until_take_from_names_it(scene: &Scene) {
    let block = scene.block().await;
    let (ours, foreign) = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&ours.name, &block).await;
    let ip = scene.ip("web", 10).await;
    let eni = &foreign.interfaces[0];
    scene.foreign_assign(eni, &ip.address).await;
    scene
        .pod_with("web", &ip, &crate::harness::objects::on(&ours))
        .await;
    scene
        .eventually("the interface is named", SOON, async || {
            let object = scene.get("IP", &ip.name).await.ok_or("no IP")?;
            let conditions = object["status"]["conditions"].to_string();
            let reported = conditions.contains("AddressInUse") && conditions.contains(eni.as_str());
            if reported { Ok(()) } else { Err(conditions) }
        })
        .await;
    let note = scene.expect_event("AddressInUse", &ip.name).await;
    assert!(
        note.contains(eni.as_str()),
        "the interface is named: {note}"
    );
    expect_left(scene, &ip.address, eni).await;
    let way_out = json!({"metadata": {"annotations": {"ip.wgtwo.com/take-from": eni}}});
    scene.patch("IP", &ip.name, &way_out).await;
    let attached = scene.expect_attached(&ip, "web").await;
    assert_eq!(attached["status"]["networkInterfaceID"], ours.interfaces[0]);
    scene
        .eventually(
            "the annotation is removed after its use",
            SOON,
            async || {
                let object = scene.get("IP", &ip.name).await?;
                object["metadata"]["annotations"]["ip.wgtwo.com/take-from"]
                    .is_null()
                    .then_some(())
            },
        )
        .await;
}

async fn an_unassigned_address_is_assigned_again(scene: &Scene) {
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene.pod("web", &ip).await;
    scene.expect_attached(&ip, "web").await;
    scene
        .foreign_unassign(&node.interfaces[0], &ip.address)
        .await;
    scene
        .eventually("it is back on the interface", SOON, async || {
            scene.ec2().address_on(&ip.address).await.as_ref() == Some(&node.interfaces[0])
        })
        .await;
    scene.expect_attached(&ip, "web").await;
    scene.expect_event("DriftRepaired", &ip.name).await;
}

async fn an_address_that_was_moved_to_a_foreign_interface_stays_there(scene: &Scene) {
    let block = scene.block().await;
    let (a, b) = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&a.name, &block).await;
    scene.expect_labelled(&b.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene
        .pod_with("web", &ip, &crate::harness::objects::on(&a))
        .await;
    scene.expect_attached(&ip, "web").await;
    scene.foreign_assign(&b.interfaces[0], &ip.address).await;
    let message = scene.expect_gate_closed("web", "AddressInUse").await;
    assert!(
        message.contains(&b.interfaces[0]),
        "the interface is named: {message}"
    );
    expect_left(scene, &ip.address, &b.interfaces[0]).await;
    scene.foreign_unassign(&b.interfaces[0], &ip.address).await;
    scene.expect_attached(&ip, "web").await;
}

async fn an_orphaned_address_is_reported_and_left(scene: &Scene) {
    let node = scene.node("a").await;
    let block = scene.block().await;
    scene.expect_labelled(&node.name, &block).await;
    scene
        .foreign_assign(&node.interfaces[0], &scene.address(20))
        .await;
    scene
        .expect_condition("IPBlock", &block, "OrphanedAddress", "True")
        .await;
    let reported = scene.expect_event("OrphanedAddress", &block).await;
    assert!(
        reported.contains(&scene.address(20)),
        "the address is named: {reported}"
    );
    expect_left(scene, &scene.address(20), &node.interfaces[0]).await;
    scene
        .foreign_unassign(&node.interfaces[0], &scene.address(20))
        .await;
    scene
        .expect_condition("IPBlock", &block, "OrphanedAddress", "False")
        .await;
}

/// An address whose IP is gone, because its finalizer was removed by hand while EC2 did not detach the address. Returns
/// the interface that still has it.
async fn orphaned(scene: &Scene) -> String {
    let ip = scene.attached_pod().await;
    let before = scene.get("IP", &ip.name).await.expect("it is attached");
    let status = &before["status"];
    let (block, eni) = (
        status["block"].as_str(),
        status["networkInterfaceID"].as_str(),
    );
    let (block, eni) = (block.expect("a block"), eni.expect("an interface"));
    let unassign = Fault::hold_before()
        .of("UnassignPrivateIpAddresses")
        .address(&ip.address);
    let unassign = scene.ec2().fault(unassign).await;
    scene.delete("IP", &ip.name).await;
    scene
        .eventually("the Unassign waits", SOON, async || {
            let held = scene.ec2().held().await;
            held.iter().any(|call| call.fault == unassign.0)
        })
        .await;
    let by_hand = json!({"metadata": {"finalizers": null}});
    scene.patch("IP", &ip.name, &by_hand).await;
    scene
        .eventually("the IP is gone", SOON, async || {
            scene.get("IP", &ip.name).await.is_none()
        })
        .await;
    scene.ec2().drop_held(unassign).await;
    scene.expect_gate_closed("web", "StalePod").await;
    // The address stays explained for some time after an own call.
    let words = [ip.address.as_str(), eni];
    let long = Duration::from_mins(2);
    scene
        .expect_event_naming("OrphanedAddress", block, &words, long)
        .await;
    eni.to_owned()
}

/// A new IP of this name takes that address over.
async fn takes_over(scene: &Scene, name: &str) {
    let eni = orphaned(scene).await;
    let again = scene.ip(name, 10).await;
    scene.delete("Pod", "web").await;
    scene.pod("next", &again).await;
    scene.expect_gate_closed("next", "AddressInUse").await;
    let way_out = json!({"metadata": {"annotations": {"ip.wgtwo.com/take-from": eni}}});
    scene.patch("IP", &again.name, &way_out).await;
    scene.expect_attached(&again, "next").await;
}

async fn an_ip_takes_over_the_address_of_one_whose_finalizer_was_removed_by_hand(scene: &Scene) {
    takes_over(scene, "web").await;
}

async fn an_ip_of_another_name_takes_over_the_address_of_one_that_is_gone(scene: &Scene) {
    takes_over(scene, "successor").await;
}

/// The address stays on this interface for longer than two inventories take.
async fn expect_left(scene: &Scene, address: &str, interface: &str) {
    scene
        .remains("Mooring leaves it", Duration::from_secs(3), async || {
            scene.ec2().address_on(address).await.as_deref() == Some(interface)
        })
        .await;
}
