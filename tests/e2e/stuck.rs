//! What cannot be completed has a reason, and nothing is dropped silently: the deletion of an IP, with its workaround, and
//! the label of a block on a node.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mooring_cluster::{Fault, Node};
use serde_json::json;

use crate::harness::scene::{Ip, SOON, Scene};
use crate::readme::{OPERATE, blocks, shell};

scenes![
    shared a_forbidden_deletion_is_reported_and_counted_until_it_is_permitted,
    shared the_workaround_for_a_forbidden_deletion_leaves_nothing,
    shared a_deletion_ends_without_the_instance,
    alone a_node_label_that_a_policy_refuses_is_reported_until_it_is_permitted,
];

const UNASSIGN: &str = "UnassignPrivateIpAddresses";

async fn attached(scene: &Scene) -> (Ip, Node, String) {
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene.pod("web", &ip).await;
    scene.expect_attached(&ip, "web").await;
    (ip, node, block)
}

/// Forbids the Unassign of the address for all clients.
async fn forbid(scene: &Scene, ip: &Ip) -> mooring_cluster::FaultId {
    let fault = Fault::error("UnauthorizedOperation")
        .of(UNASSIGN)
        .address(&ip.address)
        .forever();
    scene.ec2().fault(fault).await
}

/// The number of IPs of a block that are being deleted, from `/metrics`.
async fn deleting(scene: &Scene, block: &str) -> f64 {
    let replicas = scene.test_cluster.replicas.lock().await;
    let block = format!("block=\"{block}\"");
    let labels = [block.as_str(), "state=\"deleting\""];
    replicas[0].metric("mooring_addresses", &labels).await
}

async fn expect_stuck(scene: &Scene, ip: &Ip, block: &str) {
    let note = scene.expect_event("AccessDenied", &ip.name).await;
    let message = scene
        .expect_reason("IP", &ip.name, "Attached", "False", "AccessDenied")
        .await;
    for text in [&note, &message] {
        assert!(text.contains("ec2:UnassignPrivateIpAddresses"), "{text}");
    }
    scene
        .expect_reason("IP", &ip.name, "Ready", "False", "AccessDenied")
        .await;
    scene
        .eventually("the deletion is counted", SOON, async || {
            deleting(scene, block).await > 0.5
        })
        .await;
}

async fn a_forbidden_deletion_is_reported_and_counted_until_it_is_permitted(scene: &Scene) {
    let (ip, node, block) = attached(scene).await;
    let fault = forbid(scene, &ip).await;
    scene.delete("IP", &ip.name).await;
    expect_stuck(scene, &ip, &block).await;
    // Other IPs still work.
    let other = scene.ip("other", 11).await;
    scene.pod("other", &other).await;
    scene.expect_attached(&other, "other").await;
    // Nothing was dropped: the address is on the same interface, and still reserved.
    assert_eq!(
        scene.ec2().address_on(&ip.address).await.as_ref(),
        Some(&node.interfaces[0])
    );
    assert!(scene.get("IPAddress", &ip.address).await.is_some());
    assert!(scene.get("IP", &ip.name).await.is_some());
    scene.ec2().clear_fault(fault).await;
    // A call without permission is retried at least every 30 s.
    scene
        .eventually("the IP is gone", Duration::from_secs(45), async || {
            scene.get("IP", &ip.name).await.is_none()
        })
        .await;
    scene.expect_gone(&ip).await;
    scene
        .eventually("no stuck deletion is counted", SOON, async || {
            deleting(scene, &block).await < 0.5
        })
        .await;
}

/// The procedure of docs/operate.md: unassign the address manually, then remove the finalizers.
async fn the_workaround_for_a_forbidden_deletion_leaves_nothing(scene: &Scene) {
    let (ip, node, block) = attached(scene).await;
    let fault = forbid(scene, &ip).await;
    scene.delete("IP", &ip.name).await;
    expect_stuck(scene, &ip, &block).await;
    // The fault applies to all callers, so it is removed for the call of the foreign client.
    scene.ec2().clear_fault(fault).await;
    scene
        .foreign_unassign(&node.interfaces[0], &ip.address)
        .await;
    let fault = forbid(scene, &ip).await;
    let [commands] = blocks(OPERATE, "## A deletion that is stuck", "sh")
        .try_into()
        .expect("one block");
    let commands = commands
        .replace("partner-a", &ip.name)
        .replace("203.0.113.10", &ip.address);
    let (first, commands) = commands.split_once('\n').expect("some lines");
    assert!(first.starts_with("aws ec2 unassign-private-ip-addresses "));
    for command in commands.lines() {
        assert!(command.starts_with("kubectl "), "{command}");
        let output = shell(scene, command).await;
        // Mooring can have completed the deletion while the call was allowed.
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() || stderr.contains("(NotFound)"),
            "{command}: {output:?}"
        );
    }
    scene.expect_gone(&ip).await;
    scene.ec2().clear_fault(fault).await;
    // The address can be used again at once, by another pod.
    scene.delete("Pod", "web").await;
    scene.expect_pod_gone("web").await;
    let again = scene.ip("again", 10).await;
    scene.pod("again", &again).await;
    scene.expect_attached(&again, "again").await;
}

async fn a_deletion_ends_without_the_instance(scene: &Scene) {
    let (ip, node, _) = attached(scene).await;
    scene.cluster().terminate_instance(&node.instance_id).await;
    scene.delete("IP", &ip.name).await;
    scene
        .eventually("the IP is gone", Duration::from_mins(1), async || {
            scene.get("IP", &ip.name).await.is_none()
        })
        .await;
    scene.expect_gone(&ip).await;
}

/// A policy of the API server refuses this label on all nodes. Returns when it is in force.
async fn forbid_label(scene: &Scene, policy: &str, label: &str) {
    let expression = format!("!('{label}' in object.metadata.?labels.orValue({{}}))");
    let objects = [
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": policy},
            "spec": {"failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                    "operations": ["UPDATE"], "resources": ["nodes"]}]},
                "validations": [{"expression": expression, "message": "this label is not wanted"}]}}),
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": policy},
            "spec": {"policyName": policy, "validationActions": ["Deny"]}}),
    ];
    for object in objects {
        scene.cluster().apply(&object.to_string()).await;
    }
    let probe = scene.node("probe").await;
    let labelled = json!({"metadata": {"labels": {label: ""}}});
    scene
        .eventually("the policy is in force", SOON, async || {
            let answer = scene.would_change("Node", &probe.name, &labelled).await;
            answer
                .is_forbidden()
                .then_some(())
                .ok_or(format!("{answer:?}"))
        })
        .await;
}

async fn a_node_label_that_a_policy_refuses_is_reported_until_it_is_permitted(scene: &Scene) {
    // The text of a policy contains "is forbidden".
    scene.rights_were_away.store(true, Ordering::Relaxed);
    scene.mooring().await;
    let label = format!(
        "ip.wgtwo.com.node-restriction.kubernetes.io/{}",
        scene.named("block")
    );
    let policy = scene.named("no-label");
    forbid_label(scene, &policy, &label).await;
    let node = scene.node("a").await;
    let block = scene.block().await;
    let words = ["add the label of IPBlock", "this label is not wanted"];
    scene
        .expect_event_naming("WriteRefused", &block, &words, SOON)
        .await;
    scene
        .eventually("the block says so too", SOON, async || {
            let (_, message) = scene
                .expect_condition("IPBlock", &block, "Ready", "True")
                .await;
            let reported = words.iter().all(|words| message.contains(words));
            reported.then_some(()).ok_or(message)
        })
        .await;
    let binding = format!("delete validatingadmissionpolicybinding {policy}");
    scene.kubectl(&binding).await.success();
    let gone = format!("delete validatingadmissionpolicy {policy}");
    scene.kubectl(&gone).await.success();
    // A refused write is tried again at least every 30 s, when the block is looked at.
    let label = label.as_str();
    scene
        .eventually("the node is labelled", Duration::from_mins(1), async || {
            let node = scene.get("Node", &node.name).await.ok_or("no such node")?;
            let labels = &node["metadata"]["labels"];
            let labelled = labels.get(label).is_some();
            labelled.then_some(()).ok_or(labels.to_string())
        })
        .await;
    scene
        .eventually("the block says it no longer", SOON, async || {
            let (_, message) = scene
                .expect_condition("IPBlock", &block, "Ready", "True")
                .await;
            (!message.contains("refuses")).then_some(()).ok_or(message)
        })
        .await;
}
