//! How the server is told to end.

use tokio_util::sync::CancellationToken;

/// The end of the server, in two steps.
///
/// The API server does not repeat a review that it sent over a connection which is being closed, and the pod is refused.
/// So connections are closed by answers first, while the API server learns that this replica goes. At the close only
/// those are left that were not used since.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// Each answer closes its connection. New connections are still accepted.
    pub drain: CancellationToken,
    /// The listener closes, then each connection without a request.
    pub close: CancellationToken,
}

impl End {
    pub(super) fn has_begun(&self) -> bool {
        self.drain.is_cancelled() || self.close.is_cancelled()
    }
}
