//! Tests over HTTP of the limits: size of a body, bytes of all bodies, JSON values and concurrent reviews.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use mooring_plan::admission::usage::{Subject, Use};
use serde_json::{Value, json};

use super::http::{Scripted, post, review, webhook};
use super::{asking, office};
use crate::admission::http::router_within;
use crate::admission::load_shed::Limits;
use crate::admission::{
    ClusterReader, Dependencies, PluginSettings, Right, Rights, Snapshot, Unreadable, Webhook,
};
use crate::metrics::Metrics;

/// A byte limit that is never reached.
const ENOUGH: usize = 1 << 20;

/// A reader whose reads never end.
#[derive(Clone)]
struct Endless;

impl Rights for Endless {
    async fn right(&self, _: &Subject, _: &Use) -> Result<Right, Unreadable> {
        std::future::pending().await
    }
}

impl ClusterReader for Endless {
    async fn cached(&self, _: &Dependencies) -> Snapshot {
        std::future::pending().await
    }

    async fn fresh(&self, _: &Dependencies) -> Result<Snapshot, Unreadable> {
        std::future::pending().await
    }
}

pub fn within(source: impl ClusterReader, limits: Limits) -> axum::Router {
    let webhook = Webhook {
        source,
        settings: PluginSettings::default(),
        authorize_use: None,
        metrics: Metrics::new(),
    };
    router_within(webhook, Duration::from_mins(1), limits)
}

#[tokio::test]
async fn a_body_that_is_too_large_gets_its_own_status() {
    let (router, _) = webhook(Scripted::new(office(), None));
    let (status, _) = post(&router, "/mutate/pod", vec![b' '; 3 * 1024 * 1024 + 1]).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn an_incomplete_body_times_out() {
    let source = Scripted::new(office(), None);
    let webhook = Webhook {
        source,
        settings: PluginSettings::default(),
        authorize_use: None,
        metrics: Metrics::new(),
    };
    let router = router_within(webhook, Duration::ZERO, Limits::default());
    let never = futures::stream::pending::<Result<axum::body::Bytes, std::io::Error>>();
    let (status, _) = post(&router, "/mutate/pod", Body::from_stream(never)).await;
    assert_eq!(status, StatusCode::GATEWAY_TIMEOUT);
}

#[tokio::test]
async fn reviews_without_a_verdict_are_counted_by_the_code_of_the_answer() {
    let metrics = Metrics::new();
    let within = |time, limits| {
        let webhook = Webhook {
            source: Endless,
            settings: PluginSettings::default(),
            authorize_use: None,
            metrics: metrics.clone(),
        };
        router_within(webhook, time, limits)
    };
    let asked = || review(&asking(json!({})));
    let too_large = vec![b' '; 3 * 1024 * 1024 + 1];
    let full = within(Duration::from_mins(1), Limits::of(0, ENOUGH));
    let late = within(Duration::ZERO, Limits::default());
    post(&full, "/mutate/pod", asked()).await;
    post(&full, "/validate/ip", asked()).await;
    post(&full, "/mutate/pod", too_large).await;
    post(&late, "/mutate/pod", asked()).await;
    let counted = metrics.encode().unwrap();
    for (code, count) in [(429, 2), (413, 1), (504, 1)] {
        let line = format!("mooring_webhook_rejected_total{{code=\"{code}\"}} {count}");
        assert!(counted.contains(&line), "{line} is not in\n{counted}");
    }
}

#[tokio::test]
async fn too_many_reviews_are_refused_with_a_retry() {
    let router = within(Endless, Limits::of(1, ENOUGH));
    let ask = || post(&router, "/mutate/pod", review(&asking(json!({}))));
    let mut slow = Box::pin(ask());
    assert!(futures::poll!(&mut slow).is_pending());
    let request = Request::post("/mutate/pod").body(Body::empty()).unwrap();
    let response = TowerToHyperService::new(router.clone()).call(request);
    let response = response.await.unwrap();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()["retry-after"], "1");
    // The permit is free as soon as the slow request is dropped.
    drop(slow);
    assert!(futures::poll!(Box::pin(ask())).is_pending());
}

#[tokio::test]
async fn an_incomplete_body_takes_no_permit() {
    let router = within(Scripted::new(office(), None), Limits::of(1, ENOUGH));
    let never = futures::stream::pending::<Result<axum::body::Bytes, std::io::Error>>();
    let mut slow = Box::pin(post(&router, "/mutate/pod", Body::from_stream(never)));
    assert!(futures::poll!(&mut slow).is_pending());
    let (status, _) = post(&router, "/mutate/pod", review(&asking(json!({})))).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn the_memory_of_bodies_is_limited() {
    let router = within(Scripted::new(office(), None), Limits::of(2, 2000));
    let part = |size| Ok::<_, std::io::Error>(axum::body::Bytes::from(vec![b' '; size]));
    let begun = futures::stream::iter([part(1990)]);
    let slow = futures::StreamExt::chain(begun, futures::stream::pending());
    let mut slow = Box::pin(post(&router, "/mutate/pod", Body::from_stream(slow)));
    assert!(futures::poll!(&mut slow).is_pending());
    let ask = async || {
        post(&router, "/mutate/pod", review(&asking(json!({}))))
            .await
            .0
    };
    assert_eq!(ask().await, StatusCode::TOO_MANY_REQUESTS);
    drop(slow);
    assert_eq!(ask().await, StatusCode::OK);
}

#[tokio::test]
async fn a_review_with_too_many_values_is_refused_with_its_uid() {
    let (router, _) = webhook(Scripted::new(office(), None));
    let many = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"tolerations": vec![json!({}); 20_000]}});
    let (status, body) = post(&router, "/mutate/pod", review(&many)).await;
    let review: Value = serde_json::from_slice(&body).unwrap();
    let response = &review["response"];
    assert_eq!(
        (status, &response["uid"], &response["status"]["code"]),
        (StatusCode::OK, &json!("one"), &json!(400))
    );
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.contains("20000 values"), "{message}");
}

#[tokio::test]
async fn the_values_of_all_reviews_together_are_limited() {
    let router = within(Endless, Limits::of(256, 1 << 25));
    let many = json!({"metadata": {"annotations": {"ip.wgtwo.com/ip": "web"}}, "apiVersion": "v1", "kind": "Pod",
        "spec": {"tolerations": vec![json!({}); 9_000]}});
    let mut waiting = Vec::new();
    for _ in 0..12 {
        waiting.push(Box::pin(post(&router, "/mutate/pod", review(&many))));
    }
    let mut refused = 0;
    for waiting in &mut waiting {
        if let std::task::Poll::Ready((status, _)) = futures::poll!(waiting) {
            assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
            refused += 1;
        }
    }
    assert_eq!(refused, 1, "eleven times 18,000 are within 200,000");
}
