//! Rollouts of a Deployment: the address moves when the new pod is ready, and never before.

use std::time::Duration;

use mooring_cluster::{MooringOptions, Node, NodeSpec};
use serde_json::json;

use crate::harness::expectations::GATE;
use crate::harness::objects::{annotated, merged, on};
use crate::harness::request_counts::RequestCounts;
use crate::harness::scene::{Ip, Scene};

scenes![
    alone a_move_costs_an_unassign_an_assign_two_status_writes_two_pod_writes_and_no_read,
    alone moving_with_reassign_costs_one_call,
    alone moving_on_one_interface_costs_no_call,
    shared a_rollout_with_the_default_strategy_completes,
    shared a_rollout_of_a_deployment_that_selects_by_expressions_completes,
    shared an_undo_during_a_rollout_returns_the_address,
    shared an_undo_of_a_revision_that_was_never_ready_moves_nothing,
    shared a_rollout_onto_the_same_full_interface_completes,
    shared a_broken_revision_does_not_get_the_address_of_a_drained_pod,
    shared recreate_detaches_and_attaches,
    shared a_pod_that_needs_the_address_to_become_ready_gets_a_hint,
    shared with_handover_running_the_address_moves_before_readiness,
];

/// Creates two nodes and a block.
async fn two_nodes(scene: &Scene) -> (Node, Node) {
    let block = scene.block().await;
    let nodes = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&nodes.0.name, &block).await;
    scene.expect_labelled(&nodes.1.name, &block).await;
    nodes
}

/// Counts the requests of a rollout, to another node or on the same one.
async fn cost_of_a_move(scene: &Scene, reassign: bool, same_node: bool) -> RequestCounts {
    let options = MooringOptions {
        inventory_interval: Duration::from_mins(10),
        ..MooringOptions::default()
    };
    scene.ec2().reset_counters().await;
    scene.mooring_with(options).await;
    let nodes = tokio::join!(scene.node("a"), scene.node("b"));
    let block = scene.block().await;
    scene.expect_labelled(&nodes.0.name, &block).await;
    scene.expect_labelled(&nodes.1.name, &block).await;
    scene.expect_two_inventories().await;
    let spec = json!({"address": scene.address(10), "reassign": reassign});
    let ip = scene.ip_with("web", &spec).await;
    scene
        .deployment_with("web", &ip, &json!({"template": on(&nodes.0)}))
        .await;
    let old = scene.only_pod("web").await;
    scene.expect_attached(&ip, &old).await;
    scene.expect_pod_ready(&old).await;
    let costs = scene.count_requests().await;
    let target = if same_node { &nodes.0 } else { &nodes.1 };
    scene.roll_out("web", &on(target)).await;
    let new = scene.new_pod("web", &[&old]).await;
    scene.expect_attached(&ip, &new).await;
    scene.expect_pod_ready(&new).await;
    scene.expect_pod_gone(&old).await;
    let costs = costs.until_now(scene).await;
    assert_eq!(costs.describes, 0, "{costs:?}");
    assert_eq!(costs.status_writes, 2, "{costs:?}");
    assert_eq!(costs.pod_writes, 2, "{costs:?}");
    assert!(costs.reads_on_the_way.is_empty(), "{costs:?}");
    costs
}

async fn a_move_costs_an_unassign_an_assign_two_status_writes_two_pod_writes_and_no_read(
    scene: &Scene,
) {
    let costs = cost_of_a_move(scene, false, false).await;
    assert_eq!(
        costs.mutations,
        ["Unassign Success", "Assign Success"],
        "{costs:?}"
    );
}

async fn moving_with_reassign_costs_one_call(scene: &Scene) {
    let costs = cost_of_a_move(scene, true, false).await;
    assert_eq!(costs.mutations, ["Assign Success"], "{costs:?}");
}

async fn moving_on_one_interface_costs_no_call(scene: &Scene) {
    let costs = cost_of_a_move(scene, false, true).await;
    assert!(costs.mutations.is_empty(), "{costs:?}");
}

/// Waits until `kubectl rollout status` reports the end of the rollout.
async fn expect_rolled_out(scene: &Scene, deployment: &str) {
    let arguments = format!("rollout status deployment/{deployment} --timeout=40s");
    scene.kubectl(&arguments).await.success();
}

async fn a_rollout_with_the_default_strategy_completes(scene: &Scene) {
    two_nodes(scene).await;
    let ip = scene.ip("web", 10).await;
    scene.deployment("web", &ip).await;
    expect_rolled_out(scene, "web").await;
    let old = scene.only_pod("web").await;
    scene.expect_attached(&ip, &old).await;
    scene
        .kubectl("rollout restart deployment/web")
        .await
        .success();
    expect_rolled_out(scene, "web").await;
    let new = scene.new_pod("web", &[&old]).await;
    scene.expect_attached(&ip, &new).await;
    scene.expect_event("Moved", &ip.name).await;
    scene.expect_event("Moved", &new).await;
    // A successful rollout causes no warning.
    let events = scene.events().await;
    let warned = events.iter().find(|event| {
        let of = event["involvedObject"]["name"].as_str().unwrap_or_default();
        event["type"] == "Warning"
            && event["reportingComponent"] == "mooring"
            && (of == old || of == new || of == ip.name)
    });
    assert!(warned.is_none(), "{warned:?}");
}

async fn a_rollout_of_a_deployment_that_selects_by_expressions_completes(scene: &Scene) {
    two_nodes(scene).await;
    let ip = scene.ip("web", 10).await;
    let by_expression = json!({"matchLabels": null,
        "matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "shop"]}]});
    let spec = json!({"selector": by_expression});
    scene.deployment_with("web", &ip, &spec).await;
    expect_rolled_out(scene, "web").await;
    let old = scene.only_pod("web").await;
    scene.expect_attached(&ip, &old).await;
    scene.roll_out("web", &json!({})).await;
    expect_rolled_out(scene, "web").await;
    let new = scene.new_pod("web", &[&old]).await;
    scene.expect_attached(&ip, &new).await;
}

/// Stops a rollout half-way: the pod of revision 2 has the address, but is not available for 500 s. Returns the pods of
/// both revisions. Both stay until the test continues or undoes the rollout.
async fn half_way(scene: &Scene, ip: &Ip, nodes: &(Node, Node)) -> (String, String) {
    let spec = json!({"minReadySeconds": 1, "template": on(&nodes.0)});
    scene.deployment_with("web", ip, &spec).await;
    let old = scene.only_pod("web").await;
    scene.expect_attached(ip, &old).await;
    expect_rolled_out(scene, "web").await;
    scene
        .patch(
            "Deployment",
            "web",
            &json!({"spec": {"minReadySeconds": 500}}),
        )
        .await;
    scene.roll_out("web", &on(&nodes.1)).await;
    let new = scene.new_pod("web", &[&old]).await;
    scene.expect_attached(ip, &new).await;
    (old, new)
}

async fn an_undo_during_a_rollout_returns_the_address(scene: &Scene) {
    let nodes = two_nodes(scene).await;
    let ip = scene.ip("web", 10).await;
    let (old, new) = half_way(scene, &ip, &nodes).await;
    assert!(
        scene.get("Pod", &old).await.is_some(),
        "the old pod waits for the new one"
    );
    scene.kubectl("rollout undo deployment/web").await.success();
    // The ReplicaSet of the old pod has the highest revision now. Only its annotation shows that (R1.21).
    scene.expect_attached(&ip, &old).await;
    scene.expect_gate_closed(&new, "MovedTo").await;
    let before = scene.mutations().await.len();
    scene
        .remains(
            "the address does not move again",
            Duration::from_secs(7),
            async || scene.attached(&ip, &old).await,
        )
        .await;
    assert_eq!(scene.mutations().await.len(), before);
}

async fn an_undo_of_a_revision_that_was_never_ready_moves_nothing(scene: &Scene) {
    let nodes = two_nodes(scene).await;
    let ip = scene.ip("web", 10).await;
    scene
        .deployment_with("web", &ip, &json!({"template": on(&nodes.0)}))
        .await;
    let old = scene.only_pod("web").await;
    scene.expect_attached(&ip, &old).await;
    let before = scene.mutations().await.len();
    let broken = merged(
        on(&nodes.1),
        &annotated("test.mooring/probe-failing", "true"),
    );
    scene.roll_out("web", &broken).await;
    let new = scene.new_pod("web", &[&old]).await;
    scene
        .expect_condition("Pod", &new, "ContainersReady", "False")
        .await;
    scene.kubectl("rollout undo deployment/web").await.success();
    scene.expect_pod_gone(&new).await;
    scene.expect_attached(&ip, &old).await;
    assert_eq!(
        scene.mutations().await.len(),
        before,
        "nothing was asked of EC2"
    );
}

async fn a_rollout_onto_the_same_full_interface_completes(scene: &Scene) {
    let block = scene.block().await;
    // The interface has room for one address in addition to the primary one, so it is full for the second pod.
    let spec = NodeSpec::new("small")
        .instance_type("t3.micro")
        .interface(&scene.subnet);
    let node = scene.node_of(spec).await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene.deployment("web", &ip).await;
    let old = scene.only_pod("web").await;
    scene.expect_attached(&ip, &old).await;
    let before = scene.mutations().await.len();
    scene.roll_out("web", &json!({})).await;
    let new = scene.new_pod("web", &[&old]).await;
    scene.expect_attached(&ip, &new).await;
    expect_rolled_out(scene, "web").await;
    assert_eq!(
        scene.mutations().await.len(),
        before,
        "the address stays where it is"
    );
}

async fn a_broken_revision_does_not_get_the_address_of_a_drained_pod(scene: &Scene) {
    let nodes = two_nodes(scene).await;
    let ip = scene.ip("web", 10).await;
    scene
        .deployment_with("web", &ip, &json!({"template": on(&nodes.0)}))
        .await;
    let old = scene.only_pod("web").await;
    scene.expect_attached(&ip, &old).await;
    let broken = merged(on(&nodes.1), &annotated("test.mooring/never-ready", "true"));
    scene.roll_out("web", &broken).await;
    let new = scene.new_pod("web", &[&old]).await;
    scene
        .expect_condition("Pod", &new, "ContainersReady", "False")
        .await;
    // The same as `kubectl drain` does. The ReplicaSet creates another pod of the old revision.
    scene.delete("Pod", &old).await;
    let successor = scene.new_pod("web", &[&old, &new]).await;
    scene.expect_attached(&ip, &successor).await;
    let had = scene.audit().into_iter().any(|event| {
        event.resource == "pods" && event.name == new && event.condition(GATE) == Some("True")
    });
    assert!(!had, "the broken revision had the address");
}

async fn recreate_detaches_and_attaches(scene: &Scene) {
    let nodes = two_nodes(scene).await;
    let ip = scene.ip("web", 10).await;
    let spec = json!({"strategy": {"type": "Recreate"}, "template": on(&nodes.0)});
    scene.deployment_with("web", &ip, &spec).await;
    let old = scene.only_pod("web").await;
    scene.expect_attached(&ip, &old).await;
    scene.roll_out("web", &on(&nodes.1)).await;
    let new = scene.new_pod("web", &[&old]).await;
    scene.expect_attached(&ip, &new).await;
    expect_rolled_out(scene, "web").await;
    assert!(
        scene.get("Pod", &old).await.is_none(),
        "Recreate deletes before it creates"
    );
}

async fn a_pod_that_needs_the_address_to_become_ready_gets_a_hint(scene: &Scene) {
    let nodes = two_nodes(scene).await;
    let ip = scene.ip("web", 10).await;
    scene
        .deployment_with("web", &ip, &json!({"template": on(&nodes.0)}))
        .await;
    let old = scene.only_pod("web").await;
    scene.expect_attached(&ip, &old).await;
    let waits = merged(
        on(&nodes.1),
        &annotated("test.mooring/ready-when-attached", "true"),
    );
    scene.roll_out("web", &waits).await;
    let new = scene.new_pod("web", &[&old]).await;
    // The Event comes after one minute, so that a slow start causes no Event.
    let limit = Duration::from_secs(100);
    for pod in [&old, &new] {
        let note = scene
            .expect_event_within("HandoverWaiting", pod, limit)
            .await;
        for remedy in ["ip.wgtwo.com/handover", "Recreate", "maxSurge"] {
            assert!(
                note.contains(remedy),
                "the remedy {remedy} is named: {note}"
            );
        }
    }
    // The holder keeps the address, and the remedy works for the existing pod.
    scene.expect_attached(&ip, &old).await;
    scene
        .patch("Pod", &new, &annotated("ip.wgtwo.com/handover", "running"))
        .await;
    scene.expect_attached(&ip, &new).await;
    expect_rolled_out(scene, "web").await;
}

async fn with_handover_running_the_address_moves_before_readiness(scene: &Scene) {
    let nodes = two_nodes(scene).await;
    let ip = scene.ip("web", 10).await;
    scene
        .deployment_with("web", &ip, &json!({"template": on(&nodes.0)}))
        .await;
    let old = scene.only_pod("web").await;
    scene.expect_attached(&ip, &old).await;
    let template = merged(
        on(&nodes.1),
        &annotated("test.mooring/ready-when-attached", "true"),
    );
    let template = merged(template, &annotated("ip.wgtwo.com/handover", "running"));
    scene.roll_out("web", &template).await;
    expect_rolled_out(scene, "web").await;
    let new = scene.new_pod("web", &[&old]).await;
    scene.expect_attached(&ip, &new).await;
}
