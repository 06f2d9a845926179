//! HTTPS for the webhook.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// A client that has not finished the handshake by then is not waited for.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// A connection on which no request begins for so long is closed. hyper counts the wait for the next request
/// as part of reading its headers.
const IDLE: Duration = Duration::from_mins(2);
/// The API server closes an idle connection after so long (client-go). Whoever closes first must be the API
/// server: it does not repeat a request that meets a closed connection, and the pod is refused.
const IDLE_AT_CLIENT: Duration = Duration::from_secs(90);
const _: () = assert!(IDLE.as_secs() > IDLE_AT_CLIENT.as_secs());
/// Open connections have this long to end once the server is told to: longer than a request may take.
const CLOSING: Duration = Duration::from_secs(5);
/// Before accepting is tried again after it failed, most likely for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers until told to stop, then finishes what was asked before.
///
/// # Errors
/// None while the listener lives: a connection that cannot be accepted is logged and passed over.
pub async fn serve(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    router: Router,
    stop: CancellationToken,
) -> Result<(), std::io::Error> {
    let acceptor = TlsAcceptor::from(tls);
    let service = TowerToHyperService::new(router);
    let connections = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                // The handshake is done apart, so that a slow client keeps nobody else waiting.
                let connection = Connection {
                    acceptor: acceptor.clone(),
                    service: service.clone(),
                };
                tokio::spawn(connection.serve(stream, connections.watcher()));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection to the webhook could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(CLOSING, connections.shutdown())
        .await
        .is_err()
    {
        tracing::warn!(limit = ?CLOSING, "connections to the webhook were cut off");
    }
    Ok(())
}

struct Connection {
    acceptor: TlsAcceptor,
    service: TowerToHyperService<Router>,
}

impl Connection {
    async fn serve(self, stream: TcpStream, watcher: Watcher) {
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
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE)
            .serve_connection(TokioIo::new(stream), self.service);
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(%error, "a connection to the webhook ended badly");
        }
    }
}
