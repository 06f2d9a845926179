//! The time that one request to the API server may take.

use std::time::Duration;

/// A request that takes longer may still be executed. Its outcome counts as unknown.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The API server refused it, or could not be reached.
    #[error("{doing}")]
    Api {
        /// What the request was made for, and the object.
        doing: String,
        /// The error of the request.
        #[source]
        source: kube::Error,
    },
    /// There was no answer in time. The request may have been executed.
    #[error("{doing}: no answer within {limit:?}")]
    Late {
        /// What the request was made for, and the object.
        doing: String,
        /// The time limit.
        limit: Duration,
    },
}

impl RequestError {
    /// The code that the API server answered. None: there was no such answer.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Api {
                source: kube::Error::Api(status),
                ..
            } => Some(status.code),
            Self::Api { .. } | Self::Late { .. } => None,
        }
    }
}

/// Runs a request with a timeout of [`REQUEST_TIMEOUT`]. `doing` describes its purpose for the error message.
///
/// # Errors
/// The request failed, or had no answer in time.
pub async fn with_timeout<T>(
    doing: impl FnOnce() -> String,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, RequestError> {
    match tokio::time::timeout(REQUEST_TIMEOUT, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => Err(RequestError::Api {
            doing: doing(),
            source,
        }),
        Err(_) => Err(RequestError::Late {
            doing: doing(),
            limit: REQUEST_TIMEOUT,
        }),
    }
}

/// Runs a request with a timeout of [`REQUEST_TIMEOUT`], for callers that add its purpose to the error.
///
/// # Errors
/// The request failed, or had no answer in time.
pub async fn in_time<T>(request: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    let late = |late| kube::Error::Service(Box::new(late));
    tokio::time::timeout(REQUEST_TIMEOUT, request)
        .await
        .map_err(late)?
}
