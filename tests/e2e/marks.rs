//! Only the annotation, through admission, ties a pod to an IP.

use serde_json::{Value, json};

use crate::harness::objects::IP;
use crate::harness::scene::Scene;

scenes![
    shared a_label_or_a_uid_without_the_annotation_is_refused,
    shared a_binding_cannot_add_our_annotations,
    shared no_pod_of_an_excluded_namespace_asks_for_an_address,
    shared a_kubelet_cannot_add_the_label_of_a_block,
    shared the_audit_log_names_the_pod_of_each_address,
    shared the_rights_of_users_come_with_the_default_roles,
    alone without_the_webhook_configurations_a_pod_that_asks_is_refused,
];

fn with(scene: &Scene, name: &str, metadata: &Value) -> Value {
    let mut pod = scene.pod_asking(name, "", &json!({"spec": {"schedulerName": "nobody"}}));
    pod["metadata"]["annotations"] = json!({});
    for (field, value) in metadata.as_object().into_iter().flatten() {
        pod["metadata"][field] = value.clone();
    }
    pod
}

async fn a_label_or_a_uid_without_the_annotation_is_refused(scene: &Scene) {
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    let uid = &scene.get("IP", &ip.name).await.expect("it is there")["metadata"]["uid"];
    for marks in [
        json!({"labels": {IP: ip.name}}),
        json!({"labels": {IP: "nobody"}}),
        json!({"annotations": {"ip.wgtwo.com/ip-uid": uid}}),
    ] {
        let answer = scene.would_create(&with(scene, "marked", &marks)).await;
        // The refusal does not show whether such an IP exists.
        answer.rejected(&[
            &format!("pod {}/marked", scene.name),
            "which Mooring puts on a pod",
            "ask for an IP with the annotation",
        ]);
    }
}

async fn without_the_webhook_configurations_a_pod_that_asks_is_refused(scene: &Scene) {
    scene.mooring().await;
    let ip = scene.attached_pod().await;
    scene.cluster().unregister_webhooks().await;
    let asking = scene.pod_asking("other", &ip.name, &json!({}));
    scene.would_create(&asking).await.rejected(&[
        &format!("annotation ip.wgtwo.com/ip of pod {}/other", scene.name),
        "MutatingWebhookConfiguration \"mooring\" is missing",
        "apply the manifests of Mooring again, then create the pod again",
    ]);
    let plain = with(scene, "plain", &json!({}));
    scene.would_create(&plain).await.accepted();
    scene.expect_attached(&ip, "web").await;
    assert_eq!(scene.mutations().await.len(), 1, "the address stays");
}

async fn a_binding_cannot_add_our_annotations(scene: &Scene) {
    scene.block().await;
    let node = scene.node("a").await;
    let ip = scene.ip("web", 10).await;
    scene
        .creates(&with(scene, "plain", &json!({})))
        .await
        .accepted();
    let bind = async |metadata: Value| {
        let mut binding = json!({"apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": "plain", "namespace": scene.name}, "target": {"kind": "Node", "name": node.name}});
        for (field, value) in metadata.as_object().into_iter().flatten() {
            binding["metadata"][field] = value.clone();
        }
        let path = format!("/api/v1/namespaces/{}/pods/plain/binding", scene.name);
        let client = scene.cluster().client().await;
        crate::harness::requests::send_as(&client, "POST", &path, &binding).await
    };
    for metadata in [
        json!({"annotations": {IP: ip.name}}),
        json!({"annotations": {"ip.wgtwo.com/ip-uid": "x"}}),
        json!({"labels": {IP: ip.name}}),
    ] {
        bind(metadata)
            .await
            .rejected(&["the Binding of pod", "on the pod template instead"]);
    }
    bind(json!({"annotations": {"a": "b"}})).await.accepted();
}

async fn no_pod_of_an_excluded_namespace_asks_for_an_address(scene: &Scene) {
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    for namespace in ["kube-system", "mooring-system"] {
        for marks in [
            json!({"annotations": {IP: ip.name}}),
            json!({"labels": {IP: ip.name}}),
        ] {
            let mut pod = with(scene, "marked", &marks);
            pod["metadata"]["namespace"] = json!(namespace);
            let path = format!("/api/v1/namespaces/{namespace}/pods?dryRun=All");
            let client = scene.cluster().client().await;
            let answer = crate::harness::requests::send_as(&client, "POST", &path, &pod).await;
            answer.rejected(&[
                "no pod of this namespace can have an address",
                "create it in another namespace",
            ]);
        }
    }
}

async fn a_kubelet_cannot_add_the_label_of_a_block(scene: &Scene) {
    let node = scene.node("a").await;
    let label = async |key: &str| {
        let kubelet = format!("--as=system:node:{} --as-group=system:nodes", node.name);
        let words = format!("label node {} {key}= {kubelet}", node.name);
        scene.kubectl(&words).await
    };
    let output = label("ip.wgtwo.com.node-restriction.kubernetes.io/partners").await;
    assert!(
        !output.ok && output.stderr.contains("is not allowed to modify labels"),
        "{}{}",
        output.stdout,
        output.stderr
    );
    label("example.com/tier").await.success();
}

async fn the_audit_log_names_the_pod_of_each_address(scene: &Scene) {
    let ip = scene.attached_pod().await;
    let sentence = "the creation of the pod has the grant";
    scene
        .eventually(sentence, crate::harness::scene::SOON, async || {
            let audit = scene.audit();
            let granted = audit
                .iter()
                .filter(|event| event.resource == "pods" && event.name == "web")
                .find_map(|event| event.annotations.get("create-pod.ip.wgtwo.com/granted"));
            let wanted = [ip.name.as_str(), ip.address.as_str(), "to pod", "/web"];
            match granted {
                Some(granted) if wanted.iter().all(|word| granted.contains(word)) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
}

async fn the_rights_of_users_come_with_the_default_roles(scene: &Scene) {
    for role in ["view", "edit", "admin"] {
        let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": format!("mooring-test-{role}")},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": format!("test-{role}")}]});
        scene.cluster().apply(&binding.to_string()).await;
    }
    let can = async |role: &str, what: &str| scene.can(&format!("test-{role}"), what).await;
    scene
        .eventually(
            "the roles are aggregated",
            crate::harness::scene::SOON,
            async || {
                let aggregated = can("edit", "create ips.ip.wgtwo.com").await
                    && can("admin", "create ips.ip.wgtwo.com").await
                    && can("view", "get ipblocks.ip.wgtwo.com").await;
                aggregated.then_some(()).ok_or("not yet")
            },
        )
        .await;
    for (role, what, may) in [
        ("view", "list ips.ip.wgtwo.com", true),
        ("view", "create ips.ip.wgtwo.com", false),
        ("edit", "delete ips.ip.wgtwo.com", true),
        ("edit", "get ipblocks.ip.wgtwo.com", true),
        ("edit", "create ipblocks.ip.wgtwo.com", false),
        ("edit", "patch ips.ip.wgtwo.com --subresource=status", false),
        ("admin", "create ips.ip.wgtwo.com", true),
        (
            "admin",
            "patch ips.ip.wgtwo.com --subresource=status",
            false,
        ),
    ] {
        assert_eq!(can(role, what).await, may, "{role}: {what}");
    }
    for role in ["view", "edit", "admin"] {
        let binding = format!("delete clusterrolebinding mooring-test-{role}");
        scene.kubectl(&binding).await.success();
    }
}
