//! A CA and a certificate of our own, kept in a Secret and published in our webhook configurations. Any replica
//! does what is due, and none has to lead: each write is guarded by the version that it was decided from, so
//! that of any number that start together one is first, and the others take what it made.

mod decide;
mod key_material;
mod observation;
mod options;
mod secret;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use rustls::crypto::CryptoProvider;

use super::cert_resolver::CertResolver;
use super::error::{Error, Trouble};
use super::notice::{Notice, complain};
use super::pair::Usable;
use super::webhook_config::{self, Configuration};
use decide::{Step, next};
use key_material::KeyMaterial;
use observation::{LocalState, Observation};
use secret::Version;

pub use decide::Lifetimes;
pub use options::Options;

/// While there is nothing to serve, and after a write that was refused.
const IMPATIENT: Duration = Duration::from_secs(1);
/// More steps than a start from nothing takes. A loop of steps pauses after them.
const STEPS: usize = 8;

pub(super) struct Keeper<N> {
    pub client: Client,
    pub options: Options,
    pub provider: Arc<CryptoProvider>,
    pub resolver: Arc<CertResolver>,
    pub notice: N,
}

impl<N: FnMut(Notice) + Send + Sync> Keeper<N> {
    /// Does what is due, for ever.
    pub async fn keep(mut self) {
        let mut state = LocalState::default();
        loop {
            let ended = self.round(&mut state).await;
            let calm = match ended {
                Ok(()) => {
                    state.complaint = None;
                    true
                }
                Err(error) => {
                    complain(&mut state.complaint, error, &mut self.notice);
                    false
                }
            };
            let interval = self.options.interval;
            let pause = if calm && state.serving.is_some() {
                interval
            } else {
                interval.min(IMPATIENT)
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.resolver.untrusted() => {}
            }
        }
    }

    async fn round(&mut self, state: &mut LocalState) -> Result<(), Error> {
        for _ in 0..STEPS {
            let now = jiff::Timestamp::now().as_millisecond();
            let configurations = webhook_config::read(&self.client).await.map_err(|source| {
                Trouble::kubernetes("reading the webhook configurations named mooring", source)
            })?;
            let observation = Observation::new(configurations, Arc::clone(&self.provider), now);
            if observation.names.is_empty() {
                return Err(Trouble::Unasked.into());
            }
            let done = match secret::read(&self.client, &self.options, &self.provider).await? {
                None => self.begin(None, &observation).await?,
                Some((version, Err(source))) => {
                    let secret = self.options.secret.clone();
                    let trouble = Trouble::Secret { secret, source };
                    complain(&mut state.spoiled, trouble.into(), &mut self.notice);
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
        Err(Trouble::Contended.into())
    }

    /// Makes a CA and a leaf where there are none. The CAs that are trusted already stay so.
    async fn begin(
        &self,
        version: Option<Version>,
        observation: &Observation,
    ) -> Result<bool, Error> {
        let Lifetimes {
            authority, leaf, ..
        } = self.options.lifetimes;
        let kept = KeyMaterial::new(
            &observation.names,
            observation.published_cas(),
            (authority, leaf),
            observation.now,
        );
        let kept = kept.map_err(Trouble::Making)?;
        secret::write(&self.client, &self.options, version, &kept).await?;
        Ok(false)
    }

    /// One step; whether it was the last for now.
    async fn step(
        &mut self,
        version: Version,
        (kept, usable): (KeyMaterial, Usable),
        observation: &Observation,
        state: &mut LocalState,
    ) -> Result<bool, Error> {
        let known = state.known(observation, &kept, &usable, self.resolver.current());
        let lifetimes = self.options.lifetimes;
        let step = next(
            &known.map_err(Trouble::Making)?,
            &lifetimes,
            observation.now,
        );
        if !matches!(step, Step::Serve | Step::Wait) {
            tracing::info!(?step, "keeping the webhook's certificate");
        }
        let written = match step {
            Step::Publish => {
                self.publish(&kept.bundle(), &observation.configurations)
                    .await?;
                return Ok(false);
            }
            Step::Serve => {
                self.serve(kept, usable, state);
                return Ok(true);
            }
            Step::Wait => return Ok(true),
            Step::AdoptCa => kept.with(observation.published_cas()),
            Step::Rotate => self.rotated(&kept, observation)?,
            Step::Renew => match self.renewed(&kept, observation) {
                Some(renewed) => renewed,
                // The Secret's CA was replaced by one that cannot sign for us: a new one can.
                None => self.rotated(&kept, observation)?,
            },
            Step::PruneCa => kept.without_the_old(),
        };
        secret::write(&self.client, &self.options, Some(version), &written).await?;
        Ok(false)
    }

    async fn publish(&self, bundle: &str, configurations: &[Configuration]) -> Result<(), Error> {
        for configuration in configurations {
            webhook_config::write(&self.client, configuration, bundle)
                .await
                .or_else(|error| secret::late(error, &[409, 422]))
                .map_err(|source| Trouble::kubernetes("publishing the webhook's CA", source))?;
        }
        Ok(())
    }

    fn rotated(&self, kept: &KeyMaterial, observation: &Observation) -> Result<KeyMaterial, Error> {
        let rotated = kept.rotated(self.options.lifetimes.authority, observation.now);
        Ok(rotated.map_err(Trouble::Making)?)
    }

    /// With another leaf, if that would be trusted.
    fn renewed(&self, kept: &KeyMaterial, observation: &Observation) -> Option<KeyMaterial> {
        let leaf = self.options.lifetimes.leaf;
        let renewed = kept
            .renewed(&observation.names, leaf, observation.now)
            .ok()?;
        let secret = Path::new(&self.options.secret);
        let usable = renewed.pair.check(secret, &self.provider).ok()?;
        observation
            .is_by_newest(&usable.key, kept)
            .then_some(renewed)
    }

    fn serve(&mut self, kept: KeyMaterial, usable: Usable, state: &mut LocalState) {
        if state
            .serving
            .as_ref()
            .is_none_or(|serving| serving.pair != kept.pair)
        {
            self.resolver.replace(usable.key);
            (self.notice)(Notice::Loaded {
                not_after: usable.not_after,
            });
        }
        state.serving = Some(kept);
    }
}
