//! The HTTPS server of the webhook, with a limit of connections and a timeout for each part of a request.
//!
//! A connection is kept open for further requests. Only HTTP/1.1 is supported: the API server uses nothing else for a
//! webhook behind a Service (kubernetes/kubernetes#75791), because HTTP/2 would send all reviews to one replica. HTTP/2
//! would need additional limits (streams, resets, headers, flow control) without any benefit.

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

/// The most open connections. Each takes about 40 KiB and one of the 1024 file descriptors that a container may have.
/// An API server keeps a few dozen.
const CONNECTIONS: usize = 832;
/// Time limit for open connections to end during a shutdown. It is longer than the time limit of a request.
const CLOSING: Duration = Duration::from_secs(5);
/// Wait after a failed accept, which is most likely caused by a lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `end.close`, then finishes the requests that were begun.
/// A connection that cannot be accepted is logged and skipped.
pub async fn serve(listener: TcpListener, tls: Arc<ServerConfig>, router: Router, end: End) {
    serve_at_most(CONNECTIONS, listener, tls, router, end).await;
}

/// As [`serve`], with this limit of open connections.
pub(super) async fn serve_at_most(
    connections: usize,
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    router: Router,
    end: End,
) {
    let limit = Arc::new(ConnectionLimit::new(connections));
    // Close the listener before the connections: a client whose connection was closed opens another one at once.
    let unheard = CancellationToken::new();
    let of_connections = End {
        drain: end.drain,
        close: unheard.clone(),
    };
    let connections = Connections::new(tls, router, of_connections);
    // Each connection owns a sender. When all senders are dropped, all connections have ended.
    let (open, mut all_ended) = mpsc::channel::<()>(1);
    loop {
        let accepted = tokio::select! {
            () = end.close.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, client)) => {
                // On a socket of both families an IPv4 address is mapped to IPv6.
                let client = client.ip().to_canonical();
                let Some(slot) = limit.take(client) else {
                    tracing::warn!(%client, "a connection to the webhook was refused: all others have an open request");
                    continue;
                };
                // A separate task, so that a slow handshake does not delay other clients.
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
        tracing::warn!(limit = ?CLOSING, "connections to the webhook were closed by force");
    }
}
