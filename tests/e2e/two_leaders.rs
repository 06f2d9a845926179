//! Two active controllers for the whole scene: leader election is off.

use std::time::Duration;

use mooring_cluster::{Fault, MooringOptions, Node};
use serde_json::json;

use crate::harness::expectations::GATE;
use crate::harness::objects::on;
use crate::harness::scene::{Ip, SOON, Scene};

scenes![
    alone two_active_leaders_attach_move_and_delete_like_one,
    alone with_two_leaders_a_late_assign_without_reassignment_steals_nothing,
    alone with_two_leaders_a_late_assign_with_reassignment_is_repaired,
    alone with_two_leaders_a_late_unassign_is_repaired,
];

const ASSIGN: &str = "AssignPrivateIpAddresses";
const UNASSIGN: &str = "UnassignPrivateIpAddresses";

/// The time limit of a repair. A location that contradicts a recent own write counts only after 10 s and two
/// inventories (R1.14).
const REPAIRED: Duration = Duration::from_mins(1);

/// Two inventories show what a call has done, one each second. Both controllers have taken them after this time.
const TWO_INVENTORIES: Duration = Duration::from_secs(4);

/// Two controllers, and a Deployment whose pod has its address on the first of two nodes.
struct Two {
    ip: Ip,
    pod: String,
    nodes: [Node; 2],
}

async fn two(scene: &Scene, reassign: bool) -> Two {
    let options = || MooringOptions {
        leader_elect: false,
        register_webhooks: false,
        ..MooringOptions::default()
    };
    let (one, other) = tokio::join!(scene.mooring_with(options()), scene.mooring_with(options()));
    scene.cluster().register_webhooks(&[&one, &other]).await;
    let block = scene.block().await;
    let (a, b) = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&a.name, &block).await;
    scene.expect_labelled(&b.name, &block).await;
    let spec = json!({"address": scene.address(10), "reassign": reassign});
    let ip = scene.ip_with("web", &spec).await;
    scene
        .deployment_with("web", &ip, &json!({"template": on(&a)}))
        .await;
    let pod = scene.only_pod("web").await;
    scene.expect_attached_within(&ip, &pod, REPAIRED).await;
    Two {
        ip,
        pod,
        nodes: [a, b],
    }
}

impl Two {
    /// Rolls out to a node. Returns the new holder.
    async fn moves_to(&self, scene: &Scene, from: &str, to: &Node) -> String {
        scene.roll_out("web", &on(to)).await;
        let pod = scene.new_pod("web", &[from]).await;
        let status = scene.expect_attached_within(&self.ip, &pod, REPAIRED).await;
        assert_eq!(status["status"]["networkInterfaceID"], to.interfaces[0]);
        scene.expect_pod_gone(from).await;
        pod
    }

    /// A fault that holds the first call of an action with the interface of a node and the address.
    fn call(&self, action: &str, node: &Node) -> Fault {
        Fault::hold_before()
            .of(action)
            .interface(&node.interfaces[0])
            .address(&self.ip.address)
    }

    /// Moves to the second node and back while a call of one controller is held at EC2. Then releases the call, which
    /// is late by two moves. Returns the pod that has the address.
    async fn late(&self, scene: &Scene, action: &str, node: &Node, call: Fault) -> String {
        let [a, b] = &self.nodes;
        let held = scene.ec2().fault(call).await;
        let there = self.moves_to(scene, &self.pod, b).await;
        let back = self.moves_to(scene, &there, a).await;
        let calls = scene.ec2().held().await;
        assert!(
            calls.iter().any(|call| call.fault == held.0),
            "no call was held"
        );
        let before = scene.mutations().await.len();
        scene.ec2().release(held).await;
        scene
            .eventually("the late call lands", SOON, async || {
                scene.mutations().await.len() > before
            })
            .await;
        // No claim explains the late call now, so the judge ignores it. The scene checks its effect.
        scene
            .pass_over(&node.interfaces[0], &self.ip.address, action)
            .await;
        back
    }
}

async fn two_active_leaders_attach_move_and_delete_like_one(scene: &Scene) {
    let two = two(scene, false).await;
    let mut pod = two.pod.clone();
    for node in [1, 0, 1, 0, 0] {
        pod = two.moves_to(scene, &pod, &two.nodes[node]).await;
    }
    // Another IP is attached and detached meanwhile.
    let other = scene.ip("other", 11).await;
    scene.pod("other", &other).await;
    scene
        .expect_attached_within(&other, "other", REPAIRED)
        .await;
    scene.delete("Pod", "other").await;
    scene.expect_detached(&other).await;
    scene.expect_attached(&two.ip, &pod).await;
    scene.delete("IP", &two.ip.name).await;
    scene.expect_gone(&two.ip).await;
    scene.expect_gate_closed(&pod, "StalePod").await;
    scene.pass_over_refused().await;
}

async fn with_two_leaders_a_late_assign_without_reassignment_steals_nothing(scene: &Scene) {
    let two = two(scene, false).await;
    let node = &two.nodes[1];
    let call = two.call(ASSIGN, node);
    let pod = two.late(scene, ASSIGN, node, call).await;
    let late = scene.mutations().await.pop().expect("it landed");
    assert_ne!(late.result, "Success", "EC2 refuses it: {late}");
    scene.expect_attached(&two.ip, &pod).await;
    let landed = late.unix_ms;
    let closed_no_gate = "no gate is closed, because no address was taken";
    scene
        .remains(closed_no_gate, TWO_INVENTORIES, async || {
            gate_closings(scene, &pod, landed).is_empty()
        })
        .await;
}

async fn with_two_leaders_a_late_assign_with_reassignment_is_repaired(scene: &Scene) {
    let two = two(scene, true).await;
    let node = &two.nodes[1];
    // Holds only a call with reassignment: a controller that has not seen the address on the first node calls without
    // it, and is refused.
    let call = two.call(ASSIGN, node).allowing_reassignment(true);
    let pod = two.late(scene, ASSIGN, node, call).await;
    repaired(scene, &two, &pod).await;
}

async fn with_two_leaders_a_late_unassign_is_repaired(scene: &Scene) {
    let two = two(scene, false).await;
    let node = &two.nodes[0];
    let pod = two
        .late(scene, UNASSIGN, node, two.call(UNASSIGN, node))
        .await;
    repaired(scene, &two, &pod).await;
}

/// The late call was executed: the gate of the pod closes, the address is repaired, and the gate opens again.
async fn repaired(scene: &Scene, two: &Two, pod: &str) {
    let foreign = scene.late_calls().await;
    let late = foreign.last().expect("it landed");
    assert_eq!(late.result, "Success", "{late}");
    let landed = late.unix_ms;
    scene
        .eventually("the gate of the pod is closed", REPAIRED, async || {
            !gate_closings(scene, pod, landed).is_empty()
        })
        .await;
    scene.expect_attached_within(&two.ip, pod, REPAIRED).await;
    scene.expect_event("DriftRepaired", &two.ip.name).await;
    // The gate was closed before the first repair call.
    let closed = gate_closings(scene, pod, landed)[0];
    let repair = scene
        .mutations()
        .await
        .into_iter()
        .find(|mutation| mutation.sequence > late.sequence && mutation.result == "Success");
    let repair = repair.expect("it was put back by a call");
    assert!(
        u64::try_from(closed).unwrap_or_default() <= repair.unix_ms,
        "{repair} came before the gate was closed"
    );
}

/// The times at which the gate of the pod was closed, since this time.
fn gate_closings(scene: &Scene, pod: &str, after: u64) -> Vec<i64> {
    let audit = scene.audit().into_iter();
    audit
        .filter(|event| {
            event.is_write()
                && event.resource == "pods"
                && event.name == pod
                && event.condition(GATE) == Some("False")
        })
        .map(|event| event.answered.as_millisecond())
        .filter(|at| u64::try_from(*at).unwrap_or_default() >= after)
        .collect()
}
