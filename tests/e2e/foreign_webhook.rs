//! Another mutating webhook removes fields that a pod needs to get its address, or adds the annotation too late.

use std::sync::Arc;

use axum::body::Bytes;
use axum::routing::post;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use k8s_openapi::ByteString;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::harness::expectations::GATE;
use crate::harness::objects::IP;
use crate::harness::scene::Scene;

scenes![
    shared mutations_that_another_webhook_removes_are_restored,
    shared a_pod_without_a_required_mutation_is_refused,
    shared an_annotation_that_another_webhook_adds_too_late_is_refused,
];

/// The patch that removes the field that the annotation `test.mooring/takes` of the pod names.
fn taken(pod: &Value) -> Value {
    let remove = |path: &str| json!([{"op": "remove", "path": path}]);
    let takes = pod["metadata"]["annotations"]["test.mooring/takes"].as_str();
    let (path, there) = match takes.unwrap_or_default() {
        "label" => ("/metadata/labels", !pod["metadata"]["labels"][IP].is_null()),
        "uid" => (
            "/metadata/annotations/ip.wgtwo.com~1ip-uid",
            !pod["metadata"]["annotations"]["ip.wgtwo.com/ip-uid"].is_null(),
        ),
        "gate" => (
            "/spec/readinessGates",
            !pod["spec"]["readinessGates"].is_null(),
        ),
        "affinity" => ("/spec/affinity", !pod["spec"]["affinity"].is_null()),
        _ => return json!([]),
    };
    if there { remove(path) } else { json!([]) }
}

/// The patch that adds our annotation with the value of the annotation `test.mooring/asks` of the pod.
fn asked(pod: &Value) -> Option<Value> {
    let annotations = &pod["metadata"]["annotations"];
    let ip = annotations["test.mooring/asks"].as_str()?;
    let path = "/metadata/annotations/ip.wgtwo.com~1ip";
    annotations[IP]
        .is_null()
        .then(|| json!([{"op": "add", "path": path, "value": ip}]))
}

async fn review(body: Bytes) -> ([(&'static str, &'static str); 1], String) {
    let review: Value = serde_json::from_slice(&body).expect("the API server sends JSON");
    let pod = &review["request"]["object"];
    let patch = asked(pod).unwrap_or_else(|| taken(pod));
    let patch = patch.to_string().into_bytes();
    let answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {"uid": review["request"]["uid"], "allowed": true,
            "patchType": "JSONPatch", "patch": ByteString(patch)}});
    ([("content-type", "application/json")], answer.to_string())
}

/// Serves the webhook until the runtime ends. Returns its port.
async fn serve(scene: &Scene) -> u16 {
    let leaf = scene.cluster().webhook_authority().leaf(&["127.0.0.1"]);
    let certificate = CertificateDer::from_pem_slice(leaf.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(leaf.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = axum::Router::new().route("/", post(review));
    let service = TowerToHyperService::new(router);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, service) = (acceptor.clone(), service.clone());
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    let http = hyper::server::conn::http1::Builder::new();
                    // The API server can close the connection at any time.
                    let _ = http.serve_connection(TokioIo::new(stream), service).await;
                }
            });
        }
    });
    port
}

/// Registers the webhook for the pods of the scene. Webhooks are called in alphabetical order, so its name sorts it
/// after ours.
async fn register(scene: &Scene, port: u16, reinvocation: &str) -> String {
    let authority = scene.cluster().webhook_authority().certificate();
    let name = format!("zz-{}", scene.name);
    let hook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [{
            "name": "takes.test.mooring",
            "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "reinvocationPolicy": reinvocation,
            "clientConfig": {"url": format!("https://127.0.0.1:{port}/"),
                "caBundle": ByteString(authority.into_bytes())},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": scene.name}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": ["pods"]}],
        }],
    });
    scene.cluster().apply(&hook.to_string()).await;
    name
}

fn takes(what: &str) -> Value {
    json!({"metadata": {"annotations": {"test.mooring/takes": what}}})
}

/// Waits until the API server calls the webhook, which is some time after its registration: until then a policy
/// refuses a pod with only the label.
async fn in_force(scene: &Scene) {
    let probe = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "probe", "namespace": scene.name, "labels": {IP: "x"},
            "annotations": {"test.mooring/takes": "label"}},
        "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]}});
    scene
        .eventually(
            "the other webhook is asked",
            crate::harness::scene::SOON,
            async || {
                let answer = scene.would_create(&probe).await;
                if !answer.is_accepted() {
                    return Err(answer.message().to_owned());
                }
                let pod = answer.accepted();
                let removed = pod["metadata"]["labels"].is_null();
                removed.then_some(()).ok_or_else(|| pod.to_string())
            },
        )
        .await;
}

async fn mutations_that_another_webhook_removes_are_restored(scene: &Scene) {
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    let port = serve(scene).await;
    // The other webhook is called once. Ours is called again after it, so its result counts.
    let name = register(scene, port, "Never").await;
    in_force(scene).await;
    for what in ["label", "uid", "gate", "affinity"] {
        let pod = scene
            .would_create(&scene.pod_asking("web", &ip.name, &takes(what)))
            .await;
        let pod = pod.accepted();
        assert_eq!(pod["metadata"]["labels"][IP], ip.name.as_str(), "{what}");
        assert!(
            pod["metadata"]["annotations"]["ip.wgtwo.com/ip-uid"].is_string(),
            "{what}"
        );
        assert_eq!(
            pod["spec"]["readinessGates"],
            json!([{"conditionType": GATE}]),
            "{what}"
        );
        assert!(
            pod["spec"]["affinity"]["nodeAffinity"].is_object(),
            "{what}"
        );
    }
    let gone = format!("delete mutatingwebhookconfiguration {name}");
    scene.kubectl(&gone).await.success();
}

async fn a_pod_without_a_required_mutation_is_refused(scene: &Scene) {
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    let port = serve(scene).await;
    // The other webhook is called again after ours, so its result counts.
    let name = register(scene, port, "IfNeeded").await;
    in_force(scene).await;
    for (what, missing) in [
        ("label", "label ip.wgtwo.com/ip"),
        ("uid", "annotation ip.wgtwo.com/ip-uid"),
        ("gate", "readiness gate ip.wgtwo.com/attached"),
        ("affinity", "node affinity"),
    ] {
        let answer = scene
            .would_create(&scene.pod_asking("web", &ip.name, &takes(what)))
            .await;
        let message = answer.rejected(&["has lost what it needs", &ip.name, missing]);
        assert!(
            message.contains("kubectl get mutatingwebhookconfigurations"),
            "{message}"
        );
    }
    let gone = format!("delete mutatingwebhookconfiguration {name}");
    scene.kubectl(&gone).await.success();
}

async fn an_annotation_that_another_webhook_adds_too_late_is_refused(scene: &Scene) {
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    let port = serve(scene).await;
    // Ours is called first, for pods with the annotation. The API server calls no webhook for the first time later.
    let name = register(scene, port, "IfNeeded").await;
    in_force(scene).await;
    let asks = json!({"metadata": {"annotations": {IP: null, "test.mooring/asks": ip.name}}});
    let answer = scene
        .would_create(&scene.pod_asking("web", "", &asks))
        .await;
    let message = answer.rejected(&[
        "was added after Mooring's mutating webhook was asked",
        "put the annotation into the pod template",
        "a name that sorts before",
    ]);
    assert!(!message.contains("lost"), "{message}");
    let gone = format!("delete mutatingwebhookconfiguration {name}");
    scene.kubectl(&gone).await.success();
}
