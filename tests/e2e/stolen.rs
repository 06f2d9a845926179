//! A stolen token of Mooring permits only what Mooring does: the API server refuses the rest.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use k8s_openapi::ByteString;
use mooring_cluster::{MooringOptions, repository};
use serde_json::{Value, json};

use crate::harness::requests::{ApiResponse, send_as};
use crate::harness::scene::Scene;

scenes![alone a_stolen_token_cannot_gain_more_rights];

/// The one account of `config/default`, with the rights of `config/self-managed` as well.
const WHOLE: &str = "mooring";
/// That of a webhook that runs alone.
const WEBHOOK: &str = "mooring-webhook";

const PODS: &str = "/api/v1/namespaces/NAMESPACE/pods";
const NODE: &str = "/api/v1/nodes/NODE";
const MUTATING: &str =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/mooring";
const VALIDATING: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/mooring";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces";
const OURS: &str = "/apis/ip.wgtwo.com/v1alpha1";

/// What is asked: who, method, path, body.
type Attempt = (&'static str, &'static str, String, Value);

/// Pods: their images, their places, their marks, their ends.
fn pods() -> Vec<Attempt> {
    let (web, plain) = (format!("{PODS}/web"), format!("{PODS}/plain"));
    let image =
        json!({"spec": {"containers": [{"name": "main", "image": "registry.example/other:1"}]}});
    let annotated = |key: &str, value: &str| json!({"metadata": {"annotations": {key: value}}});
    let other = "00000000-0000-0000-0000-000000000000";
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other"},
        "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]}});
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}});
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "plain"},
        "target": {"kind": "Node", "name": "NODE"}});
    vec![
        (WHOLE, "PATCH", web.clone(), image),
        (WHOLE, "PATCH", web.clone(), annotated("a", "b")),
        (
            WHOLE,
            "PATCH",
            format!("{plain}/status"),
            annotated("ip.wgtwo.com/ip", "IP"),
        ),
        (
            WHOLE,
            "PATCH",
            format!("{plain}/status"),
            annotated("ip.wgtwo.com/ip-uid", other),
        ),
        (
            WHOLE,
            "PATCH",
            format!("{web}/status"),
            annotated("ip.wgtwo.com/ip-uid", other),
        ),
        (
            WHOLE,
            "PATCH",
            format!("{plain}/status"),
            json!({"metadata": {"labels": {"ip.wgtwo.com/ip": "IP"}}}),
        ),
        (WHOLE, "DELETE", web.clone(), json!({})),
        (WHOLE, "POST", PODS.to_owned(), pod),
        (WHOLE, "POST", format!("{web}/eviction"), eviction),
        (WHOLE, "POST", format!("{plain}/binding"), binding),
        (
            WHOLE,
            "POST",
            format!("{web}/exec?command=true&container=main&stdout=true"),
            json!({}),
        ),
        (
            WHOLE,
            "PATCH",
            format!("{web}/ephemeralcontainers"),
            json!({"spec": {"ephemeralContainers": []}}),
        ),
        (
            WEBHOOK,
            "PATCH",
            format!("{web}/status"),
            json!({"status": {"message": "x"}}),
        ),
        (WEBHOOK, "GET", PODS.to_owned(), json!({})),
    ]
}

/// Nodes: anything but the labels of blocks, and our own taint.
fn nodes() -> Vec<Attempt> {
    let label = |key: &str, value: Value| json!({"metadata": {"labels": {key: value}}});
    let tainted = |key: &str, value: &str, effect: &str| {
        let taint = json!({"key": key, "value": value, "effect": effect});
        json!({"spec": {"taints": [taint]}})
    };
    let out_of_service = "node.kubernetes.io/out-of-service";
    let change = |body: Value| (WHOLE, "PATCH", NODE.to_owned(), body);
    vec![
        change(tainted("a", "b", "NoSchedule")),
        change(tainted(out_of_service, "nodeshutdown", "NoExecute")),
        change(tainted(out_of_service, "mooring", "NoSchedule")),
        change(json!({"spec": {
            "unschedulable": true,
            "taints": [{"key": out_of_service, "value": "mooring", "effect": "NoExecute"}],
        }})),
        change(json!({"spec": {"unschedulable": true}})),
        change(label("tier", json!("edge"))),
        change(label("kubernetes.io/hostname", Value::Null)),
        change(label(
            "example.com.node-restriction.kubernetes.io/other",
            json!(""),
        )),
        change(json!({"metadata": {"annotations": {"a": "b"}}})),
        change(json!({"metadata": {"finalizers": ["test.mooring/hold"]}})),
        (
            WHOLE,
            "PATCH",
            format!("{NODE}/status"),
            json!({"status": {"phase": "Terminated"}}),
        ),
        (WHOLE, "DELETE", NODE.to_owned(), json!({})),
        (
            WEBHOOK,
            "PATCH",
            NODE.to_owned(),
            label(
                "ip.wgtwo.com.node-restriction.kubernetes.io/other",
                json!(""),
            ),
        ),
    ]
}

/// Webhook configurations and policies: anything but the CA.
fn webhooks() -> Vec<Attempt> {
    let replaced =
        |path: &str, value: Value| json!([{"op": "replace", "path": path, "value": value}]);
    let change = |url: &str, body: Value| (WHOLE, "PATCH", url.to_owned(), body);
    let binding =
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/mooring-nodes";
    vec![
        change(
            MUTATING,
            replaced(
                "/webhooks/0/clientConfig/url",
                json!("https://127.0.0.1:1/"),
            ),
        ),
        change(
            MUTATING,
            replaced("/webhooks/0/failurePolicy", json!("Ignore")),
        ),
        change(
            MUTATING,
            replaced("/webhooks/0/rules/0/resources", json!(["secrets"])),
        ),
        change(
            MUTATING,
            replaced("/webhooks/0/matchConditions/0/expression", json!("true")),
        ),
        change(
            MUTATING,
            replaced("/webhooks/0/reinvocationPolicy", json!("Never")),
        ),
        change(
            VALIDATING,
            replaced("/webhooks/0/timeoutSeconds", json!(30)),
        ),
        change(
            VALIDATING,
            replaced("/webhooks/0/name", json!("other.ip.wgtwo.com")),
        ),
        change(VALIDATING, json!([{"op": "remove", "path": "/webhooks/0"}])),
        change(
            VALIDATING,
            json!([{"op": "add", "path": "/webhooks/0/namespaceSelector", "value": {"matchLabels": {"a": "b"}}}]),
        ),
        change(VALIDATING, json!({"metadata": {"labels": {"a": "b"}}})),
        (WHOLE, "DELETE", MUTATING.to_owned(), json!({})),
        (WHOLE, "DELETE", binding.to_owned(), json!({})),
        (
            WEBHOOK,
            "PATCH",
            MUTATING.to_owned(),
            replaced("/webhooks/0/failurePolicy", json!("Ignore")),
        ),
    ]
}

/// Rights, Secrets, Leases, workloads, and the kinds that are the users' to make and to delete.
fn others() -> Vec<Attempt> {
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "other"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": WHOLE, "namespace": "mooring-system"}]});
    let rules = json!([{"op": "add", "path": "/rules/-",
        "value": {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}}]);
    let token =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let holder = json!({"spec": {"holderIdentity": "x"}});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "other"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]}}}});
    let block = json!({"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPBlock", "metadata": {"name": "other"},
        "spec": {"cidr": "198.51.100.0/24", "subnetID": "subnet-0123456789abcdef0"}});
    let nothing = || json!({});
    let own = "/api/v1/namespaces/mooring-system";
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ips.ip.wgtwo.com";
    vec![
        (
            WHOLE,
            "POST",
            format!("{RBAC}/clusterrolebindings"),
            binding,
        ),
        (
            WHOLE,
            "PATCH",
            format!("{RBAC}/clusterroles/mooring-controller"),
            rules,
        ),
        (
            WHOLE,
            "POST",
            format!("{own}/serviceaccounts/default/token"),
            token,
        ),
        (
            WHOLE,
            "GET",
            "/api/v1/namespaces/NAMESPACE/secrets".to_owned(),
            nothing(),
        ),
        (WHOLE, "GET", format!("{own}/secrets"), nothing()),
        (WHOLE, "GET", format!("{own}/secrets/other"), nothing()),
        (WHOLE, "GET", format!("{own}/configmaps"), nothing()),
        (
            WHOLE,
            "PATCH",
            format!("{LEASES}/kube-system/leases/kube-scheduler"),
            holder.clone(),
        ),
        (
            WHOLE,
            "DELETE",
            format!("{LEASES}/mooring-system/leases/mooring"),
            nothing(),
        ),
        (
            WHOLE,
            "POST",
            "/apis/apps/v1/namespaces/NAMESPACE/deployments".to_owned(),
            deployment,
        ),
        (WHOLE, "POST", format!("{OURS}/ipblocks"), block),
        (WHOLE, "DELETE", format!("{OURS}/ipblocks/BLOCK"), nothing()),
        (WHOLE, "DELETE", format!("{OURS}/ips/IP"), nothing()),
        (WHOLE, "DELETE", crd.to_owned(), nothing()),
        (
            WEBHOOK,
            "PATCH",
            format!("{OURS}/ips/IP/status"),
            json!({"status": {"claimed": false}}),
        ),
        (
            WEBHOOK,
            "PATCH",
            format!("{OURS}/ips/IP"),
            json!({"metadata": {"finalizers": null}}),
        ),
        (
            WEBHOOK,
            "DELETE",
            "/apis/networking.k8s.io/v1/ipaddresses/ADDRESS".to_owned(),
            nothing(),
        ),
        (WEBHOOK, "GET", format!("{own}/secrets"), nothing()),
        (
            WEBHOOK,
            "PUT",
            format!("{LEASES}/mooring-system/leases/mooring"),
            holder,
        ),
    ]
}

/// The rights of `config/self-managed` for the one account, and those of a webhook alone for the other.
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

    // The tokens are good: what Mooring does can be done with them.
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

    // It is Mooring's account that is refused here, and not Mooring.
    scene.rights_were_away.store(true, Ordering::Relaxed);
    let attempts = [pods(), nodes(), webhooks(), others()].concat();
    assert!(attempts.len() >= 20);
    let mut widened = Vec::new();
    for (account, method, url, body) in attempts {
        let said = ask(account, method, &url, &body).await;
        if !said.is_forbidden() {
            widened.push(format!("{account}: {said:?}"));
        }
    }
    assert!(widened.is_empty(), "not refused:\n{}", widened.join("\n"));

    // Nothing of this has reached the pod that has the address.
    scene.expect_attached(&ip, "web").await;
}
