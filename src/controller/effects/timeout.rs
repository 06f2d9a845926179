//! The time that one request to the API server may take.

use std::time::Duration;

use crate::controller::error::Failure;

/// A request that takes longer may still be executed. Its outcome counts as unknown.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs a request with a timeout of [`REQUEST_TIMEOUT`]. `doing` describes its purpose for the error message.
pub(in crate::controller) async fn with_timeout<T>(
    doing: impl FnOnce() -> String,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(REQUEST_TIMEOUT, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => Err(Failure::Api {
            doing: doing(),
            source,
        }),
        Err(_) => Err(Failure::Late {
            doing: doing(),
            limit: REQUEST_TIMEOUT,
        }),
    }
}
