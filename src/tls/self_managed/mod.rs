//! The self-managed certificate, stored in a Secret and published in the webhook configurations of Mooring. Any replica
//! makes the step that is due, without leader election: each write is guarded by the version that it was decided from.
//! If several replicas start together, one write succeeds and the others use its result.
//!
//! The configurations are read before the Secret. So no certificate is removed from them that was published for a newer
//! Secret than the one that was read.

mod decide;
mod key_material;
mod observation;
mod options;
mod secret;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;

use super::cert_resolver::CertResolver;
use super::error::{Error, SelfManagedError};
use super::notice::{CertificateNotice, report_once};
use super::pair::Pair;
use super::webhook_config;
use decide::{CertificateStep, next};
use key_material::{KeyMaterial, make};
use observation::{LocalState, Observation};
use secret::{SecretContents, Version};

pub use decide::Lifetimes;
pub use options::Options;

/// Wait while there is no certificate, and after a write that was refused.
const RETRY: Duration = Duration::from_secs(1);
/// The most steps in sequence, more than a start without a Secret takes. After them the loop pauses.
const STEPS: usize = 8;

pub(super) struct Renewer<N> {
    pub client: Client,
    pub options: Options,
    pub provider: Arc<CryptoProvider>,
    pub resolver: Arc<CertResolver>,
    pub notice: N,
}

impl<N: FnMut(CertificateNotice) + Send + Sync> Renewer<N> {
    /// Makes the steps that are due. Never returns.
    pub async fn run(mut self) {
        let mut state = LocalState::default();
        loop {
            let now = jiff::Timestamp::now().as_millisecond();
            let ended = self.round(&mut state, now).await;
            let succeeded = match ended {
                Ok(()) => {
                    state.reported = None;
                    true
                }
                Err(error) => {
                    report_once(&mut state.reported, error, &mut self.notice);
                    false
                }
            };
            let interval = self.options.interval;
            let pause = if succeeded && state.serving.is_some() {
                interval
            } else {
                interval.min(RETRY)
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.resolver.untrusted() => {}
            }
        }
    }

    async fn round(&mut self, state: &mut LocalState, now: i64) -> Result<(), Error> {
        for _ in 0..STEPS {
            let configurations = webhook_config::read(&self.client).await.map_err(|source| {
                SelfManagedError::kubernetes(
                    "reading the webhook configurations named mooring",
                    source,
                )
            })?;
            let settling = self.options.lifetimes.settling;
            let provider = Arc::clone(&self.provider);
            let observation = Observation::new(configurations, provider, settling, now);
            if observation.names.is_empty() {
                return Err(SelfManagedError::NoWebhookConfiguration.into());
            }
            let done = match secret::read(&self.client, &self.options, &self.provider).await? {
                None => self.begin(None, &observation).await?,
                Some((version, Err(source))) => {
                    let secret = self.options.secret.clone();
                    let trouble = SelfManagedError::Secret { secret, source };
                    report_once(&mut state.spoiled, trouble.into(), &mut self.notice);
                    self.begin(Some(version), &observation).await?
                }
                Some((version, Ok(found))) => {
                    state.spoiled = None;
                    self.step(version, found, &observation, state).await?
                }
            };
            if done {
                return Ok(());
            }
        }
        Err(SelfManagedError::WriteConflicts.into())
    }

    /// Makes a first pair, if no usable one exists. Published certificates stay published.
    async fn begin(
        &self,
        version: Option<Version>,
        observation: &Observation,
    ) -> Result<bool, Error> {
        let pair = self.made(observation)?;
        let kept = KeyMaterial { pair, next: None };
        secret::write(&self.client, &self.options, version, &kept).await?;
        Ok(false)
    }

    fn made(&self, observation: &Observation) -> Result<Pair, SelfManagedError> {
        let life = self.options.lifetimes.certificate;
        make(&observation.names, life, observation.now).map_err(SelfManagedError::Create)
    }

    /// Makes one step. Returns whether it was the last one for now.
    async fn step(
        &mut self,
        version: Version,
        found: SecretContents,
        observation: &Observation,
        state: &mut LocalState,
    ) -> Result<bool, Error> {
        let known = state.known(observation, &found, self.resolver.current());
        let step = next(&known, &self.options.lifetimes, observation.now);
        if !matches!(step, CertificateStep::Serve | CertificateStep::Wait) {
            tracing::info!(?step, "keeping the webhook's certificate");
        }
        let ours = found.certificates();
        let kept = found.kept.clone();
        let kept = match (step, kept.next) {
            (CertificateStep::Replace, _) => return self.begin(Some(version), observation).await,
            (CertificateStep::Prepare, _) => KeyMaterial {
                next: Some(self.made(observation)?),
                pair: kept.pair,
            },
            (CertificateStep::Switch, next) => KeyMaterial {
                pair: next.unwrap_or(kept.pair),
                next: None,
            },
            (CertificateStep::Publish, _) => {
                self.publish(&observation.bundle(&ours), observation)
                    .await?;
                return Ok(false);
            }
            (CertificateStep::Prune, _) => {
                self.publish(&ours, observation).await?;
                return Ok(false);
            }
            (CertificateStep::Serve, _) => {
                self.serve(found, state);
                return Ok(true);
            }
            (CertificateStep::Wait, _) => return Ok(true),
        };
        secret::write(&self.client, &self.options, Some(version), &kept).await?;
        Ok(false)
    }

    async fn publish(
        &self,
        bundle: &[CertificateDer<'static>],
        observation: &Observation,
    ) -> Result<(), Error> {
        let pem = |it: &CertificateDer<'_>| pem::encode(&pem::Pem::new("CERTIFICATE", it.to_vec()));
        let bundle: String = bundle.iter().map(pem).collect();
        for configuration in &observation.configurations {
            webhook_config::write(&self.client, configuration, &bundle)
                .await
                .or_else(|error| secret::late(error, &[409, 422]))
                .map_err(|source| {
                    SelfManagedError::kubernetes("publishing the webhook's certificate", source)
                })?;
        }
        Ok(())
    }

    fn serve(&mut self, found: SecretContents, state: &mut LocalState) {
        if state.serving.as_ref() != Some(&found.kept.pair) {
            self.resolver.replace(found.usable.key);
            (self.notice)(CertificateNotice::Loaded {
                not_after: found.usable.not_after,
            });
        }
        state.serving = Some(found.kept.pair);
    }
}
