//! Pods that cannot get the address that they ask for are refused with a remedy. Labels and annotations of Mooring on
//! existing pods are protected.

use serde_json::{Value, json};

use crate::harness::objects::IP;
use crate::harness::requests::ip_named;
use crate::harness::scene::{SOON, Scene};

scenes![
    shared a_missing_ip_and_a_forbidden_one_have_the_same_message,
    shared an_ip_that_is_being_deleted_is_refused,
    shared a_pod_that_cannot_run_on_nodes_of_the_block_is_refused,
    shared daemon_set_and_mirror_pods_are_refused,
    shared an_unknown_handover_is_refused,
    shared a_similar_annotation_is_refused_and_its_owner_sees_why,
    shared marks_of_a_running_pod_are_protected,
    shared an_annotation_cannot_be_added_to_a_running_pod,
];

async fn a_missing_ip_and_a_forbidden_one_have_the_same_message(scene: &Scene) {
    scene.block().await;
    let (subnet, prefix) = scene.another_subnet().await;
    let closed = json!({"allowedNamespaces": ["elsewhere"]});
    let closed = scene.block_in("closed", &subnet, &closed).await;
    let ask = async |annotation: &str| {
        let pod = scene.pod_asking("web", annotation, &json!({}));
        let answer = scene.would_create(&pod).await;
        answer.rejected(&[annotation, "does not exist, or", "may not use it"])
    };
    // The refusal does not repeat a text that cannot be a name.
    let long = "x".repeat(100);
    let answer = scene
        .would_create(&scene.pod_asking("web", &long, &json!({})))
        .await;
    let message = answer.rejected(&["has 100 characters", "kubectl get ips"]);
    assert!(!message.contains(&long), "{message}");
    // Either the IP or its block does not allow the namespace. Each is asked for by name and by address.
    let theirs = json!({"address": scene.address(10), "allowedNamespaces": ["elsewhere"]});
    let in_closed = json!({"address": format!("{prefix}10")});
    let allocated = json!({"block": closed});
    for (name, spec) in [("a", theirs), ("b", in_closed), ("c", allocated)] {
        let name = scene.named(name);
        let mut before = vec![ask(&name).await];
        if let Some(address) = spec["address"].as_str() {
            before.push(ask(address).await);
        }
        scene.remember_ip(&name);
        scene.creates(&ip_named(&name, &spec)).await.accepted();
        scene
            .expect_condition("IP", &name, "Reserved", "True")
            .await;
        let mut after = vec![ask(&name).await];
        if let Some(address) = spec["address"].as_str() {
            after.push(ask(address).await);
        }
        assert_eq!(before, after);
    }
    // After the IP allows this namespace, the pod is accepted.
    let name = scene.named("a");
    let open = json!({"spec": {"allowedNamespaces": ["elsewhere", scene.name]}});
    scene.changes("IP", &name, &open).await.accepted();
    let pod = scene.pod_asking("web", &name, &json!({}));
    scene
        .eventually("the webhook has seen it", SOON, async || {
            let answer = scene.would_create(&pod).await;
            if answer.is_accepted() {
                Ok(())
            } else {
                Err(answer.message().to_owned())
            }
        })
        .await;
}

async fn an_ip_that_is_being_deleted_is_refused(scene: &Scene) {
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    let hold = json!({"metadata": {"finalizers": ["ip.wgtwo.com/detach", "test.mooring/hold"]}});
    scene.patch("IP", &ip.name, &hold).await;
    scene.deletes("IP", &ip.name).await.accepted();
    let pod = scene.pod_asking("web", &ip.name, &json!({}));
    scene.expect_refused(&pod, "is being deleted").await;
    let message = scene.would_create(&pod).await.rejected(&[&ip.name]);
    assert!(message.contains("name another IP"), "{message}");
    let alone = "the test's own finalizer alone is left";
    scene
        .eventually(alone, SOON, async || {
            let object = scene.get("IP", &ip.name).await.ok_or("it is gone")?;
            let left = &object["metadata"]["finalizers"];
            if *left == json!(["test.mooring/hold"]) {
                Ok(())
            } else {
                Err(left.to_string())
            }
        })
        .await;
    scene
        .patch("IP", &ip.name, &json!({"metadata": {"finalizers": null}}))
        .await;
    scene.expect_no("IP", &ip.name).await;
}

async fn a_pod_that_cannot_run_on_nodes_of_the_block_is_refused(scene: &Scene) {
    let block = scene.block().await;
    let node = scene.node("a").await;
    let outside = scene
        .node_of(mooring_cluster::NodeSpec::new("outside"))
        .await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    let ask = async |spec: Value| {
        let pod = scene.pod_asking("web", &ip.name, &json!({"spec": spec}));
        scene.would_create(&pod).await
    };
    let label = format!("ip.wgtwo.com.node-restriction.kubernetes.io/{block}");
    let answer = ask(json!({"nodeName": outside.name})).await;
    answer.rejected(&[&outside.name, &label, &block, "leave spec.nodeName out"]);
    let answer = ask(json!({"nodeName": scene.named("nowhere")})).await;
    answer.rejected(&["which does not exist", "leave spec.nodeName out"]);
    ask(json!({"nodeName": node.name}))
        .await
        .accepted_silently();
    let answer = ask(json!({"nodeSelector": {&label: "no"}})).await;
    answer.rejected(&[&label, &block, &ip.name, "nodeSelector"]);
    let required = |terms: Value| {
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": terms}}}})
    };
    let without = json!({"matchExpressions": [{"key": label, "operator": "DoesNotExist"}]});
    let linux = json!({"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]});
    let answer = ask(required(json!([without]))).await;
    answer.rejected(&[&label, &block, "node affinity"]);
    // One term that fits is enough.
    ask(required(json!([without, linux])))
        .await
        .accepted_silently();
}

async fn daemon_set_and_mirror_pods_are_refused(scene: &Scene) {
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    let mirror = json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}},
        "spec": {"nodeName": node.name}});
    let answer = scene
        .would_create(&scene.pod_asking("web", &ip.name, &mirror))
        .await;
    answer.rejected(&["mirrors a static pod", "use a Deployment"]);
    let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "every", "namespace": scene.name},
        "spec": {"selector": {"matchLabels": {"app": "every"}}, "template": crate::harness::scene::Scene::template("every", &ip)}});
    scene.creates(&set).await.accepted();
    let reported = scene.expect_event("FailedCreate", "every").await;
    assert!(
        reported.contains("belongs to a DaemonSet") && reported.contains("use a Deployment"),
        "{reported}"
    );
    assert!(scene.pods_of("every").await.is_empty());
}

async fn an_unknown_handover_is_refused(scene: &Scene) {
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    for (value, known) in [
        ("running", true),
        ("containers-ready", true),
        ("soon", false),
        ("", false),
    ] {
        let change = json!({"metadata": {"annotations": {"ip.wgtwo.com/handover": value}}});
        let answer = scene
            .would_create(&scene.pod_asking("web", &ip.name, &change))
            .await;
        if known {
            answer.accepted_silently();
        } else {
            answer.rejected(&["ip.wgtwo.com/handover", "containers-ready", "running"]);
        }
    }
}

async fn a_similar_annotation_is_refused_and_its_owner_sees_why(scene: &Scene) {
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    for (key, meant) in [
        ("ip.wgtwo.com/IP", "ip"),
        ("IP.wgtwo.com/ip", "ip"),
        ("ip.wgtwo.com/hand-over", "handover"),
    ] {
        let mut pod = scene.pod_asking("web", &ip.name, &json!({}));
        pod["metadata"]["annotations"] = json!({key: ip.name});
        let expected = format!("annotation {key} is not known: did you mean ip.wgtwo.com/{meant}?");
        scene.would_create(&pod).await.rejected(&[&expected]);
    }
    // A Deployment with such a template is accepted, but gets no pods. `kubectl describe rs` shows the reason.
    let resembling = json!({IP: null, "ip.wgtwo.com/IP": ip.name});
    let template = json!({"template": {"metadata": {"annotations": resembling}}});
    scene.deployment_with("web", &ip, &template).await;
    scene
        .eventually("the ReplicaSet's Events say why", SOON, async || {
            let shown = scene.kubectl("describe rs").await.success();
            let reason = "annotation ip.wgtwo.com/IP is not known: did you mean ip.wgtwo.com/ip?";
            if shown.contains(reason) {
                Ok(())
            } else {
                Err(shown)
            }
        })
        .await;
    scene.delete("Deployment", "web").await;
}

fn marked(key: &str, value: impl Into<Value>) -> Value {
    json!({"metadata": {"annotations": {key: value.into()}}})
}

async fn marks_of_a_running_pod_are_protected(scene: &Scene) {
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let (ip, other) = (scene.ip("web", 10).await, scene.ip("other", 11).await);
    scene.pod("web", &ip).await;
    scene.expect_attached(&ip, "web").await;
    let uid = "ip.wgtwo.com/ip-uid";
    let template = "put the annotation into the pod's template";
    let as_it_is = "leave it as it is";
    let label = |value: Value| json!({"metadata": {"labels": {IP: value}}});
    let only = "remove only annotation ip.wgtwo.com/ip";
    let all = json!({"metadata": {"annotations": {IP: null, uid: null}, "labels": {IP: null}}});
    let with_label = json!({"metadata": {"annotations": {IP: null}, "labels": {IP: null}}});
    let with_uid = json!({"metadata": {"annotations": {IP: null, uid: null}}});
    let denied: [(Value, &[&str]); 9] = [
        (all, &["was removed", only]),
        (with_label, &["label ip.wgtwo.com/ip", only]),
        (with_uid, &[uid, only]),
        (
            marked(IP, other.name.as_str()),
            &["was changed from", &ip.name, &other.name, template],
        ),
        (
            marked(IP, ip.address.as_str()),
            &["was changed from", template],
        ),
        (
            marked(uid, "00000000-0000-0000-0000-000000000000"),
            &[uid, as_it_is],
        ),
        (marked(uid, Value::Null), &[uid, "was removed"]),
        (label(Value::Null), &["label ip.wgtwo.com/ip", as_it_is]),
        (
            label(other.name.as_str().into()),
            &["label ip.wgtwo.com/ip", as_it_is],
        ),
    ];
    // Annotations and labels can be changed through a subresource too.
    for what in ["web", "web/status"] {
        for (change, parts) in &denied {
            scene
                .would_change("Pod", what, change)
                .await
                .rejected(parts);
        }
        let handover = marked("ip.wgtwo.com/handover", "running");
        scene
            .would_change("Pod", what, &handover)
            .await
            .accepted_silently();
        let unknown = marked("ip.wgtwo.com/handover", "soon");
        scene
            .would_change("Pod", what, &unknown)
            .await
            .rejected(&["\"soon\"", "use \"containers-ready\" or \"running\""]);
        let other = json!({"metadata": {"labels": {"tier": "edge"}, "annotations": {"a": "b"}}});
        scene
            .would_change("Pod", what, &other)
            .await
            .accepted_silently();
        scene
            .would_change("Pod", what, &marked(IP, Value::Null))
            .await
            .accepted_silently();
    }
    // The annotation is removed without a dry run. Only the controller removes the label and the UID, as its last step.
    let removed = scene
        .changes("Pod", "web", &marked(IP, Value::Null))
        .await
        .accepted();
    assert_eq!(removed["metadata"]["labels"][IP], ip.name.as_str());
    assert!(removed["metadata"]["annotations"][uid].is_string());
    scene.expect_detached(&ip).await;
}

async fn an_annotation_cannot_be_added_to_a_running_pod(scene: &Scene) {
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    let mut plain = scene.pod_asking("plain", &ip.name, &json!({}));
    plain["metadata"]["annotations"] = json!({});
    scene.creates(&plain).await.accepted_silently();
    let parts = [
        "was added to pod",
        "which runs already",
        &format!("{}/plain", scene.name),
        "put the annotation into the pod's template",
    ];
    for what in ["plain", "plain/status"] {
        scene
            .would_change("Pod", what, &marked(IP, ip.name.as_str()))
            .await
            .rejected(&parts);
        let uid = marked("ip.wgtwo.com/ip-uid", "x");
        scene
            .would_change("Pod", what, &uid)
            .await
            .rejected(&["ip.wgtwo.com/ip-uid"]);
        let ours = json!({"metadata": {"labels": {IP: ip.name}}});
        scene
            .would_change("Pod", what, &ours)
            .await
            .rejected(&["label ip.wgtwo.com/ip", "leave it as it is"]);
        let label = json!({"metadata": {"labels": {"tier": "edge"}}});
        scene
            .would_change("Pod", what, &label)
            .await
            .accepted_silently();
    }
}
