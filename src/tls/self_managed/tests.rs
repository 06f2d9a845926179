//! Replicas with one Secret and one pair of webhook configurations, in any state.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::Method;
use k8s_openapi::ByteString;
use rcgen::{CertificateParams, GeneralSubtree, Issuer, KeyPair, NameConstraints};
use rustls::pki_types::ServerName;
use serde_json::{Value, json};

use super::key_material::KeyMaterial;
use super::observation::{LocalState, Observation};
use super::{Keeper, Lifetimes, Options, webhook_config};
use crate::fake_api::api_server;
use crate::tls::Notice;
use crate::tls::cert_resolver::CertResolver;

const NAME: &str = "mooring-webhook.mooring-system.svc";
const DAY: Duration = Duration::from_hours(24);

/// The objects, under their paths. Versions are checked as the API server checks them.
#[derive(Clone, Default)]
struct Objects(Arc<Mutex<BTreeMap<String, Value>>>);

const SECRET: &str = "/api/v1/namespaces/mooring-system/secrets/certificate";

fn status(code: u16) -> (u16, Value) {
    let reason = match code {
        404 => "NotFound",
        409 => "Conflict",
        _ => "Invalid",
    };
    (
        code,
        json!({"status": "Failure", "code": code, "reason": reason}),
    )
}

impl Objects {
    /// Both configurations, without a CA.
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
            ("POST", Some(_)) => return status(409),
            ("PUT", Some(found)) => {
                if body["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"] {
                    return status(409);
                }
                // One without a type is `Opaque` (API reference, Secret), and a type cannot be changed.
                if body["type"].as_str().unwrap_or("Opaque") != found["type"] {
                    return status(422);
                }
                self.put(path, body);
            }
            ("PATCH", Some(mut found)) => {
                let operations: json_patch::Patch = serde_json::from_value(body).unwrap();
                if json_patch::patch(&mut found, &operations).is_err() {
                    return status(422);
                }
                self.put(path, found);
            }
            _ => return status(404),
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
                leaf: 7 * DAY,
                authority: 365 * DAY,
                settling: Duration::ZERO,
                overlap: DAY,
            },
        };
        let keeper = Keeper {
            client,
            options,
            provider: Arc::new(rustls::crypto::aws_lc_rs::default_provider()),
            resolver,
            notice: (|_| ()) as fn(Notice),
        };
        Replica {
            keeper,
            state: LocalState::default(),
        }
    }
}

struct Replica {
    keeper: Keeper<fn(Notice)>,
    state: LocalState,
}

impl Replica {
    /// It looks, and does what is due.
    async fn looks(&mut self) {
        self.keeper.round(&mut self.state).await.unwrap();
    }

    /// What it serves would be taken by the API server, as things are.
    async fn expect_trusted(&self, when: &str) {
        let configurations = webhook_config::read(&self.keeper.client).await.unwrap();
        let now = jiff::Timestamp::now().as_millisecond();
        let observation = Observation::new(configurations, Arc::clone(&self.keeper.provider), now);
        let served = self.keeper.resolver.current().unwrap();
        assert!(observation.is_trusted(&served), "{when}");
    }
}

fn name() -> ServerName<'static> {
    ServerName::try_from(NAME).unwrap()
}

/// What another Mooring has made.
fn another() -> BTreeMap<String, ByteString> {
    let now = jiff::Timestamp::now().as_millisecond();
    let life = (365 * DAY, 7 * DAY);
    KeyMaterial::new(&[name()], Vec::new(), life, now)
        .unwrap()
        .data()
}

/// A CA that may not sign for Services, and a leaf by it that no client accepts.
fn constrained() -> BTreeMap<String, ByteString> {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.name_constraints = Some(NameConstraints {
        permitted_subtrees: Vec::new(),
        excluded_subtrees: vec![GeneralSubtree::DnsName("svc".to_owned())],
    });
    let authority = params.self_signed(&key).unwrap();
    let issuer = Issuer::from_params(&params, &key);
    let leaf_key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new([NAME.to_owned()]).unwrap();
    let leaf = leaf.signed_by(&leaf_key, &issuer).unwrap();
    [
        ("ca.crt", authority.pem()),
        ("ca.key", key.serialize_pem()),
        ("tls.crt", leaf.pem()),
        ("tls.key", leaf_key.serialize_pem()),
    ]
    .map(|(name, text)| (name.to_owned(), ByteString(text.into_bytes())))
    .into()
}

#[tokio::test]
async fn a_secret_of_whatever_type_is_made_anew() {
    let objects = Objects::new();
    for kind in ["Opaque", "kubernetes.io/tls"] {
        objects.put_secret(kind, &BTreeMap::new());
        let mut replica = objects.replica();
        replica.looks().await;
        replica.expect_trusted(kind).await;
    }
}

#[tokio::test]
async fn a_ca_that_signs_nothing_that_is_taken_is_replaced_by_one_of_our_own() {
    let objects = Objects::new();
    objects.put_secret("kubernetes.io/tls", &constrained());
    let mut replica = objects.replica();
    replica.looks().await;
    replica
        .expect_trusted("the CA may not sign for Services")
        .await;
}

#[tokio::test]
async fn a_late_replica_is_trusted_whatever_was_put_into_the_secret() {
    let objects = Objects::new();
    let (mut early, mut late) = (objects.replica(), objects.replica());
    early.looks().await;
    late.looks().await;
    let spoiled = BTreeMap::from([("tls.crt".to_owned(), ByteString(b"nonsense".to_vec()))]);
    for (what, data) in [
        ("another that can be used", another()),
        ("one that cannot", spoiled),
        ("a CA that may not sign", constrained()),
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
