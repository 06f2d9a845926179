//! A pod is tied to an IP by its annotation, through admission, and by nothing else.

use serde_json::{Value, json};

use crate::objects::IP;
use crate::scene::Scene;

scenes![
    shared a_label_or_a_uid_without_the_annotation_is_refused,
    shared no_binding_brings_our_annotations,
    shared no_pod_of_an_excluded_namespace_asks_for_an_address,
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
        let said = scene.would_create(&with(scene, "marked", &marks)).await;
        // Whether there is such an IP is not told.
        said.rejected(&[
            &format!("pod {}/marked", scene.name),
            "which Mooring puts on a pod",
            "ask for an IP with the annotation",
        ]);
    }
}

async fn no_binding_brings_our_annotations(scene: &Scene) {
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
        crate::asking::ask_as(&client, "POST", &path, &binding).await
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
            let said = crate::asking::ask_as(&client, "POST", &path, &pod).await;
            said.rejected(&[
                "no pod of this namespace can have an address",
                "create it in another namespace",
            ]);
        }
    }
}
