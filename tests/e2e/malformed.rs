//! Objects that were stored without any check: no webhook, and a schema that accepts everything. Each gets its own
//! reason, and all other objects still work.

use std::sync::Arc;

use mooring_cluster::{Mooring, MooringOptions};
use serde_json::{Value, json};

use crate::harness::expectations::condition;
use crate::harness::objects::merged;
use crate::harness::requests::{block_named, ip_named};
use crate::harness::scene::{Ip, SOON, Scene};

scenes![alone a_malformed_object_blocks_no_other_object];

/// Replaces the CRDs by CRDs with a schema that accepts everything. Returns the former CRDs.
async fn take_anything(scene: &Scene) -> Vec<Value> {
    let mut before = Vec::new();
    for name in ["ips.ip.wgtwo.com", "ipblocks.ip.wgtwo.com"] {
        let text = scene.kubectl(&format!("get crd {name} -o json")).await;
        let crd: Value = serde_json::from_str(&text.success()).expect("a CRD is JSON");
        let mut open = crd.clone();
        open["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        // Selectable fields must be in the schema.
        open["spec"]["versions"][0]["selectableFields"] = Value::Null;
        replace(scene, &open).await;
        before.push(crd);
    }
    before
}

async fn replace(scene: &Scene, crd: &Value) {
    let mut crd = crd.clone();
    crd["metadata"]["resourceVersion"] = Value::Null;
    crd["status"] = Value::Null;
    let text = crd.to_string();
    let cluster = scene.cluster();
    cluster
        .kubectl_with(["replace", "-f", "-"], &text)
        .await
        .success();
}

async fn mooring(scene: &Scene) -> Arc<Mooring> {
    let options = MooringOptions {
        register_webhooks: false,
        arguments: [
            "--lease-duration=3s",
            "--lease-renew-deadline=2s",
            "--lease-retry-period=500ms",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..MooringOptions::default()
    };
    scene.mooring_with(options).await
}

/// Blocks that the webhook or the schema would refuse, each with its expected reason.
fn blocks(scene: &Scene) -> Vec<(Value, &'static str)> {
    let right = json!({"cidr": scene.subnet.cidr, "subnetID": scene.subnet.id});
    let with = |change: Value| merged(right.clone(), &change);
    let outside = with(json!({"cidr": "192.0.2.0/28"}));
    let specs = [
        ("no-cidr", with(json!({"cidr": "nonsense"})), "Invalid"),
        (
            "host-bits",
            with(json!({"cidr": scene.subnet.cidr.replace(".0/24", ".7/24")})),
            "Invalid",
        ),
        ("another-type", with(json!({"cidr": 7})), "Invalid"),
        ("never", with(json!({"failoverAfter": "soon"})), "Invalid"),
        ("no-subnet", with(json!({"subnetID": ""})), "Invalid"),
        (
            "excluded",
            with(json!({"excluded": ["no address"]})),
            "Invalid",
        ),
        ("empty", json!({}), "Invalid"),
        ("text", json!("a text"), "Invalid"),
        ("outside", outside, "SubnetMismatch"),
    ];
    let named = |(name, spec, reason)| (block_named(&scene.named(name), &spec), reason);
    specs.into_iter().map(named).collect()
}

/// The same for IPs. `good` is a correct IP.
fn ips(scene: &Scene, block: &str, good: &Ip) -> Vec<(Value, &'static str)> {
    let specs = [
        ("no-address", json!({"address": "10.0.0.300"}), "Invalid"),
        ("a-number", json!({"address": 10}), "Invalid"),
        ("nothing", json!({}), "Invalid"),
        ("a-text", json!("a text"), "Invalid"),
        (
            "perhaps",
            json!({"address": scene.address(30), "reassign": "perhaps"}),
            "Invalid",
        ),
        (
            "nowhere",
            json!({"block": scene.named("nowhere")}),
            "BlockMissing",
        ),
        (
            "of-nobody",
            json!({"address": "198.51.100.9"}),
            "BlockMissing",
        ),
        (
            "second",
            json!({"address": good.address, "block": block}),
            "AddressInUse",
        ),
        (
            "elsewhere",
            json!({"address": "198.51.100.9", "block": block}),
            "Invalid",
        ),
        (
            "aws",
            json!({"address": scene.address(1), "block": block}),
            "Invalid",
        ),
        (
            "bad-block",
            json!({"block": scene.named("no-cidr")}),
            "Invalid",
        ),
    ];
    let named = |(name, spec, reason)| (ip_named(&scene.named(name), &spec), reason);
    specs.into_iter().map(named).collect()
}

async fn store(scene: &Scene, objects: &[(Value, &str)]) {
    for (object, _) in objects {
        let name = object["metadata"]["name"].as_str().expect("it has a name");
        if object["kind"] == "IP" {
            scene.remember_ip(name);
        } else {
            scene.remember_block(name);
        }
        // The API server needs some time until it uses the open schema.
        let sentence = format!("{name} is stored");
        scene
            .eventually(&sentence, SOON, async || {
                let answer = scene.creates(object).await;
                if answer.is_accepted() {
                    Ok(())
                } else {
                    Err(format!("{answer:?}"))
                }
            })
            .await;
    }
}

/// Waits until each object has `Ready=False` with its expected reason and a message. A failure lists all that do not.
async fn expect_reasons(scene: &Scene, objects: &[(Value, &str)]) {
    scene
        .eventually("each has a reason why it is not ready", SOON, async || {
            let mut missing = Vec::new();
            for (object, expected) in objects {
                let (kind, name) = (&object["kind"], &object["metadata"]["name"]);
                let (kind, name) = (kind.as_str().unwrap(), name.as_str().unwrap());
                let found = scene.get(kind, name).await.ok_or("it is gone")?;
                match condition(&found, "Ready") {
                    Some(("False", reason, message))
                        if reason == *expected && message.len() > 10 => {}
                    other => missing.push(format!("{name} ({expected}): {other:?}")),
                }
            }
            if missing.is_empty() {
                Ok(())
            } else {
                Err(missing.join("\n"))
            }
        })
        .await;
}

/// Creates pods with the labels and annotations of an admitted pod, but without admission.
async fn store_pods(scene: &Scene, good: &Ip) {
    let pods = [
        (
            "another-ip",
            json!({"labels": {"ip.wgtwo.com/ip": good.name},
            "annotations": {"ip.wgtwo.com/ip": good.name, "ip.wgtwo.com/ip-uid": "not-this-one"}}),
        ),
        (
            "no-gate",
            json!({"labels": {"ip.wgtwo.com/ip": good.name},
            "annotations": {"ip.wgtwo.com/ip": good.name, "ip.wgtwo.com/ip-uid": "?"}}),
        ),
        (
            "nobodys",
            json!({"labels": {"ip.wgtwo.com/ip": "nobody"},
            "annotations": {"ip.wgtwo.com/ip": "", "ip.wgtwo.com/handover": "perhaps"}}),
        ),
        (
            "only-a-label",
            json!({"labels": {"ip.wgtwo.com/ip": good.name}}),
        ),
    ];
    for (name, metadata) in pods {
        let pod = scene.pod_asking(
            name,
            &good.name,
            &json!({"metadata": {"annotations": null}}),
        );
        scene
            .creates(&merged(pod, &json!({"metadata": metadata})))
            .await
            .accepted();
    }
}

async fn a_malformed_object_blocks_no_other_object(scene: &Scene) {
    let strict = take_anything(scene).await;
    let first = mooring(scene).await;
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let good = scene
        .ip_with(
            "good",
            &json!({"address": scene.address(10), "block": block}),
        )
        .await;
    let bad = [blocks(scene), ips(scene, &block, &good)].concat();
    store(scene, &bad).await;
    expect_reasons(scene, &bad).await;
    scene.unguard_marks().await;
    store_pods(scene, &good).await;
    scene.guard_marks().await;

    // A status without the place of the address does not mean that the address is nowhere. It is reported and counted.
    let broken = scene
        .ip_with(
            "broken",
            &json!({"address": scene.address(20), "block": block}),
        )
        .await;
    let garbage = json!({"status": {"address": "garbage", "claimed": true}});
    scene
        .changes("IP", &format!("{}/status", broken.name), &garbage)
        .await
        .accepted();
    scene
        .eventually("it is counted as unreadable", SOON, async || {
            first
                .metric("mooring_reconcile_errors_total", &["reason=\"Unreadable\""])
                .await
                > 0.5
        })
        .await;
    let broken_says = [(
        ip_named(
            &broken.name,
            &json!({"address": broken.address, "block": block}),
        ),
        "Invalid",
    )];
    expect_reasons(scene, &broken_says).await;
    scene.expect_event("Invalid", &broken.name).await;

    // All other objects still work, for this process and for one that starts with these objects.
    scene.cluster().register_webhooks(&[&first]).await;
    scene.pod("good", &good).await;
    scene.expect_attached(&good, "good").await;
    first.kill9();
    let second = mooring(scene).await;
    scene.cluster().register_webhooks(&[&second]).await;
    let after = scene
        .ip_with(
            "after",
            &json!({"address": scene.address(11), "block": block}),
        )
        .await;
    scene.pod("after", &after).await;
    scene.expect_attached(&after, "after").await;
    scene.expect_attached(&good, "good").await;
    expect_reasons(scene, &bad).await;
    expect_reasons(scene, &broken_says).await;
    scene
        .get("IPAddress", &broken.address)
        .await
        .expect("it stays reserved");
    assert_eq!(
        scene.mutations().await.len(),
        2,
        "two were asked for, in the right way"
    );

    // After a correction, the objects work.
    scene.cluster().unregister_webhooks().await;
    let right = json!({"spec": {"address": scene.address(12), "block": block}});
    scene.patch("IP", &scene.named("no-address"), &right).await;
    scene
        .expect_condition("IP", &scene.named("no-address"), "Ready", "True")
        .await;
    let right = json!({"status": {"address": broken.address, "claimed": false}});
    scene
        .changes("IP", &format!("{}/status", broken.name), &right)
        .await
        .accepted();
    scene
        .expect_condition("IP", &broken.name, "Ready", "True")
        .await;

    for (object, _) in &bad {
        let kind = object["kind"].as_str().expect("it has a kind");
        let name = object["metadata"]["name"].as_str().expect("it has a name");
        scene.delete(kind, name).await;
        scene.expect_no(kind, name).await;
    }
    for crd in &strict {
        replace(scene, crd).await;
    }
}
