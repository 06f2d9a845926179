//! One connection, from its handshake to its end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::connection_limit::Slot;
use super::io_timeout::{Progress, TimeoutStream};

/// The limit for a handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// The limit for a request's head after its first byte, and for taking an answer.
const HEAD: Duration = Duration::from_secs(5);
/// A connection without a request is closed after this time. An API server can keep a connection that it opened for a
/// request which was cancelled.
const IDLE: Duration = Duration::from_mins(2);
/// The API server closes an idle connection after this time (client-go). It must be the first to close: it does not
/// repeat a request that meets a closed connection, and the pod is refused.
const IDLE_AT_CLIENT: Duration = Duration::from_secs(90);
const _: () = assert!(IDLE.as_secs() > IDLE_AT_CLIENT.as_secs());
/// The API server's heads have a few hundred bytes and some ten fields.
const HEAD_BYTES: usize = 16 * 1024;
const HEAD_FIELDS: usize = 64;

/// What all connections are served with.
#[derive(Clone)]
pub(super) struct Connections {
    acceptor: TlsAcceptor,
    service: TowerToHyperService<Router>,
}

impl Connections {
    pub fn new(tls: Arc<ServerConfig>, router: Router) -> Self {
        Self {
            acceptor: TlsAcceptor::from(tls),
            service: TowerToHyperService::new(router),
        }
    }

    pub async fn serve(self, stream: TcpStream, slot: Slot, watcher: Watcher) {
        let evicted = slot.evicted();
        tokio::select! {
            () = evicted.cancelled() => {
                tracing::debug!("a connection to the webhook that asked for nothing made room for another");
            }
            () = self.converse(stream, slot, watcher) => {}
        }
    }

    async fn converse(self, stream: TcpStream, slot: Slot, watcher: Watcher) {
        // An answer is one small write: waiting for more to send with it only costs time.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
        let stream = match tokio::time::timeout(HANDSHAKE, self.acceptor.accept(stream)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                tracing::debug!(%error, "a TLS handshake with the webhook failed");
                return;
            }
            Err(_) => {
                tracing::debug!(limit = ?HANDSHAKE, "a TLS handshake with the webhook took too long");
                return;
            }
        };
        let progress = Progress::new();
        let stream = TimeoutStream::new(stream, HEAD, Arc::clone(&progress));
        let service = Followed {
            service: self.service,
            following: Arc::new(Following { progress, slot }),
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            // One request each: a replica that ends would have to close connections that the API server still
            // holds, and a request that meets the close is not repeated. A handshake costs less than a refused pod.
            .keep_alive(false)
            .header_read_timeout(IDLE)
            .max_headers(HEAD_FIELDS)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(%error, "a connection to the webhook ended badly");
        }
    }
}

/// Who wants to know how far a connection's request is. Its request carries it as an extension.
pub(in crate::admission) struct Following {
    progress: Arc<Progress>,
    slot: Slot,
}

impl Following {
    /// The request is there as a whole, and is answered until what this gives is dropped.
    pub fn begin(self: &Arc<Self>) -> Answering {
        self.slot.become_busy();
        self.progress.asked();
        Answering(Arc::clone(self))
    }
}

/// A request that is being answered: over when this is dropped.
pub(in crate::admission) struct Answering(Arc<Following>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.progress.answered();
        self.0.slot.become_idle();
    }
}

/// The service of one connection, and how far it is.
struct Followed {
    service: TowerToHyperService<Router>,
    following: Arc<Following>,
}

impl Service<Request<Incoming>> for Followed {
    type Response = Response;
    type Error = Infallible;
    type Future = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let following = Arc::clone(&self.following);
        request.extensions_mut().insert(following);
        self.service.call(request)
    }
}
