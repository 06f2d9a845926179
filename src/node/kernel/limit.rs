//! The time that one answer of the kernel may take.

use std::fmt;
use std::time::Duration;

use super::error::KernelError;

/// Time limit of one answer of the kernel. A list of many entries has many answers.
pub(super) const LIMIT: Duration = Duration::from_secs(10);

/// Runs a request to the kernel. `what` is its purpose.
pub(super) async fn in_time<T>(
    what: &(dyn fmt::Display + Sync),
    request: impl Future<Output = Result<T, KernelError>>,
) -> Result<T, KernelError> {
    let late = |_| KernelError::Late {
        what: what.to_string(),
        limit: LIMIT,
    };
    tokio::time::timeout(LIMIT, request).await.map_err(late)?
}

#[cfg(test)]
mod tests {
    use super::in_time;

    #[tokio::test(start_paused = true)]
    async fn a_request_that_the_kernel_does_not_answer_ends() {
        let request = std::future::pending::<Result<(), _>>();
        let error = in_time(&"reading rules", request).await.unwrap_err();
        let expected = "reading rules: no answer of the kernel within 10 s";
        assert_eq!(error.to_string(), expected);
    }
}
