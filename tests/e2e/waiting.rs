//! A pod that waits longer for EC2 than an attach takes gets a reason, and continues without action of a user.

use mooring_cluster::Fault;

use crate::harness::objects::on;
use crate::harness::scene::{SOON, Scene};

scenes![
    shared a_pod_waits_for_a_permission_with_a_reason,
    shared a_pod_waits_for_an_address_in_use_with_a_reason,
];

/// Waits until the gate is closed with this reason and the pod has a Warning Event with it. Returns both messages.
async fn expect_gate_and_event(scene: &Scene, pod: &str, reason: &str) -> [String; 2] {
    let gate = scene.expect_gate_closed(pod, reason).await;
    let note = scene.expect_event(reason, pod).await;
    let events = scene.events().await;
    let reported = events.iter().find(|event| {
        event["involvedObject"]["name"] == pod
            && event["involvedObject"]["kind"] == "Pod"
            && event["reason"] == reason
    });
    assert_eq!(reported.expect("it was reported")["type"], "Warning");
    [gate, note]
}

async fn a_pod_waits_for_a_permission_with_a_reason(scene: &Scene) {
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    let fault = Fault::error("UnauthorizedOperation")
        .of("AssignPrivateIpAddresses")
        .address(&ip.address)
        .forever();
    let fault = scene.ec2().fault(fault).await;
    scene.pod("web", &ip).await;
    for message in expect_gate_and_event(scene, "web", "AccessDenied").await {
        assert!(
            message.contains("ec2:AssignPrivateIpAddresses"),
            "{message}"
        );
    }
    scene.ec2().clear_fault(fault).await;
    scene.expect_attached_within(&ip, "web", SOON).await;
    scene.expect_pod_ready("web").await;
}

async fn a_pod_waits_for_an_address_in_use_with_a_reason(scene: &Scene) {
    let block = scene.block().await;
    let (a, b) = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&a.name, &block).await;
    let ip = scene.ip("web", 10).await;
    let foreign = &b.interfaces[0];
    scene.foreign_assign(foreign, &ip.address).await;
    scene.pod_with("web", &ip, &on(&a)).await;
    for message in expect_gate_and_event(scene, "web", "AddressInUse").await {
        assert!(message.contains(foreign.as_str()), "{message}");
    }
    scene.foreign_unassign(foreign, &ip.address).await;
    scene.expect_attached_within(&ip, "web", SOON).await;
    scene.expect_pod_ready("web").await;
}
