//! The self-managed certificate (`--tls=self-managed`, `config/self-managed`): created once although several replicas
//! start together, trusted by the API server, and renewed without a failed request.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use mooring_cluster::{Mooring, MooringOptions, NAMESPACE};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use crate::certificates::{dial, kustomized, served};
use crate::harness::requests::ip_named;
use crate::harness::scene::Scene;
use crate::rolling;

scenes![
    alone replicas_that_start_together_agree_on_one_certificate,
    apart no_admission_fails_while_the_certificate_is_renewed,
    alone an_unusable_or_deleted_secret_is_replaced_and_no_review_is_refused,
];

const SECRET: &str = "mooring-webhook-certificate";
const A_WHILE: Duration = Duration::from_mins(1);
/// The number of renewals to wait for; `make verify` sets a higher one.
const RENEWALS: usize = 3;

/// Mooring as `config/self-managed` starts it, with short intervals.
fn options() -> MooringOptions {
    lasting(&[])
}

/// The same as [`options`], with additional flags for lifetimes.
fn lasting(lifetimes: &[&str]) -> MooringOptions {
    let arguments = [&["--tls=self-managed", "--cert-interval=200ms"], lifetimes].concat();
    MooringOptions {
        register_webhooks: false,
        wait: false,
        arguments: arguments.into_iter().map(str::to_owned).collect(),
        ..MooringOptions::default()
    }
}

/// Grants the rights of `config/self-managed`, before a replica starts.
async fn allow(scene: &Scene) {
    for object in kustomized(scene, "config/self-managed").await {
        if object["metadata"]["name"] == "mooring-certificate" {
            scene.cluster().apply(&object.to_string()).await;
        }
    }
}

/// Registers the webhook configurations of `config/self-managed`, with the address of this replica.
async fn register(scene: &Scene, mooring: &Mooring) {
    let mut objects = kustomized(scene, "config/self-managed").await;
    objects.retain(|object| object.get("webhooks").is_some());
    dial(scene, mooring, objects).await;
}

/// Starts a replica, and waits until it is ready and the API server trusts it.
async fn ready(scene: &Scene) -> Arc<Mooring> {
    ready_in(scene, &[]).await
}

/// The same as [`ready`], with additional environment variables.
pub async fn ready_in(scene: &Scene, environment: &[(&str, &str)]) -> Arc<Mooring> {
    allow(scene).await;
    let mut options = options();
    for (name, value) in environment {
        let pair = ((*name).to_owned(), (*value).to_owned());
        options.environment.push(pair);
    }
    let mooring = scene.mooring_with(options).await;
    register(scene, &mooring).await;
    mooring.wait_until_ready(A_WHILE).await;
    trusted(scene).await;
    mooring
}

/// Waits until the API server trusts the certificate: it gets the configurations through a watch, some time later.
async fn trusted(scene: &Scene) {
    let trial = ip_named("trial", &json!({ "address": "203.0.113.99" }));
    scene
        .eventually(
            "the API server trusts the certificate",
            A_WHILE,
            async || {
                let answer = scene.would_create(&trial).await;
                match answer.message() {
                    failed if failed.contains("failed calling webhook") => Err(failed.to_owned()),
                    _ => Ok(()),
                }
            },
        )
        .await;
}

fn secrets(scene: &Scene) -> Api<Secret> {
    Api::namespaced(scene.client.clone(), NAMESPACE)
}

/// Waits for the Secret, and returns its data.
pub async fn kept(scene: &Scene) -> BTreeMap<String, Vec<u8>> {
    let read = async || {
        let secret = secrets(scene)
            .get_opt(SECRET)
            .await
            .expect("Secrets can be read")?;
        let data = secret.data?.into_iter();
        Some(data.map(|(key, value)| (key, value.0)).collect())
    };
    scene.eventually("there is a Secret", A_WHILE, read).await
}

/// Waits until the replica serves the certificate of the Secret, and a client that trusts only this certificate accepts
/// it.
async fn expect_served(scene: &Scene, mooring: &Mooring) {
    scene
        .eventually("what is kept is served", A_WHILE, async || {
            let kept = kept(scene).await;
            let found = served(mooring, &kept["tls.crt"]).await?;
            let text = pem_body(&kept["tls.crt"]);
            let served = serde_json::to_value(k8s_openapi::ByteString(found.to_vec())).unwrap();
            if served == text {
                Ok(())
            } else {
                Err("another certificate".to_owned())
            }
        })
        .await;
}

fn pem_body(pem: &[u8]) -> String {
    let text = String::from_utf8_lossy(pem).into_owned();
    let lines = text.lines().filter(|line| !line.starts_with("-----"));
    lines.collect()
}

/// Checks that the webhook is called: a pod that asks for the address gets its additions.
async fn expect_asked(scene: &Scene, ip: &str) {
    let pod = scene.pod_asking("web", ip, &json!({}));
    let pod = scene.would_create(&pod).await.accepted();
    assert!(
        pod["metadata"]["annotations"]["ip.wgtwo.com/ip-uid"].is_string(),
        "{pod:#}"
    );
}

async fn replicas_that_start_together_agree_on_one_certificate(scene: &Scene) {
    allow(scene).await;
    let (one, other) = tokio::join!(scene.mooring_with(options()), scene.mooring_with(options()));
    register(scene, &one).await;
    for replica in [&one, &other] {
        replica.wait_until_ready(A_WHILE).await;
        expect_served(scene, replica).await;
    }
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    expect_asked(scene, &ip.name).await;
}

/// Sends requests without a pause until `stop` is set, and counts them in `asked`.
pub async fn ask_on(scene: &Scene, ip: &str, stop: &AtomicBool, asked: &AtomicUsize) {
    while !stop.load(Ordering::Relaxed) {
        expect_asked(scene, ip).await;
        asked.fetch_add(1, Ordering::Relaxed);
    }
}

/// Two replicas behind their Service: one renews the certificate, and the other reads it at its next check.
async fn no_admission_fails_while_the_certificate_is_renewed(scene: &Scene) {
    allow(scene).await;
    let at = |number| MooringOptions {
        webhook: Some(SocketAddr::from((rolling::address(number), 8443))),
        ..lasting(&["--cert-lifetime=18s"])
    };
    let replicas = [
        scene.mooring_with(at(1)).await,
        scene.mooring_with(at(2)).await,
    ];
    rolling::publish(scene, &[1, 2]).await;
    rolling::register(scene, "config/self-managed", |_| ()).await;
    for replica in &replicas {
        replica.wait_until_ready(A_WHILE).await;
    }
    trusted(scene).await;
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    let (stop, created) = (AtomicBool::new(false), AtomicUsize::new(0));
    let begin = Instant::now();
    let watch = async {
        let renewals = mooring_cluster::count("MOORING_RENEWALS", RENEWALS);
        let (mut certificates, wanted) = (BTreeSet::new(), renewals + 1);
        let limit = A_WHILE * u32::try_from(wanted).expect("a small number");
        scene
            .eventually("the certificate is renewed", limit, async || {
                certificates.insert(kept(scene).await["tls.crt"].clone());
                if certificates.len() >= wanted {
                    Ok(())
                } else {
                    Err(format!("{} certificates", certificates.len()))
                }
            })
            .await;
        for replica in &replicas {
            expect_served(scene, replica).await;
        }
        stop.store(true, Ordering::Relaxed);
        certificates.len() - 1
    };
    let (renewals, ()) = tokio::join!(watch, rolling::create_on(scene, &ip.name, &stop, &created));
    let created = created.load(Ordering::Relaxed);
    assert!(created > 10 * renewals, "{created} pods only");
    println!(
        "verified: {created} admissions, {} over {renewals} renewals of the certificate of two replicas, none failed",
        rolling::rate(created, begin)
    );
}

async fn an_unusable_or_deleted_secret_is_replaced_and_no_review_is_refused(scene: &Scene) {
    let mooring = ready(scene).await;
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    let (stop, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let spoil = async {
        let mut after = kept(scene).await;
        let nonsense = k8s_openapi::ByteString(b"nonsense".to_vec());
        let another = rcgen::KeyPair::generate().unwrap().serialize_pem();
        let another = k8s_openapi::ByteString(another.into_bytes());
        for (entry, bytes) in [
            ("tls.crt", &nonsense),
            ("tls.key", &nonsense),
            ("tls.key", &another),
            ("next.crt", &nonsense),
        ] {
            spoiled(scene, &json!({"data": {entry: bytes}})).await;
            after = expect_another(scene, &after).await;
            expect_served(scene, &mooring).await;
        }
        let params = kube::api::DeleteParams::default();
        secrets(scene)
            .delete(SECRET, &params)
            .await
            .expect("a Secret can be deleted");
        expect_another(scene, &after).await;
        expect_served(scene, &mooring).await;
        stop.store(true, Ordering::Relaxed);
    };
    tokio::join!(spoil, ask_on(scene, &ip.name, &stop, &asked));
    let reported = "Secret mooring-webhook-certificate cannot be used and is replaced";
    assert!(mooring.log().contains(reported), "{}", mooring.log());
}

async fn spoiled(scene: &Scene, patch: &Value) {
    let params = kube::api::PatchParams::default();
    let patch = kube::api::Patch::Merge(patch);
    let patched = secrets(scene).patch(SECRET, &params, &patch).await;
    patched.expect("a Secret can be patched");
}

/// Waits until the Secret has another certificate, and returns its data.
async fn expect_another(
    scene: &Scene,
    before: &BTreeMap<String, Vec<u8>>,
) -> BTreeMap<String, Vec<u8>> {
    scene
        .eventually("there is another certificate", A_WHILE, async || {
            let kept = kept(scene).await;
            let made = CertificateDer::from_pem_slice(&kept["tls.crt"]).is_ok();
            (made && kept["tls.crt"] != before["tls.crt"]).then_some(kept)
        })
        .await
}
