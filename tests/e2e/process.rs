//! The health, readiness and metrics endpoints of the process.

mod open_metrics;

use std::time::Duration;

use mooring_cluster::{HttpAnswer, Mooring, MooringOptions, http_get};
use serde_json::json;

use self::open_metrics::families;
use crate::harness::certificates::{
    distrust_for_a_while, expect_broken_pair_refused, expect_own_event, expect_ready,
    frequent_checks,
};
use crate::harness::scene::{SOON, Scene};

scenes![
    alone without_an_api_server_it_is_healthy_and_not_ready,
    alone after_sigterm_it_is_not_ready_and_answers_until_it_has_drained,
    alone a_replica_with_an_untrusted_certificate_is_not_ready_and_reports_it,
    alone without_a_region_a_replica_answers_reviews_and_another_one_leads,
    alone metrics_exist_and_are_well_formed,
];

async fn ask(mooring: &Mooring, path: &str) -> Result<HttpAnswer, String> {
    http_get(&format!("{}{path}", mooring.http_url())).await
}

async fn without_an_api_server_it_is_healthy_and_not_ready(scene: &Scene) {
    // A kubeconfig with an address where nothing listens.
    let port = mooring_cluster::free_port();
    let nowhere = std::fs::read_to_string(scene.cluster().kubeconfig()).unwrap();
    let nowhere = nowhere.replace(scene.cluster().url(), &format!("https://127.0.0.1:{port}"));
    let file = scene.cluster().folder().join("nowhere.kubeconfig");
    std::fs::write(&file, nowhere).unwrap();
    let options = MooringOptions {
        wait: false,
        register_webhooks: false,
        environment: vec![("KUBECONFIG".to_owned(), file.display().to_string())],
        ..MooringOptions::default()
    };
    let mooring = scene.mooring_with(options).await;
    let unready = scene
        .eventually("it reports what it waits for", SOON, async || {
            let answer = ask(&mooring, "/readyz").await?;
            let waits = answer.code == 503 && !answer.body.contains("certificate");
            if waits && !answer.body.contains("webhook,") {
                Ok(answer.body)
            } else {
                Err(answer.body)
            }
        })
        .await;
    assert!(unready.contains("caches"), "{unready}");
    for _ in 0..3 {
        let health = ask(&mooring, "/healthz").await.unwrap();
        assert_eq!(health.code, 200, "{}", health.body);
    }
    assert!(
        mooring.process().ended().is_none(),
        "it waits, and does not end"
    );
    let status = mooring.terminate().await;
    assert!(
        status.success(),
        "SIGTERM while it waited: {status}\n{}",
        mooring.log()
    );
}

async fn a_replica_with_an_untrusted_certificate_is_not_ready_and_reports_it(scene: &Scene) {
    let mooring = scene.mooring_with(frequent_checks(scene)).await;
    expect_ready(scene, &mooring, 200).await;
    distrust_for_a_while(scene, &mooring).await;
    expect_broken_pair_refused(scene, &mooring).await;
}

async fn without_a_region_a_replica_answers_reviews_and_another_one_leads(scene: &Scene) {
    let mut options = frequent_checks(scene);
    let nowhere = ("AWS_REGION".to_owned(), String::new());
    options.environment.push(nowhere);
    let without = scene.mooring_with(options).await;
    expect_ready(scene, &without, 200).await;
    expect_own_event(scene, "RegionMissing").await;
    let pod = scene.pod_asking("no-region", "missing", &json!({}));
    scene.would_create(&pod).await.rejected(&["missing"]);
    assert!(
        scene.get("Lease", "mooring").await.is_none(),
        "it has taken the Lease"
    );
    scene.mooring().await;
    scene.attached_pod().await;
    let log = without.log();
    assert!(!log.contains("starting the controller"), "{log}");
}

async fn after_sigterm_it_is_not_ready_and_answers_until_it_has_drained(scene: &Scene) {
    let options = MooringOptions {
        drain: Duration::from_secs(8),
        ..MooringOptions::default()
    };
    let mooring = scene.mooring_with(options).await;
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    for path in ["/readyz", "/healthz"] {
        assert_eq!(ask(&mooring, path).await.unwrap().code, 200, "{path}");
    }
    mooring.process().signal("TERM");
    scene
        .eventually("it is no longer ready", SOON, async || {
            let answer = ask(&mooring, "/readyz").await?;
            if answer.code == 503 {
                Ok(())
            } else {
                Err(answer.body)
            }
        })
        .await;
    assert_eq!(ask(&mooring, "/healthz").await.unwrap().code, 200);
    // The webhook still answers, because clients can still send requests to it.
    let pod = scene.pod_asking("web", &ip.name, &json!({}));
    scene.would_create(&pod).await.accepted();
    // The Lease is released before the drain ends, so that the other replica does not have to wait.
    scene
        .eventually("the Lease is released", SOON, async || {
            let lease = scene.get("Lease", "mooring").await.ok_or("no Lease")?;
            let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
            if holder.is_empty() {
                Ok(())
            } else {
                Err(lease["spec"].to_string())
            }
        })
        .await;
    assert!(mooring.process().ended().is_none(), "it drains");
    // No second signal here: it would end the process at once.
    let status = scene
        .eventually("it has drained and ends", SOON, async || {
            mooring.process().ended()
        })
        .await;
    assert!(status.success(), "{status}\n{}", mooring.log());
    // Mooring is needed to release the IP and the block.
    scene.mooring().await;
}

async fn metrics_exist_and_are_well_formed(scene: &Scene) {
    let mooring = scene.mooring().await;
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene.pod("web", &ip).await;
    scene.expect_attached(&ip, "web").await;
    let refused = scene.pod_asking("other", "nobody", &json!({}));
    scene
        .would_create(&refused)
        .await
        .rejected(&["may not use it"]);
    scene
        .eventually("the block's addresses are counted", SOON, async || {
            let count = async |name: &str, state: &str| {
                let labels = [format!("block=\"{block}\""), format!("state=\"{state}\"")];
                mooring.metric(name, &[&labels[0], &labels[1]]).await
            };
            let mut seen = Vec::new();
            for state in ["reserved", "claimed", "attached", "deleting"] {
                seen.push(count("mooring_addresses", state).await);
            }
            // Primary addresses count as foreign. All states together are the capacity of the block.
            let others = count("mooring_addresses", "foreign").await;
            seen.push(others + count("mooring_addresses", "free").await);
            if others > 0.5 && seen == [0.0, 0.0, 1.0, 0.0, 250.0] {
                Ok(())
            } else {
                Err(format!("{seen:?}"))
            }
        })
        .await;
    let text = mooring.metrics().await;
    let families = families(&text);
    for (name, kind) in [
        ("mooring_addresses", "gauge"),
        ("mooring_inventory_timestamp_seconds", "gauge"),
        ("mooring_reconcile_errors", "counter"),
        ("mooring_events_dropped", "counter"),
        ("mooring_move_duration_seconds", "histogram"),
        ("mooring_attach_duration_seconds", "histogram"),
        ("mooring_ec2_requests", "counter"),
        ("mooring_ec2_request_duration_seconds", "histogram"),
        ("mooring_admission_duration_seconds", "histogram"),
        (
            "mooring_webhook_certificate_expiry_timestamp_seconds",
            "gauge",
        ),
        ("mooring_leader", "gauge"),
        ("mooring_build", "info"),
    ] {
        assert_eq!(
            families.get(name).map(String::as_str),
            Some(kind),
            "{name} in\n{text}"
        );
    }
    let count = async |name: &str, labels: &[&str]| mooring.metric(name, labels).await;
    assert!(count("mooring_leader", &[]).await > 0.5);
    assert!(count("mooring_build_info", &["version=\"0.1.0\""]).await > 0.5);
    assert!(count("mooring_attach_duration_seconds_count", &[]).await > 0.5);
    let assigned = ["action=\"AssignPrivateIpAddresses\"", "code=\"OK\""];
    assert!((count("mooring_ec2_requests_total", &assigned).await - 1.0).abs() < 0.1);
    for labels in [
        ["webhook=\"mutate-pod\"", "allowed=\"true\""],
        ["webhook=\"mutate-pod\"", "allowed=\"false\""],
        ["webhook=\"validate-pod\"", "allowed=\"true\""],
        ["webhook=\"validate-ip\"", "allowed=\"true\""],
        ["webhook=\"validate-ipblock\"", "allowed=\"true\""],
    ] {
        let asked = count("mooring_admission_duration_seconds_count", &labels).await;
        assert!(asked > 0.5, "{labels:?} in\n{text}");
    }
    let looked = count("mooring_inventory_timestamp_seconds", &[]).await;
    assert!(looked > 1_700_000_000.0, "{looked}");
    assert!(
        text.contains("mooring_reconcile_errors_total{reason=\"Denied\"}"),
        "{text}"
    );
    // The certificate has an expiry time in the present era, not 0.
    let expiry = count("mooring_webhook_certificate_expiry_timestamp_seconds", &[]).await;
    assert!(expiry > 1_700_000_000.0, "{expiry}");
    // The cardinality depends on the number of blocks, not of pods and IPs.
    assert!(
        !text.contains(&ip.name) && !text.contains(&ip.address),
        "{text}"
    );
}
