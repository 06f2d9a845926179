//! Tests with several replicas that share one Secret and the webhook configurations, in any state.

mod late_api_servers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::Method;
use k8s_openapi::ByteString;
use rcgen::{CertificateParams, Issuer, KeyPair};
use rustls::pki_types::ServerName;
use serde_json::{Value, json};

use super::key_material::{KeyMaterial, make};
use super::observation::{LocalState, Observation};
use super::{Lifetimes, Options, Renewer, webhook_config};
use crate::fake_api::{api_server, failure};
use crate::tls::CertificateNotice;
use crate::tls::cert_resolver::CertResolver;

const NAME: &str = "mooring-webhook.mooring-system.svc";
const DAY: Duration = Duration::from_hours(24);

/// The objects by path. Versions are checked as in the API server.
#[derive(Clone, Default)]
struct Objects(Arc<Mutex<BTreeMap<String, Value>>>);

const SECRET: &str = "/api/v1/namespaces/mooring-system/secrets/certificate";

impl Objects {
    /// Both configurations, without a bundle.
    fn new() -> Self {
        let objects = Self::default();
        let service = json!({"name": "mooring-webhook", "namespace": "mooring-system"});
        let hook = json!({"name": "pods.ip.wgtwo.com", "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "clientConfig": {"service": service}});
        for kind in ["mutating", "validating"] {
            let path = format!(
                "/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/mooring"
            );
            objects.put(
                &path,
                json!({"metadata": {"name": "mooring"}, "webhooks": [hook]}),
            );
        }
        objects
    }

    fn put(&self, path: &str, mut object: Value) {
        let mut objects = self.0.lock().unwrap();
        let before = objects
            .get(path)
            .map(|it| it["metadata"]["resourceVersion"].clone());
        let before: u64 = before
            .and_then(|it| it.as_str()?.parse().ok())
            .unwrap_or_default();
        object["metadata"]["resourceVersion"] = (before + 1).to_string().into();
        objects.insert(path.to_owned(), object);
    }

    fn answer(&self, method: &Method, path: &str, body: Value) -> (u16, Value) {
        let path = if method == Method::POST { SECRET } else { path };
        let found = self.0.lock().unwrap().get(path).cloned();
        match (method.as_str(), found) {
            ("GET", Some(found)) => return (200, found),
            ("POST", None) => self.put(path, body),
            ("POST", Some(_)) => return failure(409),
            ("PUT", Some(found)) => {
                if body["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"] {
                    return failure(409);
                }
                // A Secret without a type is `Opaque` (API reference, Secret), and the type cannot be changed.
                if body["type"].as_str().unwrap_or("Opaque") != found["type"] {
                    return failure(422);
                }
                self.put(path, body);
            }
            ("PATCH", Some(mut found)) => {
                let operations: json_patch::Patch = serde_json::from_value(body).unwrap();
                if json_patch::patch(&mut found, &operations).is_err() {
                    return failure(422);
                }
                self.put(path, found);
            }
            _ => return failure(404),
        }
        (200, self.0.lock().unwrap()[path].clone())
    }

    /// Replaces the Secret.
    fn put_secret(&self, kind: &str, data: &BTreeMap<String, ByteString>) {
        let metadata = json!({"name": "certificate"});
        self.put(
            SECRET,
            json!({"metadata": metadata, "type": kind, "data": data}),
        );
    }

    fn replica(&self) -> Replica {
        let objects = self.clone();
        let client = api_server(move |method, path, body| objects.answer(method, path, body));
        let resolver = Arc::new(CertResolver::default());
        let options = Options {
            namespace: "mooring-system".to_owned(),
            secret: "certificate".to_owned(),
            interval: Duration::from_secs(30),
            lifetimes: Lifetimes {
                certificate: 7 * DAY,
                settling: Duration::ZERO,
                overlap: DAY,
            },
        };
        let renewer = Renewer {
            client,
            options,
            provider: Arc::new(rustls::crypto::aws_lc_rs::default_provider()),
            resolver,
            notice: (|_| ()) as fn(CertificateNotice),
        };
        Replica {
            renewer,
            state: LocalState::default(),
        }
    }
}

struct Replica {
    renewer: Renewer<fn(CertificateNotice)>,
    state: LocalState,
}

impl Replica {
    /// Runs one round of the replica.
    async fn looks(&mut self) {
        let now = jiff::Timestamp::now().as_millisecond();
        self.renewer.round(&mut self.state, now).await.unwrap();
    }

    /// Checks that the API server would accept the served certificate now.
    async fn expect_trusted(&self, when: &str) {
        let configurations = webhook_config::read(&self.renewer.client).await.unwrap();
        let now = jiff::Timestamp::now().as_millisecond();
        let provider = Arc::clone(&self.renewer.provider);
        let observation = Observation::new(configurations, provider, Duration::ZERO, now);
        let served = self.renewer.resolver.current().unwrap();
        assert!(observation.is_trusted(&served), "{when}");
    }
}

fn name() -> ServerName<'static> {
    ServerName::try_from(NAME).unwrap()
}

/// The data of a Secret that another replica made.
fn another(now: i64, life: Duration) -> BTreeMap<String, ByteString> {
    let pair = make(&[name()], life, now).unwrap();
    KeyMaterial { pair, next: None }.data()
}

/// A certificate that a CA signed. A client that trusts only this certificate does not accept it.
fn signed_by_another() -> BTreeMap<String, ByteString> {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "a CA");
    let issuer = Issuer::from_params(&params, &key);
    let leaf_key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new([NAME.to_owned()]).unwrap();
    let leaf = leaf.signed_by(&leaf_key, &issuer).unwrap();
    [
        ("tls.crt", leaf.pem()),
        ("tls.key", leaf_key.serialize_pem()),
    ]
    .map(|(name, text)| (name.to_owned(), ByteString(text.into_bytes())))
    .into()
}

/// A usable pair with an unusable next pair.
fn spoiled_next(now: i64, life: Duration) -> BTreeMap<String, ByteString> {
    let next = ("next.crt".to_owned(), ByteString(b"nonsense".to_vec()));
    another(now, life).into_iter().chain([next]).collect()
}

#[tokio::test]
async fn a_secret_of_any_type_is_replaced() {
    let objects = Objects::new();
    for kind in ["Opaque", "kubernetes.io/tls"] {
        objects.put_secret(kind, &BTreeMap::new());
        let mut replica = objects.replica();
        replica.looks().await;
        replica.expect_trusted(kind).await;
    }
}

#[tokio::test]
async fn an_untrusted_certificate_is_replaced_by_our_own() {
    let objects = Objects::new();
    objects.put_secret("kubernetes.io/tls", &signed_by_another());
    let mut replica = objects.replica();
    replica.looks().await;
    replica.expect_trusted("it is signed by a CA").await;
}

#[tokio::test]
async fn a_late_replica_is_trusted_after_any_change_of_the_secret() {
    let objects = Objects::new();
    let (mut early, mut late) = (objects.replica(), objects.replica());
    early.looks().await;
    late.looks().await;
    let now = jiff::Timestamp::now().as_millisecond();
    let spoiled = BTreeMap::from([("tls.crt".to_owned(), ByteString(b"nonsense".to_vec()))]);
    for (what, data) in [
        ("another that can be used", another(now, 7 * DAY)),
        ("one that cannot", spoiled),
        ("one that is not taken", signed_by_another()),
        (
            "one with a next that cannot be used",
            spoiled_next(now, 7 * DAY),
        ),
    ] {
        objects.put_secret("kubernetes.io/tls", &data);
        early.looks().await;
        for replica in [&early, &late] {
            replica.expect_trusted(what).await;
        }
        late.looks().await;
        early.looks().await;
        for replica in [&early, &late] {
            replica.expect_trusted(what).await;
        }
    }
}
