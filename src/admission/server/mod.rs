//! HTTPS for the webhook, with limits for clients: a number of connections, and a time for each part of a request.

mod connection;
mod connection_limit;
mod io_timeout;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::server::graceful::GracefulShutdown;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use connection::Connections;
pub(in crate::admission) use connection::Following;
pub use connection_limit::ConnectionLimit;

/// Connections at a time. Each costs some 40 KiB, and one of the 1024 file descriptors that a container may have;
/// an API server keeps a few dozen.
const CONNECTIONS: usize = 832;
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
    serve_at_most(CONNECTIONS, listener, tls, router, stop).await
}

/// As [`serve`], with this number of connections at a time.
pub(super) async fn serve_at_most(
    connections: usize,
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    router: Router,
    stop: CancellationToken,
) -> Result<(), std::io::Error> {
    let limit = Arc::new(ConnectionLimit::new(connections));
    let connections = Connections::new(tls, router);
    let open = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, client)) => {
                let Some(slot) = limit.take(client.ip()) else {
                    tracing::warn!(%client, "a connection to the webhook was refused: every other has a request open");
                    continue;
                };
                // In a task of its own: a slow handshake does not delay other clients.
                let connections = connections.clone();
                tokio::spawn(connections.serve(stream, slot, open.watcher()));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection to the webhook could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(CLOSING, open.shutdown())
        .await
        .is_err()
    {
        tracing::warn!(limit = ?CLOSING, "connections to the webhook were cut off");
    }
    Ok(())
}
