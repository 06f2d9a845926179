//! Signals for the shutdown of the server.

use tokio_util::sync::CancellationToken;

/// The shutdown of the server, in two steps.
///
/// The API server does not repeat a review that it sent over a connection which is being closed, and the pod is
/// refused. So in the first step answers close their connections, while the API server learns that this replica ends.
/// In the second step only connections are left that were not used since.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// First step: each answer closes its connection. New connections are still accepted.
    pub drain: CancellationToken,
    /// Second step: the listener closes, then each connection without a request.
    pub close: CancellationToken,
}

impl End {
    pub(super) fn has_begun(&self) -> bool {
        self.drain.is_cancelled() || self.close.is_cancelled()
    }
}
