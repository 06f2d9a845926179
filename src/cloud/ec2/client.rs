//! The SDK's client, with timeouts, retries and counts.
//! Rule: R5.1.

use std::time::{Duration, Instant};

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_ec2::Client;
use aws_sdk_ec2::config::Builder;
use aws_sdk_ec2::config::http::HttpResponse;
use aws_sdk_ec2::config::retry::RetryConfig;
use aws_sdk_ec2::config::timeout::TimeoutConfig;
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use mooring_plan::outcome::Action;

use super::failure;
use crate::cloud::CloudError;
use crate::metrics::Metrics;

/// How long a call may take, the SDK's retries included. The lease must outlast it.
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(5);
/// How long one attempt may take. The SDK has no limit of its own but for connecting.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);

/// EC2 in one account and region.
#[derive(Clone, Debug)]
pub struct Ec2 {
    pub(super) client: Client,
    metrics: Metrics,
}

impl Ec2 {
    /// EC2 as the environment describes it: endpoint, region and credentials by the SDK's usual chain.
    /// Nothing is called yet; what is missing shows at the first call.
    pub async fn from_environment(metrics: Metrics) -> Self {
        Self::new(
            &aws_config::load_defaults(BehaviorVersion::latest()).await,
            metrics,
        )
    }

    /// EC2 as a configuration describes it, with timeouts and retries of our own.
    #[must_use]
    pub fn new(config: &SdkConfig, metrics: Metrics) -> Self {
        let timeouts = TimeoutConfig::builder()
            .operation_timeout(OPERATION_TIMEOUT)
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .build();
        let config = Builder::from(config)
            .timeout_config(timeouts)
            .retry_config(RetryConfig::standard())
            .build();
        Self {
            client: Client::from_conf(config),
            metrics,
        }
    }

    /// Waits for an answer, counts it, and says what a failure means.
    pub(super) async fn answer<T, E>(
        &self,
        action: Action,
        object: &str,
        call: impl Future<Output = Result<T, SdkError<E, HttpResponse>>> + Send,
    ) -> Result<T, CloudError>
    where
        T: Send,
        E: std::error::Error + ProvideErrorMetadata + Send + Sync + 'static,
    {
        let begun = Instant::now();
        let result = call
            .await
            .map_err(|error| failure::from_sdk(action, object, error));
        let code = result
            .as_ref()
            .map_or_else(|error| error.code.as_str(), |_| "OK");
        self.metrics
            .ec2_request(action.name(), code, begun.elapsed().as_secs_f64());
        result
    }
}

/// The SDK's own retries would repeat a mutating call before its outcome is looked at.
pub(super) fn never_again() -> Builder {
    Builder::new().retry_config(RetryConfig::disabled())
}
