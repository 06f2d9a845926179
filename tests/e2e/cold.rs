//! The cluster starts while Mooring does not run: nothing that Mooring itself needs depends on its webhook.

use std::sync::atomic::Ordering;

use mooring_cluster::{MooringOptions, repository};
use serde_json::{Value, json};

use crate::certificates::{dial, kustomized_with_test_ca, serve_from_here};
use crate::harness::scene::{AFTER_NODE_FAILURE, SOON, Scene};

scenes![
    alone a_cold_cluster_starts_without_mooring_and_then_with_it,
    alone mooring_pods_are_accepted_under_pod_security_restricted,
];

async fn apply(scene: &Scene, folder: &str) {
    let folder = repository().join(folder).display().to_string();
    let words = ["apply", "--validate=strict", "-k", &folder].map(str::to_owned);
    scene.cluster().kubectl(words).await.success();
    // The Service points to this machine, where no webhook listens.
    serve_from_here(scene).await;
}

/// Waits until the pods of the Deployment of Mooring are available. In this test no process runs in them.
async fn expect_own_pods(scene: &Scene) {
    let wait = "-n mooring-system rollout status deployment/mooring --timeout=60s";
    scene.kubectl(wait).await.success();
}

/// A pod without an IP, like the system pods of a cluster.
fn plain(namespace: &str, name: &str, annotations: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {"terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "registry.example/main:1"}]}})
}

async fn a_cold_cluster_starts_without_mooring_and_then_with_it(scene: &Scene) {
    let before = scene.mooring().await;
    let block = scene.block().await;
    let ip = scene.ip("web", 10).await;
    assert!(before.terminate().await.success());

    // No process of Mooring runs, but the webhook configuration is in etcd.
    scene.cluster().unregister_webhooks().await;
    apply(scene, "config/default").await;
    scene.rights_were_away.store(true, Ordering::Relaxed);
    scene.cluster().restart_api_server().await;

    // Nodes, system pods and the pods of Mooring are created without a review.
    let node = scene.node("a").await;
    expect_own_pods(scene).await;
    for namespace in ["kube-system", scene.name.as_str()] {
        let pod = plain(namespace, "cold", &json!({}));
        scene.cluster().apply(&pod.to_string()).await;
        let wait = format!("-n {namespace} wait pod/cold --for=condition=Ready --timeout=60s");
        scene.kubectl(&wait).await.success();
    }
    let asking = plain(
        "kube-system",
        "asking",
        &json!({"ip.wgtwo.com/ip": ip.name}),
    );
    let refused = scene.cluster().try_apply(&asking.to_string()).await;
    let refused = refused.expect_err("nothing listens there").to_string();
    assert!(
        refused.contains("no pod of this namespace can have an address"),
        "{refused}"
    );
    // A workload that asks for an address waits. Its Event has the reason.
    scene.deployment("web", &ip).await;
    let reported = scene
        .eventually("the Deployment has the failure event", SOON, async || {
            let events = scene.events().await;
            let mut notes = events.iter().filter_map(|event| event["message"].as_str());
            notes
                .find(|note| note.contains("failed calling webhook"))
                .map(str::to_owned)
        })
        .await;
    assert!(reported.contains("mutate-pod.ip.wgtwo.com"), "{reported}");
    assert!(scene.pods_of("web").await.is_empty());

    let options = MooringOptions {
        register_webhooks: false,
        wait: false,
        ..MooringOptions::default()
    };
    let mooring = scene.mooring_with(options).await;
    dial(scene, &mooring, kustomized_with_test_ca(scene).await).await;
    mooring.wait_until_ready(SOON).await;
    scene.expect_labelled(&node.name, &block).await;
    let pod = scene
        .eventually("the pod is there", AFTER_NODE_FAILURE, async || {
            let mut pods = scene.pods_of("web").await.into_iter();
            pods.next().map(|(name, _)| name)
        })
        .await;
    scene.expect_attached(&ip, &pod).await;
    for namespace in ["kube-system", scene.name.as_str()] {
        let delete = format!("-n {namespace} delete pod cold --now");
        scene.kubectl(&delete).await.success();
    }
    let delete = "-n mooring-system delete deployment mooring --cascade=foreground";
    scene.kubectl(delete).await.success();
}

async fn mooring_pods_are_accepted_under_pod_security_restricted(scene: &Scene) {
    scene.node("a").await;
    apply(scene, "config/default").await;
    let pod = plain("mooring-system", "careless", &json!({}));
    let refused = scene.cluster().try_apply(&pod.to_string()).await;
    let refused = refused
        .expect_err("the namespace is restricted")
        .to_string();
    assert!(
        refused.contains("violates PodSecurity \"restricted"),
        "{refused}"
    );
    expect_own_pods(scene).await;
    // The API server accepts the network policy too.
    apply(scene, "config/network-policy").await;
    let delete =
        "-n mooring-system delete deployment/mooring networkpolicy/mooring --cascade=foreground";
    scene.kubectl(delete).await.success();
}
