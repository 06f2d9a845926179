//! Two versions of Mooring and of its CRDs during an upgrade.

use serde_json::{Value, json};

use crate::harness::expectations::condition;
use crate::harness::objects::on;
use crate::harness::scene::{Ip, SOON, Scene};

scenes![
    shared a_status_of_an_older_version_is_read_and_completed,
    alone unknown_fields_of_a_newer_version_are_kept,
];

async fn attached(scene: &Scene) -> (Ip, String, [mooring_cluster::Node; 2]) {
    let block = scene.block().await;
    let (a, b) = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&a.name, &block).await;
    scene.expect_labelled(&b.name, &block).await;
    let ip = scene.ip("web", 10).await;
    let template = json!({"template": on(&a)});
    scene.deployment_with("web", &ip, &template).await;
    let pod = scene.only_pod("web").await;
    scene.expect_attached(&ip, &pod).await;
    (ip, pod, [a, b])
}

async fn write_status(scene: &Scene, ip: &Ip, change: &Value) {
    let what = format!("{}/status", ip.name);
    let change = json!({"status": change});
    scene.changes("IP", &what, &change).await.accepted();
}

/// Checks that the address moves to a new pod on the other node, with two calls.
async fn moves_on(scene: &Scene, ip: &Ip, old: &str, there: &mooring_cluster::Node) {
    scene.roll_out("web", &on(there)).await;
    let new = scene.new_pod("web", &[old]).await;
    scene.expect_attached(ip, &new).await;
    assert_eq!(scene.mutations().await.len(), 3, "an attach and a move");
}

async fn a_status_of_an_older_version_is_read_and_completed(scene: &Scene) {
    let (ip, pod, [_, b]) = attached(scene).await;
    let fewer = json!({"previous": null, "lastMoveTime": null,
        "observedGeneration": null, "refused": null, "conditions": null});
    write_status(scene, &ip, &fewer).await;
    scene
        .expect_condition("IP", &ip.name, "Ready", "True")
        .await;
    scene.expect_attached(&ip, &pod).await;
    assert_eq!(
        scene.mutations().await.len(),
        1,
        "the pod has it, and nothing is called for"
    );
    moves_on(scene, &ip, &pod, &b).await;
}

async fn unknown_fields_of_a_newer_version_are_kept(scene: &Scene) {
    scene.mooring().await;
    let (ip, pod, [_, b]) = attached(scene).await;
    // The CRD of the newer version was applied first, as in an upgrade. It has an additional field, and the newer
    // version has additional reasons.
    let text = scene.kubectl("get crd ips.ip.wgtwo.com -o json").await;
    let old: Value = serde_json::from_str(&text.success()).expect("a CRD is JSON");
    let mut new = old.clone();
    new["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
        ["futureField"] = json!({"type": "string"});
    replace(scene, &new).await;
    let time = "2026-01-01T00:00:00Z";
    let of_its_own = |kind: &str, reason: &str| {
        json!({"type": kind, "status": "True", "reason": reason, "message": "of a newer version",
            "lastTransitionTime": time})
    };
    scene
        .eventually("the newer schema is in force", SOON, async || {
            let conditions = json!([
                of_its_own("FutureCondition", "FutureReason"),
                of_its_own("Ready", "AnotherReason")
            ]);
            let status = json!({"futureField": "value", "conditions": conditions});
            write_status(scene, &ip, &status).await;
            let object = scene.get("IP", &ip.name).await.ok_or("no IP")?;
            let field = &object["status"]["futureField"];
            if *field == "value" {
                Ok(())
            } else {
                Err(field.to_string())
            }
        })
        .await;
    // A condition of ours with an unknown reason is written again; foreign conditions are kept.
    scene
        .expect_reason("IP", &ip.name, "Ready", "True", "Ready")
        .await;
    scene.expect_attached(&ip, &pod).await;
    moves_on(scene, &ip, &pod, &b).await;
    let object = scene.get("IP", &ip.name).await.expect("it is there");
    assert_eq!(object["status"]["futureField"], "value", "{object}");
    assert_eq!(
        condition(&object, "FutureCondition"),
        Some(("True", "FutureReason", "of a newer version"))
    );
    replace(scene, &old).await;
}

async fn replace(scene: &Scene, crd: &Value) {
    let mut crd = crd.clone();
    crd["metadata"]["resourceVersion"] = Value::Null;
    crd["status"] = Value::Null;
    let cluster = scene.cluster();
    cluster
        .kubectl_with(["replace", "-f", "-"], &crd.to_string())
        .await
        .success();
}
