//! EC2 answers late, executes a call twice, answers with an error, or does not answer.

use std::time::Duration;

use mooring_cluster::{Fault, NodeSpec};
use serde_json::json;

use crate::harness::objects::on;
use crate::harness::scene::{Ip, SOON, Scene};

scenes![
    shared an_assign_with_a_lost_answer_is_found,
    shared an_assign_that_succeeds_with_an_internal_error_is_found,
    shared an_unassign_with_an_internal_error_is_repeated,
    alone a_throttled_call_is_reported_and_repeated,
    shared a_forbidden_call_names_the_permission_and_is_repeated_when_permitted,
    shared a_permission_lost_during_a_move_leaves_the_address_with_the_old_pod,
    shared a_call_that_is_delivered_twice_changes_nothing,
    shared a_target_that_becomes_full_returns_the_claim,
];

const ASSIGN: &str = "AssignPrivateIpAddresses";
const UNASSIGN: &str = "UnassignPrivateIpAddresses";

/// Creates a node, and an IP that no pod asks for yet.
async fn ready(scene: &Scene) -> Ip {
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    scene.ip("web", 10).await
}

async fn an_assign_with_a_lost_answer_is_found(scene: &Scene) {
    expect_found(scene, Fault::drop_after()).await;
}

async fn an_assign_that_succeeds_with_an_internal_error_is_found(scene: &Scene) {
    expect_found(scene, Fault::error_after()).await;
}

/// An Assign that is executed, and whose answer does not say so, is not repeated.
async fn expect_found(scene: &Scene, answer: Fault) {
    let ip = ready(scene).await;
    let fault = answer.of(ASSIGN).address(&ip.address);
    scene.ec2().fault(fault).await;
    scene.pod("web", &ip).await;
    scene.expect_attached(&ip, "web").await;
    assert_eq!(scene.mutations().await.len(), 1, "one Assign was executed");
}

async fn an_unassign_with_an_internal_error_is_repeated(scene: &Scene) {
    let ip = ready(scene).await;
    scene.pod("web", &ip).await;
    scene.expect_attached(&ip, "web").await;
    let fault = Fault::error("InternalError")
        .of(UNASSIGN)
        .address(&ip.address)
        .times(2);
    scene.ec2().fault(fault).await;
    scene.delete("Pod", "web").await;
    scene.expect_detached(&ip).await;
}

/// In a separate cluster: while EC2 throttles, the IPs of other scenes would wait too, and report it.
async fn a_throttled_call_is_reported_and_repeated(scene: &Scene) {
    scene.mooring().await;
    let ip = ready(scene).await;
    scene
        .ec2()
        .fault(Fault::throttle().of(ASSIGN).address(&ip.address).times(3))
        .await;
    scene.pod("web", &ip).await;
    scene.expect_event("Throttled", &ip.name).await;
    scene
        .expect_attached_within(&ip, "web", Duration::from_mins(1))
        .await;
}

async fn a_forbidden_call_names_the_permission_and_is_repeated_when_permitted(scene: &Scene) {
    let ip = ready(scene).await;
    let fault = Fault::error("UnauthorizedOperation")
        .of(ASSIGN)
        .address(&ip.address)
        .forever();
    let fault = scene.ec2().fault(fault).await;
    scene.pod("web", &ip).await;
    let note = scene.expect_event("AccessDenied", &ip.name).await;
    assert!(
        note.contains("ec2:AssignPrivateIpAddresses"),
        "the permission is named: {note}"
    );
    scene
        .expect_reason("IP", &ip.name, "Attached", "False", "AccessDenied")
        .await;
    // Other addresses on the same interface still work.
    let other = scene.ip("other", 11).await;
    scene.pod("other", &other).await;
    scene.expect_attached(&other, "other").await;
    scene.delete("Pod", "other").await;
    scene.expect_detached(&other).await;
    scene.ec2().clear_fault(fault).await;
    // No other IP makes such a call, so this call is repeated with backoff.
    scene
        .expect_attached_within(&ip, "web", Duration::from_mins(1))
        .await;
}

async fn a_call_that_is_delivered_twice_changes_nothing(scene: &Scene) {
    let ip = ready(scene).await;
    scene
        .ec2()
        .fault(Fault::twice().of(ASSIGN).address(&ip.address))
        .await;
    scene.pod("web", &ip).await;
    scene.expect_attached(&ip, "web").await;
    scene
        .ec2()
        .fault(Fault::twice().of(UNASSIGN).address(&ip.address))
        .await;
    scene.delete("Pod", "web").await;
    scene.expect_detached(&ip).await;
}

async fn a_target_that_becomes_full_returns_the_claim(scene: &Scene) {
    let block = scene.block().await;
    let small = NodeSpec::new("b")
        .instance_type("t3.micro")
        .interface(&scene.subnet);
    let (a, b) = tokio::join!(scene.node("a"), scene.node_of(small));
    scene.expect_labelled(&a.name, &block).await;
    scene.expect_labelled(&b.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene
        .deployment_with("web", &ip, &json!({"template": on(&a)}))
        .await;
    let old = scene.only_pod("web").await;
    scene.expect_attached(&ip, &old).await;
    let fault = Fault::hold_before()
        .of(ASSIGN)
        .interface(&b.interfaces[0])
        .address(&ip.address);
    let fault = scene.ec2().fault(fault).await;
    scene.roll_out("web", &on(&b)).await;
    scene
        .eventually("the call waits", SOON, async || {
            scene
                .ec2()
                .held()
                .await
                .iter()
                .any(|call| call.fault == fault.0)
        })
        .await;
    // Another client takes the last slot.
    scene
        .foreign_assign(&b.interfaces[0], &scene.address(99))
        .await;
    scene.ec2().release(fault).await;
    scene.expect_attached(&ip, &old).await;
    let refused = scene.get("IP", &ip.name).await.expect("it is attached");
    assert_eq!(
        refused["status"]["refused"]["networkInterfaceID"],
        b.interfaces[0]
    );
    // A slot is free again, so the rollout continues.
    scene
        .foreign_unassign(&b.interfaces[0], &scene.address(99))
        .await;
    let new = scene.new_pod("web", &[&old]).await;
    scene.expect_attached(&ip, &new).await;
}

async fn a_permission_lost_during_a_move_leaves_the_address_with_the_old_pod(scene: &Scene) {
    let block = scene.block().await;
    let (a, b) = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&a.name, &block).await;
    scene.expect_labelled(&b.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene
        .deployment_with("web", &ip, &json!({"template": on(&a)}))
        .await;
    let old = scene.only_pod("web").await;
    scene.expect_attached(&ip, &old).await;
    let fault = Fault::error("UnauthorizedOperation")
        .of(UNASSIGN)
        .address(&ip.address)
        .forever();
    let fault = scene.ec2().fault(fault).await;
    scene.roll_out("web", &on(&b)).await;
    let new = scene.new_pod("web", &[&old]).await;
    let note = scene.expect_event("AccessDenied", &ip.name).await;
    assert!(
        note.contains("ec2:UnassignPrivateIpAddresses"),
        "the permission is named: {note}"
    );
    scene.expect_attached(&ip, &old).await;
    scene.ec2().clear_fault(fault).await;
    // A call without permission is retried after one minute, after two if it was denied twice, and then after four. Other
    // scenes cause more denials: the end of their outage is a reason to try it, and their outage counts as one (R5.6).
    scene
        .expect_attached_within(&ip, &new, Duration::from_secs(270))
        .await;
}
