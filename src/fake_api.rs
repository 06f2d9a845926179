//! A fake API server for unit tests, implemented by a function.

use axum::http::request::Parts;
use axum::http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

/// A client of a server whose function gets a method, a path and a body (null if none) and returns a code and an
/// object.
pub(crate) fn api_server(
    answer: impl Fn(&Method, &str, Value) -> (u16, Value) + Clone + Send + 'static,
) -> Client {
    half_open_api_server(move |head, body| Some(answer(&head.method, head.uri.path(), body)))
}

/// A client of a server that does not answer each request: `None` is a request without an answer.
pub(crate) fn half_open_api_server(
    answer: impl Fn(&Parts, Value) -> Option<(u16, Value)> + Clone + Send + 'static,
) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let answer = answer.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let Some((code, object)) = answer(&head, body) else {
                return std::future::pending().await;
            };
            let answer = Response::builder()
                .status(code)
                .body(Body::from(object.to_string().into_bytes()));
            answer.map_err(Box::<dyn std::error::Error + Send + Sync>::from)
        }
    });
    Client::new(service, "default")
}

/// The answer to a request that fails: the code, and a `Status` with it.
pub(crate) fn failure(code: u16) -> (u16, Value) {
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        _ => "Invalid",
    };
    let status = json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason});
    (code, status)
}
