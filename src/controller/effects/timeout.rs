//! The time that one request of the controller to the API server may take.

use crate::api::request;
use crate::controller::error::Failure;

/// Runs a request with a timeout of [`request::REQUEST_TIMEOUT`]. `doing` describes its purpose for the error message.
pub(in crate::controller) async fn with_timeout<T>(
    doing: impl FnOnce() -> String,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, Failure> {
    Ok(request::with_timeout(doing, request).await?)
}
