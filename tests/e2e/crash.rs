//! The controller is killed during a step. Another one continues from the stored objects.

use mooring_cluster::{Fault, FaultId, MooringOptions};

use crate::harness::objects::on;
use crate::harness::scene::{SOON, Scene};

scenes![
    alone after_a_kill_between_claim_and_assign_it_continues,
    alone after_a_kill_after_the_assign_it_adopts_the_address,
    alone after_a_kill_between_claim_and_unassign_it_continues,
    alone after_a_kill_between_unassign_and_assign_it_continues,
];

const ASSIGN: &str = "AssignPrivateIpAddresses";
const UNASSIGN: &str = "UnassignPrivateIpAddresses";

async fn held(scene: &Scene, fault: FaultId) {
    scene
        .eventually(
            "the call has reached EC2 and waits there",
            SOON,
            async || {
                scene
                    .ec2()
                    .held()
                    .await
                    .iter()
                    .any(|call| call.fault == fault.0)
            },
        )
        .await;
}

/// Starts a replica with a short Lease, because a Lease is not released after SIGKILL and must expire first.
async fn start(scene: &Scene) -> std::sync::Arc<mooring_cluster::Mooring> {
    let arguments = [
        "--lease-duration=3s",
        "--lease-renew-deadline=2s",
        "--lease-retry-period=500ms",
    ];
    let options = MooringOptions {
        arguments: arguments.map(str::to_owned).to_vec(),
        ..MooringOptions::default()
    };
    scene.mooring_with(options).await
}

async fn after_a_kill_between_claim_and_assign_it_continues(scene: &Scene) {
    let mooring = start(scene).await;
    let node = scene.node("a").await;
    let block = scene.block().await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    let fault = scene
        .ec2()
        .fault(Fault::hold_before().of(ASSIGN).address(&ip.address))
        .await;
    scene.pod("web", &ip).await;
    held(scene, fault).await;
    let claimed = scene.get("IP", &ip.name).await.expect("it is there");
    assert_eq!(claimed["status"]["claimed"], true, "the claim came first");
    assert_eq!(claimed["status"]["assigned"], false);
    mooring.kill9();
    scene.ec2().drop_held(fault).await;
    start(scene).await;
    scene.expect_attached(&ip, "web").await;
    assert_eq!(scene.mutations().await.len(), 1, "one Assign was executed");
}

async fn after_a_kill_after_the_assign_it_adopts_the_address(scene: &Scene) {
    let mooring = start(scene).await;
    let node = scene.node("a").await;
    let block = scene.block().await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    let fault = scene
        .ec2()
        .fault(Fault::hold_after().of(ASSIGN).address(&ip.address))
        .await;
    scene.pod("web", &ip).await;
    held(scene, fault).await;
    mooring.kill9();
    scene.ec2().drop_held(fault).await;
    start(scene).await;
    scene.expect_attached(&ip, "web").await;
    assert_eq!(
        scene.mutations().await.len(),
        1,
        "it is not assigned a second time"
    );
}

async fn after_a_kill_between_claim_and_unassign_it_continues(scene: &Scene) {
    killed_in_a_move(scene, UNASSIGN).await;
}

async fn after_a_kill_between_unassign_and_assign_it_continues(scene: &Scene) {
    killed_in_a_move(scene, ASSIGN).await;
}

/// Kills Mooring during a move, before EC2 executes the call of this action.
async fn killed_in_a_move(scene: &Scene, action: &str) {
    let mooring = start(scene).await;
    let (a, b) = tokio::join!(scene.node("a"), scene.node("b"));
    let block = scene.block().await;
    scene.expect_labelled(&a.name, &block).await;
    scene.expect_labelled(&b.name, &block).await;
    let ip = scene.ip("web", 10).await;
    let template = serde_json::json!({"template": on(&a)});
    scene.deployment_with("web", &ip, &template).await;
    let old = scene.only_pod("web").await;
    scene.expect_attached(&ip, &old).await;
    let interface = if action == ASSIGN { &b } else { &a };
    let fault = Fault::hold_before()
        .of(action)
        .interface(&interface.interfaces[0]);
    let fault = scene.ec2().fault(fault).await;
    scene.roll_out("web", &on(&b)).await;
    held(scene, fault).await;
    mooring.kill9();
    scene.ec2().drop_held(fault).await;
    start(scene).await;
    let new = scene.new_pod("web", &[&old]).await;
    scene.expect_attached(&ip, &new).await;
    let done: Vec<String> = scene
        .mutations()
        .await
        .iter()
        .map(|mutation| format!("{} {}", mutation.action, mutation.result))
        .collect();
    let expected = [ASSIGN, UNASSIGN, ASSIGN].map(|action| format!("{action} Success"));
    assert_eq!(done, expected, "nothing was done twice");
}
