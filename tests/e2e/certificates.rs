//! The webhook certificate from the real cert-manager: issued, mounted, trusted, renewed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mooring_cluster::{CertManager, Mooring, MooringOptions, NAMESPACE, repository};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::harness::scene::Scene;
use crate::self_managed::ask_on;

scenes![alone a_cert_manager_certificate_is_served_trusted_and_renewed];

const SERVICE: &str = "mooring-webhook.mooring-system.svc";
/// cert-manager needs some time, and Mooring reads its files every 30 s.
const A_WHILE: Duration = Duration::from_secs(90);

/// The objects that `kubectl kustomize` builds from a folder of the repository.
pub async fn kustomized(scene: &Scene, folder: &str) -> Vec<Value> {
    let path = repository().join(folder);
    let words = ["kustomize".to_owned(), path.display().to_string()];
    let yaml = scene.cluster().kubectl(words).await.success();
    serde_yaml::Deserializer::from_str(&yaml)
        .map(|document| Value::deserialize(document).expect("kustomize writes YAML"))
        .collect()
}

/// Sets the CA of the replica certificates in a webhook configuration, without cert-manager.
pub fn trust_ca(scene: &Scene, configuration: &mut Value) {
    let bundle = scene.cluster().webhook_authority().certificate();
    let bundle = k8s_openapi::ByteString(bundle.into_bytes());
    for hook in configuration["webhooks"].as_array_mut().unwrap() {
        hook["clientConfig"]["caBundle"] = serde_json::to_value(&bundle).unwrap();
    }
    configuration["metadata"]["annotations"].take();
}

/// `config/webhook` with the CA of the replica certificates.
pub async fn kustomized_with_test_ca(scene: &Scene) -> Vec<Value> {
    let mut configurations = kustomized(scene, "config/webhook").await;
    for configuration in &mut configurations {
        trust_ca(scene, configuration);
    }
    configurations
}

/// Points the Service of Mooring to this machine, because no kube-proxy runs here.
pub async fn serve_from_here(scene: &Scene) {
    let service = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "mooring-webhook", "namespace": NAMESPACE},
        "spec": {"type": "ExternalName", "externalName": "127.0.0.1"}});
    scene.cluster().apply(&service.to_string()).await;
}

/// Applies webhook configurations with the port of this replica, so that the API server calls it.
pub async fn dial(scene: &Scene, mooring: &Mooring, configurations: Vec<Value>) {
    serve_from_here(scene).await;
    let (_, port) = mooring.webhook_url().rsplit_once(':').unwrap();
    let port: u16 = port.parse().unwrap();
    for mut object in configurations {
        for hook in object["webhooks"].as_array_mut().unwrap() {
            hook["clientConfig"]["service"]["port"] = port.into();
        }
        scene.cluster().apply(&object.to_string()).await;
    }
}

/// Registers the webhook configurations of the repository. cert-manager injects the CA.
async fn register(scene: &Scene, mooring: &Mooring) {
    let configurations = kustomized(scene, "config/webhook").await;
    for object in &configurations {
        let from = &object["metadata"]["annotations"]["cert-manager.io/inject-ca-from"];
        assert_eq!(from, "mooring-system/mooring-webhook", "{object}");
    }
    dial(scene, mooring, configurations).await;
}

async fn secret(scene: &Scene) -> Option<BTreeMap<String, Vec<u8>>> {
    let secrets: kube::Api<k8s_openapi::api::core::v1::Secret> =
        kube::Api::namespaced(scene.client.clone(), NAMESPACE);
    let secret = secrets
        .get_opt("mooring-webhook-tls")
        .await
        .expect("Secrets can be read")?;
    let data = secret.data?.into_iter();
    let data: BTreeMap<_, _> = data.map(|(key, value)| (key, value.0)).collect();
    let full = ["tls.crt", "tls.key", "ca.crt"];
    full.iter()
        .all(|key| data.get(*key).is_some_and(|value| !value.is_empty()))
        .then_some(data)
}

/// Writes the files of a mounted Secret, as a kubelet does it.
fn mount(mooring: &Mooring, secret: &BTreeMap<String, Vec<u8>>) {
    for (key, value) in secret {
        let path = mooring.certificates().join(key);
        let new = path.with_extension("new");
        std::fs::write(&new, value).unwrap();
        std::fs::rename(&new, &path).unwrap();
    }
}

/// The certificate that a client gets if it trusts this CA and asks for the name of the Service.
pub async fn served(
    mooring: &Mooring,
    authority: &[u8],
) -> Result<CertificateDer<'static>, String> {
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(authority).map_err(|error| error.to_string())?)
        .map_err(|error| error.to_string())?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let address = mooring.webhook_url().trim_start_matches("https://");
    let stream = TcpStream::connect(address)
        .await
        .map_err(|error| error.to_string())?;
    let name = ServerName::try_from(SERVICE).unwrap();
    let stream = tokio_rustls::TlsConnector::from(Arc::new(tls))
        .connect(name, stream)
        .await;
    let stream = stream.map_err(|error| error.to_string())?;
    let (_, session) = stream.get_ref();
    let chain = session.peer_certificates().ok_or("no certificate")?;
    Ok(chain[0].clone().into_owned())
}

async fn expect_served(scene: &Scene, mooring: &Mooring, secret: &BTreeMap<String, Vec<u8>>) {
    let expected = CertificateDer::from_pem_slice(&secret["tls.crt"]).unwrap();
    let sentence = "the certificate in the Secret is the one that is served";
    scene
        .eventually(sentence, A_WHILE, async || {
            let found = served(mooring, &secret["ca.crt"]).await?;
            if found == expected {
                Ok(())
            } else {
                Err("another one".to_owned())
            }
        })
        .await;
}

async fn expect_injected(scene: &Scene, authority: &[u8]) {
    let expected = serde_json::to_value(k8s_openapi::ByteString(authority.to_vec())).unwrap();
    for kind in [
        "mutatingwebhookconfiguration",
        "validatingwebhookconfiguration",
    ] {
        let sentence = format!("every caBundle of {kind} mooring is the Secret's ca.crt");
        scene
            .eventually(&sentence, A_WHILE, async || {
                let object = scene
                    .kubectl(&format!("get {kind} mooring -o json"))
                    .await
                    .success();
                let object: Value = serde_json::from_str(&object).unwrap();
                let hooks = object["webhooks"].as_array().cloned().unwrap_or_default();
                let injected = |hook: &Value| hook["clientConfig"]["caBundle"] == expected;
                if hooks.iter().all(injected) {
                    Ok(())
                } else {
                    Err(hooks.len().to_string())
                }
            })
            .await;
    }
}

/// The number of webhooks with match conditions in both configurations.
async fn conditions(scene: &Scene) -> usize {
    let kinds = "mutatingwebhookconfiguration/mooring validatingwebhookconfiguration/mooring";
    let objects = scene
        .kubectl(&format!("get {kinds} -o json"))
        .await
        .success();
    objects.matches("\"matchConditions\"").count()
}

/// Deletes the Secret, and waits until cert-manager has issued another certificate.
async fn renewed(
    scene: &Scene,
    manager: &CertManager,
    first: &BTreeMap<String, Vec<u8>>,
) -> BTreeMap<String, Vec<u8>> {
    scene
        .kubectl("-n mooring-system delete secret mooring-webhook-tls")
        .await
        .success();
    scene
        .eventually("cert-manager issues another", A_WHILE, async || {
            manager
                .repeat_after_two_keys(scene.cluster(), NAMESPACE, "mooring-webhook")
                .await;
            let secret = secret(scene).await;
            secret.filter(|secret| secret["tls.crt"] != first["tls.crt"])
        })
        .await
}

async fn a_cert_manager_certificate_is_served_trusted_and_renewed(scene: &Scene) {
    let manager = CertManager::start(scene.cluster()).await;
    for object in kustomized(scene, "webhook-certs").await {
        scene.cluster().apply(&object.to_string()).await;
    }
    for certificate in ["mooring-webhook-ca", "mooring-webhook"] {
        manager
            .issued(scene.cluster(), NAMESPACE, certificate)
            .await;
    }
    let first = secret(scene)
        .await
        .expect("the Certificate is issued, so its Secret is there");
    let options = MooringOptions {
        register_webhooks: false,
        ..MooringOptions::default()
    };
    let mooring = scene.mooring_with(options).await;
    mount(&mooring, &first);
    register(scene, &mooring).await;
    expect_injected(scene, &first["ca.crt"]).await;
    // The injector of cert-manager 1.11 (the last version that can be built here) does not know match conditions and
    // removes them when it writes the configurations. So it is stopped after its first injection. Current versions keep
    // them.
    let [_, injector] = manager.processes();
    injector.signal("STOP");
    register(scene, &mooring).await;
    expect_injected(scene, &first["ca.crt"]).await;
    assert_eq!(conditions(scene).await, 4);
    expect_served(scene, &mooring, &first).await;

    // A pod is admitted through the webhook, by the Service name in the certificate.
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    let pod = scene.pod_asking("web", &ip.name, &json!({}));
    let pod = scene.would_create(&pod).await.accepted();
    assert!(pod["metadata"]["annotations"]["ip.wgtwo.com/ip-uid"].is_string());

    // Renewal: a new certificate of the same CA is loaded without a restart, and no request fails meanwhile.
    let pid = mooring.process().pid();
    let (stop, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let renew = async {
        let second = renewed(scene, &manager, &first).await;
        mount(&mooring, &second);
        expect_served(scene, &mooring, &second).await;
        let until = asked.load(Ordering::Relaxed) + 10;
        scene
            .eventually("it is asked with the new one", A_WHILE, async || {
                (asked.load(Ordering::Relaxed) > until).then_some(())
            })
            .await;
        stop.store(true, Ordering::Relaxed);
        second
    };
    let (second, ()) = tokio::join!(renew, ask_on(scene, &ip.name, &stop, &asked));
    assert_eq!(first["ca.crt"], second["ca.crt"], "the authority stays");
    assert_eq!(
        (mooring.process().pid(), mooring.process().ended()),
        (pid, None)
    );
    let expiry = mooring
        .metric("mooring_webhook_certificate_expiry_timestamp_seconds", &[])
        .await;
    let renewed = ends(&second["tls.crt"]);
    assert!((expiry - renewed).abs() < 1.0, "{expiry}, {renewed}");
    for process in manager.processes() {
        assert!(process.ended().is_none(), "cert-manager has ended");
    }
}

/// The expiry time of a certificate, in seconds since 1970.
#[allow(clippy::cast_precision_loss)]
fn ends(pem: &[u8]) -> f64 {
    let certificate = CertificateDer::from_pem_slice(pem).unwrap();
    let (_, parsed) = x509_parser::parse_x509_certificate(&certificate).unwrap();
    parsed.validity().not_after.timestamp() as f64
}
