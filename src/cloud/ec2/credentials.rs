//! Limits the time for credentials.

use std::time::Duration;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_ec2::config::{
    ConfigBag, ResolveCachedIdentity, RuntimeComponents, SharedIdentityCache,
};
use aws_smithy_runtime_api::client::identity::{IdentityFuture, SharedIdentityResolver};

/// Time limit for the credentials of an attempt. It must be shorter than the attempt: otherwise an STS that cannot be
/// reached would look like an EC2 that does not answer.
const CREDENTIALS_TIMEOUT: Duration = Duration::from_millis(1500);

/// The cache of credentials of the SDK, with a time limit. The limit is of the cache and not of the load, because calls
/// that find no credentials load them one after the other, and the last ones would wait for too long.
#[derive(Debug)]
pub(super) struct InTime(pub(super) SharedIdentityCache);

impl ResolveCachedIdentity for InTime {
    fn resolve_cached_identity<'a>(
        &'a self,
        resolver: SharedIdentityResolver,
        components: &'a RuntimeComponents,
        config: &'a ConfigBag,
    ) -> IdentityFuture<'a> {
        let cached = self.0.resolve_cached_identity(resolver, components, config);
        IdentityFuture::new(async move {
            let in_time = tokio::time::timeout(CREDENTIALS_TIMEOUT, cached).await;
            in_time.unwrap_or_else(|_| {
                Err(CredentialsError::provider_timed_out(CREDENTIALS_TIMEOUT).into())
            })
        })
    }
}
