//! The SDK client, with timeouts, retries and metrics.
//! Rule: R5.1.

use std::time::{Duration, Instant};

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_ec2::Client;
use aws_sdk_ec2::config::http::HttpResponse;
use aws_sdk_ec2::config::retry::RetryConfig;
use aws_sdk_ec2::config::timeout::TimeoutConfig;
use aws_sdk_ec2::config::{Builder, IdentityCache, SharedCredentialsProvider};
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use mooring_plan::ec2::CALL_LIMIT;
use mooring_plan::outcome::Action;

use super::credentials::{CredentialsTimeout, DetachedProvider};
use super::failure;
use crate::cloud::CloudError;
use crate::metrics::Metrics;

/// Time limit of one attempt of a call that is retried. The SDK itself limits only the connect time.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time limit of one page of interfaces, and of each attempt, after the usual limits have cut it off. A list changes
/// nothing, so it may outlive the lease. All other answers are short: a longer limit would only delay their retries.
pub const PAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// A client of EC2 for one account and region.
#[derive(Clone, Debug)]
pub struct Ec2 {
    pub(super) client: Client,
    metrics: Metrics,
}

impl Ec2 {
    /// A client from the environment: endpoint, region and credentials from the default chain of the SDK.
    /// No call of EC2 is made yet. None: there is no region, so that no call could be made.
    pub async fn from_environment(metrics: Metrics) -> Option<Self> {
        let config = aws_config::load_defaults(BehaviorVersion::latest()).await;
        Self::with_region(&config, metrics)
    }

    /// As [`Self::new`]. None: the configuration has no region.
    pub(super) fn with_region(config: &SdkConfig, metrics: Metrics) -> Option<Self> {
        let region = config.region()?;
        (!region.as_ref().is_empty()).then(|| Self::new(config, metrics))
    }

    /// A client from a configuration, with the timeouts and retries of Mooring.
    #[must_use]
    pub fn new(config: &SdkConfig, metrics: Metrics) -> Self {
        let identities = config.identity_cache();
        let identities = identities.unwrap_or_else(|| IdentityCache::lazy().build());
        let provider = config.credentials_provider();
        let provider = provider.map(|it| SharedCredentialsProvider::new(DetachedProvider::new(it)));
        let mut config = Builder::from(config);
        config.set_credentials_provider(provider.clone());
        let in_time = CredentialsTimeout {
            cache: identities,
            provider,
        };
        let config = config
            .identity_cache(in_time)
            .timeout_config(timeouts(CALL_LIMIT, ATTEMPT_TIMEOUT))
            .retry_config(RetryConfig::standard());
        Self {
            client: Client::from_conf(config.build()),
            metrics,
        }
    }

    /// Waits for an answer, counts it, and classifies a failure.
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

/// Gives a page of a list more time. It is retried within that time.
pub(super) fn with_long_timeout() -> Builder {
    Builder::new().timeout_config(timeouts(PAGE_TIMEOUT, PAGE_TIMEOUT))
}

/// Disables the retries of the SDK, which would repeat a mutating call before its outcome is handled. The one attempt
/// gets all the time: EC2 can carry out a call that is cut off, and its outcome would not be known.
pub(super) fn without_retry() -> Builder {
    Builder::new()
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts(CALL_LIMIT, CALL_LIMIT))
}

fn timeouts(operation: Duration, attempt: Duration) -> TimeoutConfig {
    TimeoutConfig::builder()
        .operation_timeout(operation)
        .operation_attempt_timeout(attempt)
        .build()
}

#[cfg(test)]
mod tests;
