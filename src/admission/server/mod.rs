//! HTTPS for the webhook, with limits for clients: a number of connections, and a time for each part of a request.
//!
//! A connection is kept for further requests. It is HTTP/1.1 only: the API server speaks nothing else to a webhook behind
//! a Service (kubernetes/kubernetes#75791), since HTTP/2 would send all reviews to one replica. HTTP/2 would need limits
//! of its own (streams, resets, headers, flow control), for no user.

mod connection;
mod connection_limit;
mod end;
mod following;
mod io_timeout;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use connection::Connections;
#[cfg(test)]
pub(in crate::admission) use connection::{AGE, IDLE, IDLE_AT_CLIENT, answer_all};
pub use connection_limit::ConnectionLimit;
pub use end::End;
pub(in crate::admission) use following::Following;

/// Connections at a time. Each costs some 40 KiB, and one of the 1024 file descriptors that a container may have;
/// an API server keeps a few dozen.
const CONNECTIONS: usize = 832;
/// Open connections have this long to end once the server is told to: longer than a request may take.
const CLOSING: Duration = Duration::from_secs(5);
/// Before accepting is tried again after it failed, most likely for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers until told to close, then finishes what was asked before.
///
/// # Errors
/// None while the listener lives: a connection that cannot be accepted is logged and passed over.
pub async fn serve(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    router: Router,
    end: End,
) -> Result<(), std::io::Error> {
    serve_at_most(CONNECTIONS, listener, tls, router, end).await
}

/// As [`serve`], with this number of connections at a time.
pub(super) async fn serve_at_most(
    connections: usize,
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    router: Router,
    end: End,
) -> Result<(), std::io::Error> {
    let limit = Arc::new(ConnectionLimit::new(connections));
    // Connections close after the listener: a client whose connection was closed opens another at once.
    let unheard = CancellationToken::new();
    let of_connections = End {
        drain: end.drain,
        close: unheard.clone(),
    };
    let connections = Connections::new(tls, router, of_connections);
    // Each connection has a sender: without one, all have ended.
    let (open, mut all_ended) = mpsc::channel::<()>(1);
    loop {
        let accepted = tokio::select! {
            () = end.close.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, client)) => {
                let Some(slot) = limit.take(client.ip()) else {
                    tracing::warn!(%client, "a connection to the webhook was refused: every other has a request open");
                    continue;
                };
                // In a task of its own: a slow handshake does not delay other clients.
                let (connections, open) = (connections.clone(), open.clone());
                tokio::spawn(async move {
                    connections.serve(stream, slot).await;
                    drop(open);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection to the webhook could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop((listener, open));
    unheard.cancel();
    if tokio::time::timeout(CLOSING, all_ended.recv())
        .await
        .is_err()
    {
        tracing::warn!(limit = ?CLOSING, "connections to the webhook were cut off");
    }
    Ok(())
}
