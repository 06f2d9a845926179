//! HTTPS for the webhook, and what a client may ask of it: so many connections, and so long for each part of
//! what it says.

mod connection;
mod patience;
mod seats;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::server::graceful::GracefulShutdown;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use connection::Connections;
pub(in crate::admission) use connection::Following;
pub use seats::Seats;

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

/// As [`serve`], to so many at a time.
pub(super) async fn serve_at_most(
    connections: usize,
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    router: Router,
    stop: CancellationToken,
) -> Result<(), std::io::Error> {
    let seats = Arc::new(Seats::new(connections));
    let connections = Connections::new(tls, router);
    let open = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, client)) => {
                let Some(seat) = seats.take(client.ip()) else {
                    tracing::warn!(%client, "a connection to the webhook was refused: every other has a request open");
                    continue;
                };
                // The handshake is done apart, so that a slow client keeps nobody else waiting.
                let connections = connections.clone();
                tokio::spawn(connections.serve(stream, seat, open.watcher()));
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
