//! A certificate that the API server does not trust, or that does not match its key: the replica reports it by
//! `/readyz` and by Events of its pod.

use mooring_cluster::{Mooring, MooringOptions, http_get};
use serde_json::{Value, json};

use super::scene::{SOON, Scene};

const CONFIGURATION: &str = "validatingwebhookconfiguration mooring";
const BUNDLE: &str = "/webhooks/0/clientConfig/caBundle";

/// Waits until `/readyz` answers this code. Returns the body.
pub async fn expect_ready(scene: &Scene, mooring: &Mooring, code: u16) -> String {
    let sentence = format!("/readyz answers {code}");
    scene
        .eventually(&sentence, SOON, async || {
            let answer = http_get(&format!("{}/readyz", mooring.http_url())).await?;
            if answer.code == code {
                Ok(answer.body)
            } else {
                Err(answer.body)
            }
        })
        .await
}

/// Writes the CA bundle of the first of our webhooks.
async fn set_ca_bundle(scene: &Scene, bundle: &Value) {
    let operations = json!([{"op": "replace", "path": BUNDLE, "value": bundle}]).to_string();
    let words = CONFIGURATION.split(' ');
    let words = ["patch"].into_iter().chain(words);
    let words = words.chain(["--type=json", "-p", &operations]);
    let words: Vec<_> = words.map(str::to_owned).collect();
    scene.cluster().kubectl(words).await.success();
}

/// Makes the API server trust another CA until the replica has reported that, then restores the right CA.
pub async fn distrust_for_a_while(scene: &Scene, mooring: &Mooring) {
    let get = format!("get {CONFIGURATION} -o json");
    let read: Value = serde_json::from_str(&scene.kubectl(&get).await.success()).unwrap();
    let before = read.pointer(BUNDLE).unwrap();
    // A CA that did not issue the certificate of the replica.
    let other = rcgen::generate_simple_self_signed(["other".to_owned()]).unwrap();
    let other = k8s_openapi::ByteString(other.cert.pem().into_bytes());
    set_ca_bundle(scene, &serde_json::to_value(other).unwrap()).await;
    let body = expect_ready(scene, mooring, 503).await;
    assert!(body.contains("caBundle"), "{body}");
    expect_own_event(scene, "CertificateNotTrusted").await;
    set_ca_bundle(scene, before).await;
    expect_ready(scene, mooring, 200).await;
}

/// Waits for an Event about the pod of the replica. `kubectl describe pods` finds such Events by the UID of the pod.
pub async fn expect_own_event(scene: &Scene, reason: &str) {
    scene
        .eventually("its pod has the Event", SOON, async || {
            let events = scene
                .kubectl("-n mooring-system get events -o json")
                .await
                .success();
            let events: Value = serde_json::from_str(&events).unwrap();
            let about = |event: &&Value| {
                let object = &event["involvedObject"];
                event["reason"] == reason
                    && object["name"] == "mooring-0"
                    && object["uid"] == own_uid(scene)
            };
            if events["items"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|event| about(&event))
            {
                Ok(())
            } else {
                Err(events.to_string())
            }
        })
        .await;
}

/// If certificate and key in the directory do not match, the replica reports that, and still serves the old pair.
pub async fn expect_broken_pair_refused(scene: &Scene, mooring: &Mooring) {
    let key = mooring.certificates().join("tls.key");
    let before = std::fs::read(&key).unwrap();
    let other = rcgen::KeyPair::generate().unwrap();
    std::fs::write(&key, other.serialize_pem()).unwrap();
    expect_own_event(scene, "CertificateRefused").await;
    expect_ready(scene, mooring, 200).await;
    let pod = scene.pod_asking("refused-pair", "missing", &json!({}));
    scene.would_create(&pod).await.rejected(&["missing"]);
    std::fs::write(&key, before).unwrap();
}

/// Options of a replica that often checks whether its certificate is trusted, and that knows its pod for Events.
pub fn frequent_checks(scene: &Scene) -> MooringOptions {
    let pod = [
        ("POD_NAME", "mooring-0".to_owned()),
        ("POD_UID", own_uid(scene)),
    ];
    MooringOptions {
        arguments: vec!["--cert-interval=200ms".to_owned()],
        environment: pod.map(|(name, value)| (name.to_owned(), value)).into(),
        ..MooringOptions::default()
    }
}

/// The UID of the pod of the replica. Events of an earlier scene on the same cluster have another one.
fn own_uid(scene: &Scene) -> String {
    let number = scene.name.rsplit('-').next().unwrap_or_default();
    format!("7d9a4a3c-6a53-4c38-8b1d-{number:0>12}")
}
