//! The requests that a stolen token of Mooring must not be allowed to make.

use serde_json::{Value, json};

/// The account of `config/default`, with the rights of `config/self-managed` too.
pub const WHOLE: &str = "mooring";
/// The account of a webhook that runs alone.
pub const WEBHOOK: &str = "mooring-webhook";

pub const PODS: &str = "/api/v1/namespaces/NAMESPACE/pods";
pub const NODE: &str = "/api/v1/nodes/NODE";
pub const MUTATING: &str =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/mooring";
pub const VALIDATING: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/mooring";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces";
pub const OURS: &str = "/apis/ip.wgtwo.com/v1alpha1";

/// A request: account, method, path, body.
type Attempt = (&'static str, &'static str, String, Value);

/// Pods: changes of images, bindings, labels, annotations, finalizers and status, and deletions.
pub fn pods() -> Vec<Attempt> {
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
    // The right to patch the status takes labels, annotations and finalizers too.
    let status = |body: Value| (WHOLE, "PATCH", format!("{plain}/status"), body);
    vec![
        status(json!({"metadata": {"labels": {"app": "other"}}})),
        status(annotated("a", "b")),
        status(json!({"metadata": {"finalizers": ["test.mooring/hold"]}})),
        status(json!({"status": {"podIP": "192.0.2.9", "podIPs": [{"ip": "192.0.2.9"}]}})),
        status(json!({"status": {"phase": "Failed"}})),
        status(json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})),
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

/// Nodes: anything except the labels of blocks and the taint of Mooring.
pub fn nodes() -> Vec<Attempt> {
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

/// Webhook configurations and policies: anything except the CA bundle.
pub fn webhooks() -> Vec<Attempt> {
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

/// Rights, Secrets, Leases, workloads, and the kinds that only users create and delete.
pub fn others() -> Vec<Attempt> {
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
