//! The brake: pods are gone, and their deletion was not seen.

use std::time::Duration;

use mooring_cluster::MooringOptions;
use serde_json::json;

use crate::harness::scene::{Ip, SOON, Scene};

scenes![
    alone pods_that_vanish_unseen_keep_their_addresses_until_a_person_confirms,
    shared a_drained_node_passes_its_addresses_on_and_engages_no_brake,
];

/// With or without the brake, a release because of a missing pod waits for one minute, and for one more inventory.
const PENDING: Duration = Duration::from_secs(65);

async fn pods_that_vanish_unseen_keep_their_addresses_until_a_person_confirms(scene: &Scene) {
    let options = || MooringOptions {
        arguments: [
            "--lease-duration=3s",
            "--lease-renew-deadline=2s",
            "--lease-retry-period=500ms",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..MooringOptions::default()
    };
    let before = scene.mooring_with(options()).await;
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let mut ips: Vec<(Ip, String)> = Vec::new();
    for number in 0..4 {
        let name = format!("pod-{number}");
        let ip = scene.ip(&name, 10 + number).await;
        scene.pod(&name, &ip).await;
        ips.push((ip, name));
    }
    for (ip, pod) in &ips {
        scene.expect_attached(ip, pod).await;
    }
    before.kill9();
    // The state after a restore of etcd that lost the pods: IPs with holders, but no pods.
    for (_, pod) in &ips {
        let force = format!("delete pod {pod} --force --grace-period=0");
        scene.kubectl(&force).await.success();
        scene.expect_pod_gone(pod).await;
    }
    let after = scene.mooring_with(options()).await;
    scene
        .expect_reason("IPBlock", &block, "BrakeEngaged", "True", "BrakeEngaged")
        .await;
    let reported = scene.expect_event("BrakeEngaged", &block).await;
    assert!(
        reported.contains("release-brake"),
        "the remedy is named: {reported}"
    );
    let label = format!("block=\"{block}\"");
    scene
        .eventually("it is counted", SOON, async || {
            after.metric("mooring_brake_engaged", &[&label]).await > 0.5
        })
        .await;
    scene
        .remains("no address is released", PENDING, async || {
            let calls = scene.mutations().await.len();
            if calls == ips.len() {
                Ok(())
            } else {
                Err(calls)
            }
        })
        .await;
    for (ip, _) in &ips {
        let object = scene.get("IP", &ip.name).await.expect("it is there");
        assert_eq!(object["status"]["assigned"], true, "{object}");
    }
    let word = json!({"metadata": {"annotations": {"ip.wgtwo.com/release-brake": "yes"}}});
    scene.patch("IPBlock", &block, &word).await;
    for (ip, _) in &ips {
        scene.expect_detached(ip).await;
    }
    scene
        .eventually(
            "the annotation is removed after its use",
            SOON,
            async || {
                let object = scene.get("IPBlock", &block).await?;
                let word = &object["metadata"]["annotations"]["ip.wgtwo.com/release-brake"];
                word.is_null().then_some(())
            },
        )
        .await;
}

async fn a_drained_node_passes_its_addresses_on_and_engages_no_brake(scene: &Scene) {
    let block = scene.block().await;
    let first = scene.node("a").await;
    scene.expect_labelled(&first.name, &block).await;
    let mut ips: Vec<(Ip, String, String)> = Vec::new();
    for number in 0..6 {
        let name = format!("app-{number}");
        let ip = scene.ip(&name, 10 + number).await;
        scene.deployment(&name, &ip).await;
        let pod = scene.only_pod(&name).await;
        ips.push((ip, name, pod));
    }
    for (ip, _, pod) in &ips {
        scene.expect_attached(ip, pod).await;
    }
    let second = scene.node("b").await;
    scene.expect_labelled(&second.name, &block).await;
    let drain = format!("drain {} --ignore-daemonsets --timeout=60s", first.name);
    scene.kubectl(&drain).await.success();
    for (ip, name, pod) in &ips {
        let new = scene.new_pod(name, &[pod]).await;
        let status = scene.expect_attached(ip, &new).await;
        assert_eq!(status["status"]["networkInterfaceID"], second.interfaces[0]);
    }
    let braked = scene.audit().into_iter().any(|event| {
        event.resource == "ipblocks" && event.condition("BrakeEngaged") == Some("True")
    });
    assert!(!braked, "the brake was engaged");
}
