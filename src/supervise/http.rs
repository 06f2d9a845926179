//! Serves health, readiness and metrics over plain HTTP.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::admission::ConnectionLimit;
use crate::metrics::{CONTENT_TYPE, Metrics};
use crate::telemetry::{Readiness, Requirement};

/// Time limit for receiving the headers of a request.
const HEADERS: Duration = Duration::from_secs(5);
/// The most open connections. The kubelet and a few metrics collectors have one each, for a short time. At the limit a
/// new connection replaces one of the client address that has the most.
const CONNECTIONS: usize = 64;
const HEAD_BYTES: usize = 16 * 1024;
/// Time limit for open connections to end during a shutdown.
const CLOSING: Duration = Duration::from_secs(2);

#[derive(Clone)]
struct Process {
    readiness: Readiness,
    metrics: Metrics,
}

fn router(readiness: Readiness, metrics: Metrics) -> Router {
    Router::new()
        // An answer is enough: if a task fails, the whole process ends.
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(encoded))
        .with_state(Process { readiness, metrics })
}

async fn ready(State(process): State<Process>) -> (StatusCode, String) {
    let missing = process.readiness.missing();
    if missing.is_empty() {
        return (StatusCode::OK, "ok\n".to_owned());
    }
    let missing: Vec<_> = missing.iter().map(Requirement::to_string).collect();
    (
        StatusCode::SERVICE_UNAVAILABLE,
        format!("not ready: {}\n", missing.join(", ")),
    )
}

async fn encoded(State(process): State<Process>) -> Response {
    match process.metrics.encode() {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Serves until `stop` is cancelled.
///
/// # Errors
/// None at present: a connection that cannot be accepted is logged and skipped.
pub async fn serve(
    listener: TcpListener,
    readiness: Readiness,
    metrics: Metrics,
    stop: CancellationToken,
) -> Result<(), std::io::Error> {
    let service = TowerToHyperService::new(router(readiness, metrics));
    let connections = GracefulShutdown::new();
    let limit = Arc::new(ConnectionLimit::new(CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, client) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection for health or metrics could not be accepted");
                // Most likely there are no file descriptors left. To retry at once would be a busy loop.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Some(slot) = limit.take(client.ip()) else {
            continue;
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .keep_alive(false)
            .max_buf_size(HEAD_BYTES)
            .header_read_timeout(HEADERS)
            .serve_connection(TokioIo::new(stream), service.clone());
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            tokio::select! {
                () = slot.evicted().cancelled_owned() => {}
                ended = connection => if let Err(error) = ended {
                    tracing::debug!(%error, "a connection for health or metrics ended with an error");
                }
            }
        });
    }
    let _ = tokio::time::timeout(CLOSING, connections.shutdown()).await;
    Ok(())
}
