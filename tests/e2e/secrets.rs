//! No key and no token is in a log, an Event, a condition or a metric, even when everything is logged.

use std::time::Duration;

use mooring_cluster::Fault;
use serde_json::{Value, json};

use crate::harness::scene::Scene;
use crate::self_managed::{kept, ready_in};

scenes![alone no_secret_is_disclosed];

const AWS_SECRET: &str = "wJalrXUtnFEMI-an-example-of-a-secret-key";

/// The tokens of the replicas of this cluster.
fn tokens(scene: &Scene) -> Vec<String> {
    let folder = std::fs::read_dir(scene.cluster().folder())
        .unwrap()
        .flatten();
    let configs = folder.filter_map(|entry| std::fs::read(entry.path().join("kubeconfig")).ok());
    configs
        .map(|config| {
            let config: Value = serde_json::from_slice(&config).unwrap();
            config["users"][0]["user"]["token"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect()
}

/// The texts that must not appear anywhere: each secret as a whole, and each line of it.
async fn secrets(scene: &Scene) -> Vec<String> {
    let mut secrets = tokens(scene);
    assert!(!secrets.is_empty());
    secrets.push(AWS_SECRET.to_owned());
    let kept = kept(scene).await;
    let pem = String::from_utf8(kept["tls.key"].clone()).unwrap();
    let lines = pem.lines().filter(|line| !line.starts_with("-----"));
    secrets.extend(lines.map(str::to_owned));
    let whole = k8s_openapi::ByteString(kept["tls.key"].clone());
    let whole = serde_json::to_value(whole).unwrap();
    secrets.push(whole.as_str().unwrap().to_owned());
    secrets.push("PRIVATE KEY".to_owned());
    secrets.retain(|secret| secret.len() > 8);
    secrets
}

async fn no_secret_is_disclosed(scene: &Scene) {
    let environment = [
        ("RUST_LOG", "debug"),
        ("AWS_SECRET_ACCESS_KEY", AWS_SECRET),
        ("POD_NAME", "mooring-0"),
    ];
    let mooring = ready_in(scene, &environment).await;
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    // Failures are logged with more details than successes.
    let fault = Fault::error("UnauthorizedOperation")
        .of("AssignPrivateIpAddresses")
        .address(&ip.address);
    scene.ec2().fault(fault).await;
    scene.pod("web", &ip).await;
    scene.expect_event("AccessDenied", &ip.name).await;
    // A call without permission is retried with backoff, at most 30 s later.
    scene
        .expect_attached_within(&ip, "web", Duration::from_mins(1))
        .await;
    let before = secrets(scene).await;
    let spoiled = json!({"data": {"tls.key": "bm9uc2Vuc2U="}});
    scene
        .kubectl(&format!(
            "-n mooring-system patch secret mooring-webhook-certificate --type=merge -p {}",
            spoiled.to_string().replace(' ', "")
        ))
        .await
        .success();
    scene
        .eventually(
            "the Secret is replaced",
            crate::harness::scene::SOON,
            async || mooring.log().contains("is replaced").then_some(()),
        )
        .await;
    scene.delete("Pod", "web").await;
    scene.expect_detached(&ip).await;

    let mut texts = vec![
        ("the log", mooring.log()),
        ("/metrics", mooring.metrics().await),
    ];
    for objects in ["events -A", "ips", "ipblocks", "pods -A", "leases -A"] {
        let get = format!("get {objects} -o yaml");
        texts.push((objects, scene.kubectl(&get).await.success()));
    }
    assert!(texts[0].1.contains("DEBUG"), "everything is logged");
    let secrets = before.into_iter().chain(secrets(scene).await);
    for secret in secrets {
        for (place, text) in &texts {
            let line = text.lines().find(|line| line.contains(&secret));
            assert!(
                line.is_none(),
                "{place} contains {secret}: {}",
                line.unwrap_or_default()
            );
        }
    }
}
