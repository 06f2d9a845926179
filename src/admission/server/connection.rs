//! Serves one connection, from the handshake to the end.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, header};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use super::connection_limit::Slot;
use super::end::End;
use super::following::Following;
use super::io_timeout::{RequestStage, TimeoutStream};

/// Time limit of a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Time limit for receiving a request after its first byte, and for sending an answer.
const HEAD: Duration = Duration::from_secs(5);
/// A connection without a request is closed after this time.
pub(in crate::admission) const IDLE: Duration = Duration::from_mins(2);
/// The API server closes an idle connection after this time (client-go). It must close before this server does: it does
/// not repeat a request that it sent over a closed connection, and the pod is refused.
pub(in crate::admission) const IDLE_AT_CLIENT: Duration = Duration::from_secs(90);
const _: () = assert!(IDLE.as_secs() > IDLE_AT_CLIENT.as_secs());
/// The first answer after this time closes its connection. So the certificate of a client is checked again, and
/// connections spread over the replicas again after one of them was restarted.
pub(in crate::admission) const AGE: Duration = Duration::from_mins(5);
/// Limits for the head of a request. Those of the API server have a few hundred bytes and about ten fields.
const HEAD_BYTES: usize = 16 * 1024;
const HEAD_FIELDS: usize = 64;

/// What all connections share.
#[derive(Clone)]
pub(super) struct Connections {
    acceptor: TlsAcceptor,
    service: TowerToHyperService<Router>,
    end: End,
}

impl Connections {
    /// Connections with this TLS configuration, router and shutdown signals.
    pub fn new(tls: Arc<ServerConfig>, router: Router, end: End) -> Self {
        Self {
            acceptor: TlsAcceptor::from(tls),
            service: TowerToHyperService::new(router),
            end,
        }
    }

    /// Serves one connection until it ends or another connection takes its slot.
    pub async fn serve(self, stream: TcpStream, slot: Slot) {
        let evicted = slot.evicted();
        tokio::select! {
            () = evicted.cancelled() => {
                tracing::debug!("an idle connection to the webhook was closed to accept another one");
            }
            () = self.converse(stream, slot) => {}
        }
    }

    async fn converse(self, stream: TcpStream, slot: Slot) {
        // An answer is one small write. To wait for more data (Nagle) would only delay it.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
        match tokio::time::timeout(HANDSHAKE, self.acceptor.accept(stream)).await {
            Ok(Ok(stream)) => answer_all(stream, self.service, slot, self.end).await,
            Ok(Err(error)) => {
                tracing::debug!(%error, "a TLS handshake with the webhook failed");
            }
            Err(_) => {
                tracing::debug!(limit = ?HANDSHAKE, "a TLS handshake with the webhook took too long");
            }
        }
    }
}

/// Answers the requests of a connection, one after the other.
pub(in crate::admission) async fn answer_all(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    service: TowerToHyperService<Router>,
    slot: Slot,
    end: End,
) {
    let opened = Instant::now();
    let stage = RequestStage::new();
    let following = Following::new(slot, Arc::clone(&stage));
    let answering = service_fn(|mut request: Request<Incoming>| {
        following.arrived();
        request.extensions_mut().insert(Arc::clone(&following));
        let answer = service.call(request);
        let (following, end) = (Arc::clone(&following), end.clone());
        async move {
            let mut answer = answer.await?;
            // If a request was refused before its body was complete, the rest is not read and the connection is closed.
            let last = !following.answered();
            if last || end.has_begun() || opened.elapsed() > AGE {
                let close = HeaderValue::from_static("close");
                answer.headers_mut().insert(header::CONNECTION, close);
            }
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_headers(HEAD_FIELDS)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(
            TokioIo::new(TimeoutStream::new(stream, HEAD, stage)),
            answering,
        );
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        // Poll the connection first, so that a request that has arrived is answered.
        biased;
        ended = connection.as_mut() => ended,
        () = end.close.cancelled() => {
            // A request whose first byte has arrived is answered too, and the answer closes the connection.
            if following.is_quiet() {
                connection.as_mut().graceful_shutdown();
            }
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection to the webhook ended with an error");
    }
}
