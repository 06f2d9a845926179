//! Tests over HTTP: a stale cache never denies, and every path answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use mooring_plan::admission::usage::{Subject, Use};
use serde_json::{Value, json};

use super::{asking, block, office, partner_a, snapshot_of};
use crate::admission::{
    ClusterReader, Dependencies, PATHS, PluginSettings, Right, Rights, Snapshot, Unreadable,
    Webhook, router,
};
use crate::metrics::Metrics;

/// A cache, and the real objects. None: the API server does not answer.
#[derive(Clone)]
pub struct Scripted {
    pub cached: Snapshot,
    pub fresh: Option<Snapshot>,
    pub reads: Arc<AtomicUsize>,
}

impl Scripted {
    pub fn new(cached: Snapshot, fresh: Option<Snapshot>) -> Self {
        Self {
            cached,
            fresh,
            reads: Arc::default(),
        }
    }
}

impl Rights for Scripted {
    async fn right(&self, _: &Subject, _: &Use) -> Result<Right, Unreadable> {
        panic!("no right is checked without --authorize-use")
    }
}

impl ClusterReader for Scripted {
    async fn cached(&self, _: &Dependencies) -> Snapshot {
        self.cached.clone()
    }

    async fn fresh(&self, _: &Dependencies) -> Result<Snapshot, Unreadable> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.fresh.clone().ok_or_else(|| Unreadable {
            what: "the IPs",
            source: "the API server is away".into(),
        })
    }
}

pub fn webhook(source: impl ClusterReader) -> (axum::Router, Metrics) {
    let metrics = Metrics::new();
    (
        router(Webhook {
            source,
            settings: PluginSettings::default(),
            authorize_use: None,
            metrics: metrics.clone(),
        }),
        metrics,
    )
}

pub async fn post(
    router: &axum::Router,
    path: &str,
    body: impl Into<Body>,
) -> (StatusCode, Vec<u8>) {
    let request = Request::post(path).body(body.into()).unwrap();
    let response = TowerToHyperService::new(router.clone())
        .call(request)
        .await
        .unwrap();
    let status = response.status();
    (
        status,
        response
            .into_body()
            .collect()
            .await
            .unwrap()
            .to_bytes()
            .to_vec(),
    )
}

pub fn review(object: &impl serde::Serialize) -> String {
    let request =
        json!({"uid": "one", "operation": "CREATE", "namespace": "shop", "object": object});
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
        .to_string()
}

async fn asked(source: &Scripted) -> Value {
    let (router, _) = webhook(source.clone());
    let (status, body) = post(&router, "/mutate/pod", review(&asking(json!({})))).await;
    assert_eq!(status, StatusCode::OK);
    let review: Value = serde_json::from_slice(&body).unwrap();
    review["response"].clone()
}

#[tokio::test]
async fn a_cached_miss_does_not_deny() {
    let source = Scripted::new(snapshot_of([], []), Some(office()));
    assert_eq!(asked(&source).await["allowed"], true);
    assert_eq!(source.reads.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_cached_conflict_does_not_deny() {
    let mut deleting = partner_a();
    deleting.metadata.deletion_timestamp = Some(super::read(json!("2026-01-01T00:00:00Z")));
    let stale = snapshot_of([deleting], [block("office", "203.0.113.0/24")]);
    assert_eq!(
        asked(&Scripted::new(stale, Some(office()))).await["allowed"],
        true
    );
}

#[tokio::test]
async fn cached_objects_are_not_read_again() {
    let source = Scripted::new(office(), None);
    assert_eq!(asked(&source).await["allowed"], true);
    assert_eq!(source.reads.load(Ordering::Relaxed), 0);
}

/// The answer to a review of a block.
pub async fn block_asked(source: impl ClusterReader, request: Value) -> Value {
    let (router, _) = webhook(source);
    let review =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let (_, body) = post(&router, "/validate/ipblock", review.to_string()).await;
    let review: Value = serde_json::from_slice(&body).unwrap();
    review["response"].clone()
}

#[tokio::test]
async fn irreversible_changes_are_not_allowed_from_a_cache() {
    let office_block = block("office", "203.0.113.0/24");
    // Its only IP has not reached the cache yet.
    let stale = snapshot_of([], [office_block.clone()]);
    let source = Scripted::new(stale, Some(office()));
    let delete = json!({"uid": "one", "operation": "DELETE", "oldObject": office_block});
    assert_eq!(block_asked(source.clone(), delete).await["allowed"], false);
    let small = block("office", "203.0.113.128/25");
    let shrink =
        json!({"uid": "one", "operation": "UPDATE", "oldObject": office_block, "object": small});
    assert_eq!(block_asked(source.clone(), shrink).await["allowed"], false);
    assert_eq!(source.reads.load(Ordering::Relaxed), 2);
    // This change removes no address.
    let mut open = office_block.clone();
    open.spec.allowed_namespaces = Some(vec!["*".to_owned(), "shop".to_owned()]);
    let change =
        json!({"uid": "one", "operation": "UPDATE", "oldObject": office_block, "object": open});
    assert_eq!(block_asked(source.clone(), change).await["allowed"], true);
    assert_eq!(source.reads.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn an_overlapping_block_is_not_admitted_from_a_cache() {
    // The other block has not reached the cache yet.
    let source = Scripted::new(snapshot_of([], []), Some(office()));
    let part = block("part", "203.0.113.0/28");
    let create = json!({"uid": "one", "operation": "CREATE", "object": part});
    assert_eq!(block_asked(source.clone(), create).await["allowed"], false);
    assert_eq!(source.reads.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_real_miss_denies() {
    let response = asked(&Scripted::new(
        snapshot_of([], []),
        Some(snapshot_of([], [])),
    ))
    .await;
    assert_eq!(
        (&response["allowed"], &response["status"]["code"]),
        (&json!(false), &json!(403))
    );
}

#[tokio::test]
async fn a_failed_read_asks_the_client_to_retry() {
    let response = asked(&Scripted::new(snapshot_of([], []), None)).await;
    assert_eq!(response["status"]["reason"], "ServiceUnavailable");
    let message = response["status"]["message"].as_str().unwrap();
    assert!(
        message.contains("the API server is away") && message.contains("try again"),
        "{message}"
    );
}

#[tokio::test]
async fn a_refusal_from_the_request_alone_causes_no_read() {
    let (router, _) = webhook(Trap);
    let mut daemon = asking(json!({}));
    let owner = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "x", "uid": "u", "controller": true}]);
    daemon.metadata.owner_references = Some(super::read(owner));
    let (_, body) = post(&router, "/mutate/pod", review(&daemon)).await;
    let text = String::from_utf8_lossy(&body);
    assert!(text.contains("DaemonSet"), "{text}");
}

#[tokio::test]
async fn every_path_answers_invalid_input_with_a_review() {
    let (router, metrics) = webhook(Scripted::new(office(), None));
    for path in PATHS {
        let nonsense =
            json!({"request": {"uid": "one", "operation": "CREATE", "object": 1}}).to_string();
        let (status, body) = post(&router, path, nonsense).await;
        let review: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            (status, &review["kind"]),
            (StatusCode::OK, &json!("AdmissionReview")),
            "{path}"
        );
        assert_eq!(
            (
                &review["response"]["uid"],
                &review["response"]["status"]["code"]
            ),
            (&json!("one"), &json!(400))
        );
    }
    let counted = metrics.encode().unwrap();
    for name in [
        "mutate-pod",
        "validate-pod",
        "validate-ip",
        "validate-ipblock",
    ] {
        let line = format!(
            "mooring_admission_duration_seconds_count{{webhook=\"{name}\",allowed=\"false\"}} 1"
        );
        assert!(counted.contains(&line), "{line}\n{counted}");
    }
}

#[tokio::test]
async fn only_post_is_answered() {
    let (router, _) = webhook(Scripted::new(office(), None));
    let request = Request::get("/mutate/pod").body(Body::empty()).unwrap();
    let response = TowerToHyperService::new(router)
        .call(request)
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
}

/// A reader that panics when it is used.
#[derive(Clone)]
struct Trap;

impl Rights for Trap {
    async fn right(&self, _: &Subject, _: &Use) -> Result<Right, Unreadable> {
        panic!("planted")
    }
}

impl ClusterReader for Trap {
    async fn cached(&self, _: &Dependencies) -> Snapshot {
        panic!("planted")
    }

    async fn fresh(&self, _: &Dependencies) -> Result<Snapshot, Unreadable> {
        panic!("planted")
    }
}

#[tokio::test]
async fn a_panic_refuses_one_request_and_is_counted() {
    let (router, metrics) = webhook(Trap);
    for nth in 1..=2 {
        let (status, body) = post(&router, "/mutate/pod", review(&asking(json!({})))).await;
        let review: Value = serde_json::from_slice(&body).unwrap();
        let response = &review["response"];
        assert_eq!(
            (status, &response["uid"], &response["allowed"]),
            (StatusCode::OK, &json!("one"), &json!(false))
        );
        assert_eq!(
            (&response["status"]["code"], &response["status"]["reason"]),
            (&json!(500), &json!("InternalError"))
        );
        let counted = metrics.encode().unwrap();
        assert!(
            counted.contains(&format!("mooring_webhook_panics_total {nth}")),
            "{counted}"
        );
    }
}
