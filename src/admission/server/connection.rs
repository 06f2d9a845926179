//! One connection, from its handshake to its end.

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
use super::io_timeout::{Progress, TimeoutStream};

/// The limit for a handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// The limit for a request after its first byte, and for taking an answer.
const HEAD: Duration = Duration::from_secs(5);
/// A connection without a request is closed after this time.
pub(in crate::admission) const IDLE: Duration = Duration::from_mins(2);
/// The API server closes an idle connection after this time (client-go). It must be the first to close: it does not
/// repeat a request that meets a closed connection, and the pod is refused.
pub(in crate::admission) const IDLE_AT_CLIENT: Duration = Duration::from_secs(90);
const _: () = assert!(IDLE.as_secs() > IDLE_AT_CLIENT.as_secs());
/// The first answer after this time closes its connection. So a client's certificate is checked again, and connections
/// are spread again over the replicas after one of them was restarted.
pub(in crate::admission) const AGE: Duration = Duration::from_mins(5);
/// The API server's heads have a few hundred bytes and some ten fields.
const HEAD_BYTES: usize = 16 * 1024;
const HEAD_FIELDS: usize = 64;

/// What all connections are served with.
#[derive(Clone)]
pub(super) struct Connections {
    acceptor: TlsAcceptor,
    service: TowerToHyperService<Router>,
    end: End,
}

impl Connections {
    pub fn new(tls: Arc<ServerConfig>, router: Router, end: End) -> Self {
        Self {
            acceptor: TlsAcceptor::from(tls),
            service: TowerToHyperService::new(router),
            end,
        }
    }

    pub async fn serve(self, stream: TcpStream, slot: Slot) {
        let evicted = slot.evicted();
        tokio::select! {
            () = evicted.cancelled() => {
                tracing::debug!("a connection to the webhook that asked for nothing made room for another");
            }
            () = self.converse(stream, slot) => {}
        }
    }

    async fn converse(self, stream: TcpStream, slot: Slot) {
        // An answer is one small write: waiting for more to send with it only costs time.
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
    let progress = Progress::new();
    let following = Following::new(slot, Arc::clone(&progress));
    let answering = service_fn(|mut request: Request<Incoming>| {
        following.arrived();
        request.extensions_mut().insert(Arc::clone(&following));
        let answer = service.call(request);
        let (following, end) = (Arc::clone(&following), end.clone());
        async move {
            let mut answer = answer.await?;
            // The rest of a request that was refused before its end is not read.
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
            TokioIo::new(TimeoutStream::new(stream, HEAD, progress)),
            answering,
        );
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        // The connection first: a request that has arrived is answered.
        biased;
        ended = connection.as_mut() => ended,
        () = end.close.cancelled() => {
            // A request that has begun to arrive is answered too, and its answer closes the connection.
            if following.is_quiet() {
                connection.as_mut().graceful_shutdown();
            }
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection to the webhook ended badly");
    }
}
