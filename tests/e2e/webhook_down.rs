//! The scope of the webhook: requests that do not concern addresses never depend on Mooring.

use mooring_cluster::{Mooring, MooringOptions, NodeSpec};
use serde_json::{Value, json};

use crate::harness::expectations::GATE;
use crate::harness::objects::IP;
use crate::harness::scene::{SOON, Scene};

scenes![
    alone while_the_webhook_is_down_only_annotated_pods_are_blocked,
    alone unannotated_pods_never_reach_mooring,
    alone a_label_that_is_removed_unseen_is_restored,
];

fn plain(scene: &Scene, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": scene.name},
        "spec": {"terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "registry.example/main:1"}]}})
}

/// A pod with many annotations, none of them of Mooring. The API server cannot check each of them within the time limit of
/// a request, and would refuse the pod if the `matchConditions` did so.
fn annotated(scene: &Scene) -> Value {
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').collect();
    let digit = |number: usize| letters[number % letters.len()];
    let key = |n: usize| {
        [n / 62 / 62, n / 62, n]
            .map(digit)
            .iter()
            .collect::<String>()
    };
    let annotations: serde_json::Map<_, _> = (0..60_000).map(|n| (key(n), "".into())).collect();
    assert_eq!(annotations.len(), 60_000);
    let mut pod = plain(scene, "annotated");
    pod["metadata"]["annotations"] = annotations.into();
    pod
}

/// Starts Mooring with a short Lease, because a Lease is not released after SIGKILL and must expire first.
async fn start(scene: &Scene) -> std::sync::Arc<Mooring> {
    let arguments = [
        "--lease-duration=3s",
        "--lease-renew-deadline=2s",
        "--lease-retry-period=500ms",
    ];
    let arguments = arguments.map(str::to_owned).to_vec();
    scene
        .mooring_with(MooringOptions {
            arguments,
            ..MooringOptions::default()
        })
        .await
}

async fn while_the_webhook_is_down_only_annotated_pods_are_blocked(scene: &Scene) {
    let mooring = start(scene).await;
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene.pod("web", &ip).await;
    scene.expect_attached(&ip, "web").await;
    scene.expect_pod_ready("web").await;
    mooring.kill9();

    // The webhook does not answer: what it reviews is refused.
    let pod = scene.pod_asking("second", &ip.name, &json!({}));
    let unanswered = "failed calling webhook";
    scene
        .creates(&pod)
        .await
        .rejected(&[unanswered, "mutate-pod.ip.wgtwo.com"]);
    let address = json!({"spec": {"address": scene.address(11)}});
    scene
        .changes("IP", &ip.name, &address)
        .await
        .rejected(&[unanswered]);
    scene
        .deletes("IPBlock", &block)
        .await
        .rejected(&[unanswered]);
    // Labels and annotations of Mooring on an existing pod are still protected, and the annotation can be removed.
    let unlabelled = json!({"metadata": {"labels": {IP: null}}});
    scene
        .would_change("Pod", "web", &unlabelled)
        .await
        .rejected(&["label ip.wgtwo.com/ip", "leave it as it is"]);
    let removed = json!({"metadata": {"annotations": {IP: null}}});
    scene
        .would_change("Pod", "web", &removed)
        .await
        .accepted_silently();
    let from = |interface: Value| json!({"metadata": {"annotations": {"ip.wgtwo.com/take-from": interface}}});
    scene
        .changes("IP", &ip.name, &from("eni-0123456789abcdef0".into()))
        .await
        .rejected(&[unanswered]);

    // Requests that are not reviewed succeed: the creation and deletion of another pod.
    scene
        .creates(&plain(scene, "plain"))
        .await
        .accepted_silently();
    scene.expect_pod_ready("plain").await;
    scene.deletes("Pod", "plain").await.accepted();
    scene
        .would_create(&annotated(scene))
        .await
        .accepted_silently();
    // The same for finalizers, owner references, other labels and annotations, and the status of a pod with an
    // address...
    let configmap = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "owner", "namespace": scene.name}});
    let owner = scene.creates(&configmap).await.accepted();
    let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
        "uid": owner["metadata"]["uid"]}]);
    for change in [
        json!({"metadata": {"finalizers": ["test.mooring/hold"]}}),
        json!({"metadata": {"finalizers": null}}),
        json!({"metadata": {"ownerReferences": owner}}),
        json!({"metadata": {"ownerReferences": null}}),
        json!({"metadata": {"labels": {"tier": "edge"}, "annotations": {"a": "b"}}}),
    ] {
        scene
            .changes("Pod", "web", &change)
            .await
            .accepted_silently();
    }
    let message = json!({"status": {"message": "written while the webhook was down"}});
    scene
        .changes("Pod", "web/status", &message)
        .await
        .accepted_silently();
    // ... and of IPs and blocks.
    for (kind, name, ours) in [
        ("IP", &ip.name, "ip.wgtwo.com/detach"),
        ("IPBlock", &block, "ip.wgtwo.com/in-use"),
    ] {
        for change in [
            json!({"metadata": {"finalizers": [ours, "test.mooring/hold"]}}),
            json!({"metadata": {"finalizers": [ours]}}),
            json!({"metadata": {"labels": {"tier": "edge"}, "annotations": {"a": "b"}}}),
        ] {
            scene.changes(kind, name, &change).await.accepted_silently();
        }
        let status = scene.get(kind, name).await.expect("it is there")["status"].clone();
        let same = json!({"status": status});
        let at = format!("{name}/status");
        scene.changes(kind, &at, &same).await.accepted_silently();
    }
    scene
        .changes("IP", &ip.name, &from(Value::Null))
        .await
        .accepted_silently();
    // A pod with an address can be deleted, and is gone.
    scene.deletes("Pod", "web").await.accepted();
    scene.expect_pod_gone("web").await;
    // An IP can be deleted too, but it is gone only when Mooring runs again.
    scene.deletes("IP", &ip.name).await.accepted();
    start(scene).await;
    scene.expect_gone(&ip).await;
}

/// The number of reviews that Mooring has answered.
async fn reviews(mooring: &Mooring) -> f64 {
    mooring
        .metric("mooring_admission_duration_seconds_count", &[])
        .await
}

async fn unannotated_pods_never_reach_mooring(scene: &Scene) {
    let mooring = start(scene).await;
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.node_of(NodeSpec::new("b")).await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    let before = reviews(&mooring).await;
    for number in 0..20 {
        let name = format!("plain-{number}");
        scene
            .creates(&plain(scene, &name))
            .await
            .accepted_silently();
    }
    // The whole life cycle of the pods: bound, started, changed, deleted.
    for number in 0..20 {
        let name = format!("plain-{number}");
        scene.expect_pod_ready(&name).await;
        let label = json!({"metadata": {"labels": {"tier": "edge"}, "annotations": {"a": "b"}}});
        scene
            .changes("Pod", &name, &label)
            .await
            .accepted_silently();
    }
    assert!(
        (reviews(&mooring).await - before).abs() < 0.5,
        "asked about an unannotated pod"
    );
    // Checks that the counter works.
    scene.pod("web", &ip).await;
    assert!(
        reviews(&mooring).await >= before + 2.0,
        "asked about an annotated one"
    );
    scene.expect_attached(&ip, "web").await;

    // All lists and watches of pods by Mooring have the selector, and the selector matches one pod.
    let (history, _) = scene.cluster().audit_since(scene.audit_mark);
    let asked: Vec<String> = history
        .into_iter()
        .filter(|event| event.by_mooring() && event.resource == "pods" && event.name.is_empty())
        .filter(|event| ["list", "watch"].contains(&event.verb.as_str()))
        .map(|event| event.uri)
        .collect();
    assert!(!asked.is_empty(), "Mooring watches no pods at all");
    for uri in asked {
        assert!(
            uri.contains("labelSelector=ip.wgtwo.com%2Fip"),
            "not selected: {uri}"
        );
    }
    assert_eq!(scene.count("Pod", IP).await, 1);
    for number in 0..20 {
        scene
            .deletes("Pod", &format!("plain-{number}"))
            .await
            .accepted();
    }
    scene
        .eventually("the plain pods are gone", SOON, async || {
            scene.list("Pod").await.len() == 1
        })
        .await;
    assert!(
        reviews(&mooring).await <= before + 4.0,
        "asked about a deletion"
    );
    let written = scene.audit().into_iter().filter(|event| {
        event.by_mooring() && event.resource == "pods" && event.name.starts_with("plain-")
    });
    assert_eq!(written.count(), 0, "Mooring touched an unannotated pod");
    let gates = scene
        .audit()
        .into_iter()
        .filter(|event| event.name.starts_with("plain-") && event.condition(GATE).is_some());
    assert_eq!(gates.count(), 0);
}

async fn a_label_that_is_removed_unseen_is_restored(scene: &Scene) {
    start(scene).await;
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene.pod("web", &ip).await;
    scene.expect_attached(&ip, "web").await;
    let calls = scene.mutations().await.len();
    scene.unguard_marks().await;
    for change in [
        json!({"metadata": {"labels": {IP: null}}}),
        json!({"metadata": {"labels": {IP: "another"}}}),
    ] {
        scene.changes("Pod", "web", &change).await.accepted();
        scene
            .eventually("the holder has its label again", SOON, async || {
                let pod = scene.get("Pod", "web").await.ok_or("no pod")?;
                let label = &pod["metadata"]["labels"][IP];
                if *label == ip.name.as_str() {
                    Ok(())
                } else {
                    Err(label.to_string())
                }
            })
            .await;
    }
    scene.guard_marks().await;
    scene.expect_attached(&ip, "web").await;
    assert_eq!(
        scene.mutations().await.len(),
        calls,
        "EC2 was called for it"
    );
}
