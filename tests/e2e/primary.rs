//! EC2 gave the address to a new interface as its primary address. No call can remove it, so Mooring must not wait for
//! a detach.

use std::time::Duration;

use serde_json::json;

use crate::harness::objects::on;
use crate::harness::scene::Scene;

scenes![
    shared take_from_does_not_take_a_primary_address_and_the_ip_can_be_deleted,
    shared an_ip_with_a_primary_address_waits_until_the_interface_is_deleted,
];

/// Creates an interface with this primary address.
async fn interface_with(scene: &Scene, address: &str) -> String {
    let parameters = [
        ("SubnetId", scene.subnet.id.as_str()),
        ("PrivateIpAddress", address),
    ];
    scene
        .ec2()
        .call("CreateNetworkInterface", &parameters)
        .await;
    let interfaces = scene.ec2().state().await.network_interfaces;
    let made = interfaces.into_iter().find(|made| made.primary == address);
    made.expect("it was just made").network_interface_id
}

async fn delete_interface(scene: &Scene, interface: &str) {
    let parameters = [("NetworkInterfaceId", interface)];
    scene
        .ec2()
        .call("DeleteNetworkInterface", &parameters)
        .await;
}

/// The message names the interface and a remedy, and no remedy that does not work.
fn expect_helpful(message: &str, interface: &str) {
    for part in [interface, "primary address", "choose another address"] {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
    assert!(!message.contains("take-from"), "not useful: {message}");
}

async fn take_from_does_not_take_a_primary_address_and_the_ip_can_be_deleted(scene: &Scene) {
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    // The address is reserved while it is on no interface. AWS knows no reservations, so it can give the address to an
    // interface.
    let ip = scene.ip("web", 10).await;
    let interface = interface_with(scene, &ip.address).await;
    scene.pod_with("web", &ip, &on(&node)).await;
    let message = scene
        .expect_reason("IP", &ip.name, "Attached", "False", "AddressInUse")
        .await;
    expect_helpful(&message, &interface);
    let taken = json!({"metadata": {"annotations": {"ip.wgtwo.com/take-from": interface}}});
    scene.patch("IP", &ip.name, &taken).await;
    // Longer than two inventories.
    let period = Duration::from_secs(3);
    scene
        .remains("nothing is claimed there", period, async || {
            let object = scene.get("IP", &ip.name).await.ok_or("no such IP")?;
            let status = &object["status"];
            if status["previous"].to_string().contains(&interface) {
                return Err(format!("it was put into previous: {status}"));
            }
            match scene.mutations().await.last() {
                Some(mutation) if mutation.result == "Success" => Err(mutation.to_string()),
                _ => Ok(()),
            }
        })
        .await;
    scene
        .expect_reason("IP", &ip.name, "Attached", "False", "AddressInUse")
        .await;
    scene.delete("IP", &ip.name).await;
    scene.expect_gone(&ip).await;
    let kept = scene.ec2().state().await.network_interfaces;
    assert!(
        kept.iter().any(|kept| kept.primary == ip.address),
        "EC2's own is left"
    );
    delete_interface(scene, &interface).await;
}

async fn an_ip_with_a_primary_address_waits_until_the_interface_is_deleted(scene: &Scene) {
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let interface = interface_with(scene, &scene.address(10)).await;
    let spec = json!({"address": scene.address(10)});
    let ip = scene.ip_unreserved("web", &spec).await;
    scene.pod("web", &ip).await;
    // The reason is the same whether an inventory showed the address before the reservation or not.
    let message = scene
        .expect_reason("IP", &ip.name, "Ready", "False", "AddressInUse")
        .await;
    expect_helpful(&message, &interface);
    delete_interface(scene, &interface).await;
    scene.expect_attached(&ip, "web").await;
}
