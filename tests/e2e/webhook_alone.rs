//! A process without the controller answers reviews, with an account that can only read.

use mooring_cluster::MooringOptions;
use serde_json::json;

use crate::harness::certificates::{distrust_for_a_while, frequent_checks};
use crate::harness::requests::{block_named, ip_named};
use crate::harness::scene::Scene;

scenes![
    alone reviews_are_answered_with_the_rights_of_the_webhook,
    alone a_controller_without_a_webhook_attaches_pods_of_another_webhook,
];

const ACCOUNT: &str = "mooring-webhook";

/// Gives the account the role of the webhook, and nothing else.
async fn bind(scene: &Scene) {
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "webhook-alone"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "mooring-webhook"},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": "mooring-system"}]});
    scene.cluster().apply(&binding.to_string()).await;
}

async fn reviews_are_answered_with_the_rights_of_the_webhook(scene: &Scene) {
    bind(scene).await;
    let mut options = frequent_checks(scene);
    options.arguments.push("--controller=false".to_owned());
    let mooring = scene
        .mooring_with(MooringOptions {
            account: ACCOUNT,
            ..options
        })
        .await;

    // A block in the Service range, with one address in use by a Service.
    let service = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "shop", "namespace": scene.name},
        "spec": {"clusterIP": "10.0.0.77", "ports": [{"port": 80}]}});
    scene.creates(&service).await.accepted();
    let block = scene.named("services");
    scene.remember_block(&block);
    let spec = json!({"cidr": "10.0.0.0/25", "subnetID": scene.subnet.id});
    scene.creates(&block_named(&block, &spec)).await.accepted();
    let taken = ip_named(
        &scene.named("taken"),
        &json!({"address": "10.0.0.77", "block": block}),
    );
    scene
        .would_create(&taken)
        .await
        .rejected(&["10.0.0.77", "in use by"]);
    scene.delete("Service", "shop").await;

    let ip = scene.named("web");
    scene.remember_ip(&ip);
    let spec = json!({"address": "10.0.0.78", "block": block});
    scene.creates(&ip_named(&ip, &spec)).await.accepted();
    let pod = scene.pod_asking("web", &ip, &json!({}));
    let given = scene.would_create(&pod).await.accepted();
    let uid = &given["metadata"]["annotations"]["ip.wgtwo.com/ip-uid"];
    assert!(uid.is_string(), "{given:#}");
    // Writes the status that the controller in another process would write.
    let looked = json!({"status": {"subnetCIDRs": ["10.0.0.0/25"]}});
    let status = format!("{block}/status");
    scene.changes("IPBlock", &status, &looked).await.accepted();
    let bound = scene.pod_asking("web", &ip, &json!({"spec": {"nodeName": "nowhere"}}));
    scene.expect_refused(&bound, "which does not exist").await;
    scene.would_create(&bound).await.rejected(&["nowhere"]);

    distrust_for_a_while(scene, &mooring).await;

    // No replica wrote anything except Events.
    let written = scene
        .audit()
        .into_iter()
        .filter(|event| event.by_mooring() && event.is_write() && event.group != "events.k8s.io");
    assert_eq!(written.count(), 0);
    let object = scene.get("IP", &ip).await.expect("it is there");
    assert!(object["status"].is_null(), "{object}");
}

async fn a_controller_without_a_webhook_attaches_pods_of_another_webhook(scene: &Scene) {
    bind(scene).await;
    let webhook = || MooringOptions {
        account: ACCOUNT,
        arguments: vec!["--controller=false".to_owned()],
        ..MooringOptions::default()
    };
    let answering = scene.mooring_with(webhook()).await;
    let controller = MooringOptions {
        register_webhooks: false,
        arguments: vec!["--webhook=false".to_owned()],
        ..MooringOptions::default()
    };
    let controller = scene.mooring_with(controller).await;
    let ip = scene.attached_pod().await;
    scene.expect_pod_ready("web").await;
    assert!(controller.log().contains("this process answers no reviews"));
    answering.kill9();
    scene.delete("Pod", "web").await;
    scene.expect_detached(&ip).await;
    scene.mooring_with(webhook()).await;
}
