//! A stolen token of Mooring allows only what Mooring does. The API server refuses everything else.

mod attempts;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use k8s_openapi::ByteString;
use mooring_cluster::{MooringOptions, repository};
use serde_json::{Value, json};

use self::attempts::{
    MUTATING, NODE, OURS, PODS, VALIDATING, WEBHOOK, WHOLE, nodes, others, pods, webhooks,
};
use crate::harness::requests::{ApiResponse, send_as};
use crate::harness::scene::Scene;

scenes![alone a_stolen_token_cannot_gain_more_rights];

/// Grants the rights of `config/self-managed` to the first account, and the rights of a webhook alone to the second.
async fn give(scene: &Scene) {
    for file in [
        "cluster_role",
        "cluster_role_binding",
        "role",
        "role_binding",
    ] {
        let file = repository().join(format!("config/self-managed/{file}.yaml"));
        let text = std::fs::read_to_string(file).expect("it is there");
        scene.cluster().apply(&text).await;
    }
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "webhook-alone"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "mooring-webhook"},
        "subjects": [{"kind": "ServiceAccount", "name": WEBHOOK, "namespace": "mooring-system"}]});
    scene.cluster().apply(&binding.to_string()).await;
}

async fn a_stolen_token_cannot_gain_more_rights(scene: &Scene) {
    give(scene).await;
    scene.mooring_with(MooringOptions::default()).await;
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene.pod("web", &ip).await;
    scene.expect_attached(&ip, "web").await;
    let mut plain = scene.pod_asking(
        "plain",
        &ip.name,
        &json!({"spec": {"schedulerName": "nobody"}}),
    );
    plain["metadata"]["annotations"] = json!({});
    scene.creates(&plain).await.accepted();

    let mut clients = BTreeMap::new();
    for account in [WHOLE, WEBHOOK] {
        clients.insert(account, scene.cluster().client_of(account).await);
    }
    let ask = async |account: &str, method: &str, url: &str, body: &Value| -> ApiResponse {
        let named = |text: &str| {
            text.replace("NAMESPACE", &scene.name)
                .replace("NODE", &node.name)
                .replace("BLOCK", &block)
                .replace("ADDRESS", &ip.address)
                .replace("/IP", &format!("/{}", ip.name))
                .replace("\"IP\"", &json!(ip.name).to_string())
        };
        let body: Value = serde_json::from_str(&named(&body.to_string())).expect("it was JSON");
        send_as(&clients[account], method, &named(url), &body).await
    };

    // The tokens are valid: they allow what Mooring does.
    let label = json!({"metadata": {"labels": {"ip.wgtwo.com/ip": "IP"}}});
    ask(WHOLE, "PATCH", &format!("{PODS}/web/status"), &label)
        .await
        .accepted();
    let label =
        json!({"metadata": {"labels": {"ip.wgtwo.com.node-restriction.kubernetes.io/other": ""}}});
    ask(WHOLE, "PATCH", NODE, &label).await.accepted();
    let taint = json!({"spec": {"taints": [
        {"key": "node.kubernetes.io/out-of-service", "value": "mooring", "effect": "NoExecute"},
    ]}});
    ask(WHOLE, "PATCH", &format!("{NODE}?dryRun=All"), &taint)
        .await
        .accepted();
    let another = ByteString(scene.cluster().authority().as_bytes().to_vec());
    let bundle =
        json!([{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": another}]);
    for url in [MUTATING, VALIDATING] {
        ask(WHOLE, "PATCH", &format!("{url}?dryRun=All"), &bundle)
            .await
            .accepted();
    }
    ask(WEBHOOK, "GET", &format!("{OURS}/ips"), &json!({}))
        .await
        .accepted();

    // From here on, the requests with the account of Mooring are refused on purpose. The judge must ignore that.
    scene.rights_were_away.store(true, Ordering::Relaxed);
    let attempts = [pods(), nodes(), webhooks(), others()].concat();
    assert!(attempts.len() >= 20);
    let mut widened = Vec::new();
    for (account, method, url, body) in attempts {
        let answer = ask(account, method, &url, &body).await;
        if !answer.is_forbidden() {
            widened.push(format!("{account}: {answer:?}"));
        }
    }
    assert!(widened.is_empty(), "not refused:\n{}", widened.join("\n"));

    // None of this changed the pod that has the address.
    scene.expect_attached(&ip, "web").await;
}
