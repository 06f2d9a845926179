//! The HTTP paths of the webhook.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Request as HttpRequest, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use futures::FutureExt as _;
use k8s_openapi::api::core::v1::Pod;
use mooring_plan::admission::usage::TrustedControllers;
use mooring_plan::admission::{Denial, DenyReason};

use super::authorize::authorize;
use super::evaluate::evaluate;
use super::load_shed::{BODY, Limits, Shed};
use super::pod::{asks_for, bound_to, given_uid, mutate_pod, validate_pod};
use super::review::{Reviewed, answer, fault, read, uid_of};
use super::server::Following;
use super::{ClusterReader, Dependencies, Operation, PluginSettings, Request, Snapshot, Verdict};
use super::{ip, ipblock};
use crate::api::{Ip, IpBlock};
use crate::metrics::Metrics;

/// The paths that are served. All use POST.
pub const PATHS: [&str; 4] = [
    "/mutate/pod",
    "/validate/pod",
    "/validate/ip",
    "/validate/ipblock",
];

/// Time limit of one review. It is shorter than the timeout of the API server (`timeoutSeconds` in `config/webhook`).
pub(super) const TIME: Duration = Duration::from_secs(3);

/// What the handlers of the webhook need.
#[derive(Clone)]
pub struct Webhook<S> {
    /// Reads the objects of the cluster.
    pub source: S,
    /// The configuration of the admission plugins of the API server.
    pub settings: PluginSettings,
    /// With `--authorize-use`: the controllers whose pods are checked by the service accounts of the pods.
    pub authorize_use: Option<Arc<TrustedControllers>>,
    /// The metrics of the process.
    pub metrics: Metrics,
}

/// The router of all paths.
pub fn router<S: ClusterReader>(webhook: Webhook<S>) -> Router {
    router_within(webhook, TIME, Limits::default())
}

/// The router of all paths, with this time limit for each request and these limits.
pub(super) fn router_within<S: ClusterReader>(
    webhook: Webhook<S>,
    time: Duration,
    limits: Limits,
) -> Router {
    let [mutating_pods, pods, ips, ipblocks] = PATHS;
    let metrics = webhook.metrics.clone();
    Router::new()
        .route(mutating_pods, post(mutating_pod::<S>))
        .route(pods, post(validating_pod::<S>))
        .route(ips, post(validating_ip::<S>))
        .route(ipblocks, post(validating_ipblock::<S>))
        .with_state(webhook)
        .layer(DefaultBodyLimit::max(BODY))
        .layer(from_fn_with_state((limits, metrics.clone()), whole))
        .layer(from_fn_with_state((time, metrics), in_time))
}

/// Handles a request after its body is complete and it has its permits. Until the body is complete, the connection
/// counts as idle.
async fn whole(
    State((limits, metrics)): State<(Limits, Metrics)>,
    request: HttpRequest,
    next: Next,
) -> Response {
    let rejected = |shed: Shed| {
        let response = shed.into_response();
        metrics.webhook_rejected(response.status().as_u16());
        response
    };
    let (parts, body) = request.into_parts();
    let received = match limits.receive(body).await {
        Ok(received) => received,
        Err(shed) => return rejected(shed),
    };
    let _answering = parts
        .extensions
        .get::<Arc<Following>>()
        .map(Following::begin);
    let (body, _permits) = match limits.admit(received) {
        Ok(admitted) => admitted,
        Err(shed) => return rejected(shed),
    };
    next.run(HttpRequest::from_parts(parts, Body::from(body)))
        .await
}

/// Answers with 504 after the time limit, so that a slow body does not block the request of the API server.
async fn in_time(
    State((time, metrics)): State<(Duration, Metrics)>,
    request: HttpRequest,
    next: Next,
) -> Response {
    let path = request.uri().path().to_owned();
    let answered = tokio::time::timeout(time, next.run(request)).await;
    answered.unwrap_or_else(|_| {
        let late = StatusCode::GATEWAY_TIMEOUT;
        metrics.webhook_rejected(late.as_u16());
        tracing::warn!(path, ?time, "a review was not answered in time");
        (late, format!("not answered within {time:?}: try again")).into_response()
    })
}

/// One kind of review: its name in metrics, its dependencies and its rule.
struct ReviewKind<K> {
    name: &'static str,
    dependencies: fn(&Request<K>) -> Dependencies,
    rule: fn(&Request<K>, &Snapshot, PluginSettings) -> Verdict,
}

impl<K: Reviewed + Send + Sync> ReviewKind<K> {
    async fn respond<S: ClusterReader>(&self, webhook: &Webhook<S>, body: &[u8]) -> Response {
        let begun = Instant::now();
        let verdict = AssertUnwindSafe(self.verdict(webhook, body)).catch_unwind();
        let (uid, verdict) = verdict.await.unwrap_or_else(|_| {
            webhook.metrics.webhook_panicked();
            (uid_of(body), Err(fault()))
        });
        if let Err(denial) = &verdict {
            tracing::info!(webhook = self.name, %denial, "refused");
        }
        webhook
            .metrics
            .admission(self.name, verdict.is_ok(), begun.elapsed().as_secs_f64());
        match serde_json::to_vec(&answer(uid, verdict)) {
            Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        }
    }

    /// The id of the review, and the verdict.
    async fn verdict<S: ClusterReader>(
        &self,
        webhook: &Webhook<S>,
        body: &[u8],
    ) -> (String, Verdict) {
        match read::<K>(body) {
            Ok(request) => {
                let rule = |snapshot: &Snapshot| (self.rule)(&request, snapshot, webhook.settings);
                let source = &webhook.source;
                let (dependencies, called) = ((self.dependencies)(&request), || request.called());
                let mut verdict = evaluate(source, &dependencies, called, rule).await;
                if let Ok(allowed) = verdict {
                    let trusted = webhook.authorize_use.as_deref();
                    verdict = authorize(source, trusted, &request.requester, allowed).await;
                }
                (request.uid, verdict)
            }
            Err(malformed) => (malformed.uid, Err(malformed.denial)),
        }
    }
}

/// The pod of a review. Existing pods are protected by the API server itself: `config/policies/pod_marks.yaml`.
fn new_pod(request: &Request<Pod>) -> Result<&Pod, Denial> {
    match &request.operation {
        Operation::Create(pod) => Ok(pod),
        Operation::Update { .. } | Operation::Delete(_) => Err(Denial::new(
            DenyReason::BadRequest,
            "Mooring reviews only new pods",
            "apply the webhook configurations of Mooring again: their rules for pods have only the operation CREATE",
        )),
    }
}

/// The dependencies of the verdict on a new pod.
fn pod_dependencies(request: &Request<Pod>) -> Dependencies {
    let asking = new_pod(request)
        .ok()
        .and_then(|pod| Some((pod, asks_for(pod)?)));
    let Some((pod, annotation)) = asking else {
        return Dependencies::default();
    };
    Dependencies {
        annotation: Some(annotation.to_owned()),
        node: bound_to(pod).map(ToOwned::to_owned),
        ..Dependencies::default()
    }
}

/// As [`pod_dependencies`], for a pod that has passed the mutating review.
fn mutated_pod_dependencies(request: &Request<Pod>) -> Dependencies {
    let asking = new_pod(request).ok().filter(|pod| asks_for(pod).is_some());
    Dependencies {
        given: asking.and_then(given_uid).map(ToOwned::to_owned),
        ..pod_dependencies(request)
    }
}

async fn mutating_pod<S: ClusterReader>(
    State(webhook): State<Webhook<S>>,
    body: Bytes,
) -> Response {
    let rule = |request: &Request<Pod>, snapshot: &Snapshot, settings| {
        mutate_pod(new_pod(request)?, &request.namespace, snapshot, settings)
    };
    ReviewKind {
        name: "mutate-pod",
        dependencies: pod_dependencies,
        rule,
    }
    .respond(&webhook, &body)
    .await
}

async fn validating_pod<S: ClusterReader>(
    State(webhook): State<Webhook<S>>,
    body: Bytes,
) -> Response {
    let rule = |request: &Request<Pod>, snapshot: &Snapshot, settings| {
        validate_pod(new_pod(request)?, &request.namespace, snapshot, settings)
    };
    ReviewKind {
        name: "validate-pod",
        dependencies: mutated_pod_dependencies,
        rule,
    }
    .respond(&webhook, &body)
    .await
}

async fn validating_ip<S: ClusterReader>(
    State(webhook): State<Webhook<S>>,
    body: Bytes,
) -> Response {
    let dependencies = |request: &Request<Ip>| Dependencies {
        address: ip::address_wanted(&request.operation),
        ..Dependencies::default()
    };
    let rule = |request: &Request<Ip>, snapshot: &Snapshot, _| {
        ip::validate_ip(&request.operation, snapshot)
    };
    ReviewKind {
        name: "validate-ip",
        dependencies,
        rule,
    }
    .respond(&webhook, &body)
    .await
}

async fn validating_ipblock<S: ClusterReader>(
    State(webhook): State<Webhook<S>>,
    body: Bytes,
) -> Response {
    let rule = |request: &Request<IpBlock>, snapshot: &Snapshot, _| {
        ipblock::validate_ipblock(&request.operation, snapshot)
    };
    let dependencies = |request: &Request<IpBlock>| Dependencies {
        irrevocable: ipblock::is_irrevocable(&request.operation),
        ..Dependencies::default()
    };
    ReviewKind {
        name: "validate-ipblock",
        dependencies,
        rule,
    }
    .respond(&webhook, &body)
    .await
}
