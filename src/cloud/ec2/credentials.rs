//! Limits the time that a call waits for credentials, and lets a load that takes longer go on for later calls.

use std::time::{Duration, SystemTime};

use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{self, future};
use aws_sdk_ec2::config::{
    ConfigBag, Credentials, ProvideCredentials, ResolveCachedIdentity, RuntimeComponents,
    SharedCredentialsProvider, SharedIdentityCache,
};
use aws_smithy_runtime_api::client::identity::{IdentityFuture, SharedIdentityResolver};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Time limit for the credentials of an attempt. It must be shorter than the attempt: otherwise an STS that cannot be
/// reached would look like an EC2 that does not answer.
const CREDENTIALS_TIMEOUT: Duration = Duration::from_millis(1500);

/// The same if the provider has earlier credentials that are valid: EC2 needs most of the time of the attempt.
const FALLBACK_AFTER: Duration = Duration::from_millis(300);

/// A load counts for this time after its start, which is about the limit of the SDK. Later it is begun again: it can
/// wait for a connection without answers, or its credentials can have expired.
const LOAD_TIMEOUT: Duration = Duration::from_secs(20);

/// The cache of credentials of the SDK, with a time limit. The limit is of the cache and not of the load, because calls
/// that find no credentials load them one after the other, and the last ones would wait for too long.
#[derive(Debug)]
pub(super) struct CredentialsTimeout {
    pub(super) cache: SharedIdentityCache,
    /// The provider of the credentials that the cache loads.
    pub(super) provider: Option<SharedCredentialsProvider>,
}

impl ResolveCachedIdentity for CredentialsTimeout {
    fn resolve_cached_identity<'a>(
        &'a self,
        resolver: SharedIdentityResolver,
        components: &'a RuntimeComponents,
        config: &'a ConfigBag,
    ) -> IdentityFuture<'a> {
        let cached = self
            .cache
            .resolve_cached_identity(resolver, components, config);
        // The shared types of the SDK do not pass the question on: ask the provider itself.
        let provider = self.provider.as_ref().map(AsRef::as_ref);
        let earlier = provider.and_then(ProvideCredentials::fallback_on_interrupt);
        IdentityFuture::new(async move {
            let valid = earlier
                .as_ref()
                .is_some_and(|earlier| earlier.expiry().is_none_or(|end| end > SystemTime::now()));
            let limit = if valid {
                FALLBACK_AFTER
            } else {
                CREDENTIALS_TIMEOUT
            };
            match (tokio::time::timeout(limit, cached).await, earlier) {
                (Ok(identity), _) => identity,
                (Err(_), Some(earlier)) => Ok(earlier.into()),
                (Err(_), None) => Err(CredentialsError::provider_timed_out(limit).into()),
            }
        })
    }
}

/// A provider whose load does not end with the call that began it. The next call waits for the same load: otherwise an
/// STS that needs more time than a call may wait would never give credentials.
#[derive(Debug)]
pub(super) struct DetachedProvider {
    provider: SharedCredentialsProvider,
    load: Mutex<Option<Load>>,
}

#[derive(Debug)]
struct Load {
    begun: Instant,
    task: AbortOnDropHandle<provider::Result>,
}

impl DetachedProvider {
    pub(super) fn new(provider: SharedCredentialsProvider) -> Self {
        Self {
            provider,
            load: Mutex::new(None),
        }
    }

    /// It can be dropped at any time: the task goes on, and is found by the next call.
    async fn load(&self) -> provider::Result {
        let mut load = self.load.lock().await;
        drop(load.take_if(|load| load.begun.elapsed() >= LOAD_TIMEOUT));
        let known = load.get_or_insert_with(|| self.begin());
        let ended = (&mut known.task).await;
        *load = None;
        ended.unwrap_or_else(|error| Err(CredentialsError::unhandled(error)))
    }

    fn begin(&self) -> Load {
        let provider = self.provider.clone();
        let task = tokio::spawn(async move { provider.provide_credentials().await });
        Load {
            begun: Instant::now(),
            task: AbortOnDropHandle::new(task),
        }
    }
}

impl ProvideCredentials for DetachedProvider {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.load())
    }

    fn fallback_on_interrupt(&self) -> Option<Credentials> {
        self.provider.as_ref().fallback_on_interrupt()
    }
}
