//! Health, readiness and metrics, in plain HTTP.

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
use crate::telemetry::{Part, Readiness};

/// A client that has not sent its headers by then is not waited for.
const HEADERS: Duration = Duration::from_secs(5);
/// Connections at a time. The kubelet and a few who collect metrics have one each, for a moment; one more takes the
/// place of one of whichever address has the most.
const CONNECTIONS: usize = 64;
const HEAD_BYTES: usize = 16 * 1024;
/// Open connections have this long to end once the server is told to.
const CLOSING: Duration = Duration::from_secs(2);

#[derive(Clone)]
struct Process {
    readiness: Readiness,
    metrics: Metrics,
}

fn router(readiness: Readiness, metrics: Metrics) -> Router {
    Router::new()
        // That it answers is all that is asked: whatever dies ends the process.
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
    let missing: Vec<_> = missing.iter().map(Part::to_string).collect();
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

/// Answers until told to stop.
///
/// # Errors
/// None while the listener lives: a connection that cannot be accepted is logged and passed over.
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
                // Out of file descriptors, most likely: asking again at once would spin.
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
                    tracing::debug!(%error, "a connection for health or metrics ended badly");
                }
            }
        });
    }
    let _ = tokio::time::timeout(CLOSING, connections.shutdown()).await;
    Ok(())
}
