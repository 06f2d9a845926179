//! A CA and a certificate of our own, kept in a Secret and published in our webhook configurations. Any replica
//! does what is due, and none has to lead: each write is guarded by the version that it was decided from, so
//! that of any number that start together one is first, and the others take what it made.

mod decide;
mod kept;
mod options;
mod secret;
mod seen;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use rustls::crypto::CryptoProvider;

use super::error::{Error, Trouble};
use super::notice::{Notice, complain};
use super::pair::Usable;
use super::published::{self, Configuration};
use super::watch::Served;
use decide::{Step, next};
use kept::Kept;
use secret::Version;
use seen::{Look, Seen};

pub use decide::Lifetimes;
pub use options::Options;

/// While there is nothing to serve, and after a write that was refused.
const IMPATIENT: Duration = Duration::from_secs(1);
/// More steps than a start from nothing takes: whatever goes round in circles rests in between.
const STEPS: usize = 8;

pub(super) struct Keeper<N> {
    pub client: Client,
    pub options: Options,
    pub provider: Arc<CryptoProvider>,
    pub served: Arc<Served>,
    pub notice: N,
}

impl<N: FnMut(Notice) + Send + Sync> Keeper<N> {
    /// Does what is due, for ever.
    pub async fn keep(mut self) {
        let mut seen = Seen::default();
        loop {
            let ended = self.round(&mut seen).await;
            let calm = match ended {
                Ok(()) => {
                    seen.complaint = None;
                    true
                }
                Err(error) => {
                    complain(&mut seen.complaint, error, &mut self.notice);
                    false
                }
            };
            let interval = self.options.interval;
            let pause = if calm && seen.serving.is_some() {
                interval
            } else {
                interval.min(IMPATIENT)
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.served.doubted() => {}
            }
        }
    }

    async fn round(&mut self, seen: &mut Seen) -> Result<(), Error> {
        for _ in 0..STEPS {
            let now = jiff::Timestamp::now().as_millisecond();
            let configurations = published::read(&self.client).await.map_err(|source| {
                Trouble::kubernetes("reading the webhook configurations named mooring", source)
            })?;
            let look = Look::new(configurations, Arc::clone(&self.provider), now);
            if look.names.is_empty() {
                return Err(Trouble::Unasked.into());
            }
            let done = match secret::read(&self.client, &self.options, &self.provider).await? {
                None => self.begin(None, &look).await?,
                Some((version, Err(source))) => {
                    let secret = self.options.secret.clone();
                    let trouble = Trouble::Secret { secret, source };
                    complain(&mut seen.spoiled, trouble.into(), &mut self.notice);
                    self.begin(Some(version), &look).await?
                }
                Some((version, Ok(found))) => {
                    seen.spoiled = None;
                    self.step(version, found, &look, seen).await?
                }
            };
            if done {
                return Ok(());
            }
        }
        Err(Trouble::Contended.into())
    }

    /// Makes a CA and a leaf where there are none. The CAs that are believed already stay so.
    async fn begin(&self, version: Option<Version>, look: &Look) -> Result<bool, Error> {
        let Lifetimes {
            authority, leaf, ..
        } = self.options.lifetimes;
        let kept = Kept::new(&look.names, look.believed(), (authority, leaf), look.now);
        let kept = kept.map_err(Trouble::Making)?;
        secret::write(&self.client, &self.options, version, &kept).await?;
        Ok(false)
    }

    /// One step; whether it was the last for now.
    async fn step(
        &mut self,
        version: Version,
        (kept, usable): (Kept, Usable),
        look: &Look,
        seen: &mut Seen,
    ) -> Result<bool, Error> {
        let known = seen.known(look, &kept, &usable, self.served.served());
        let lifetimes = self.options.lifetimes;
        let step = next(&known.map_err(Trouble::Making)?, &lifetimes, look.now);
        if !matches!(step, Step::Serve | Step::Rest) {
            tracing::info!(?step, "keeping the webhook's certificate");
        }
        let written = match step {
            Step::Publish => {
                self.publish(&kept.bundle(), &look.configurations).await?;
                return Ok(false);
            }
            Step::Serve => {
                self.serve(kept, usable, seen);
                return Ok(true);
            }
            Step::Rest => return Ok(true),
            Step::Remember => kept.with(look.believed()),
            Step::Rotate => self.rotated(&kept, look)?,
            Step::Renew => match self.renewed(&kept, look) {
                Some(renewed) => renewed,
                // A CA that somebody put there, and that signs nothing for us: ours does.
                None => self.rotated(&kept, look)?,
            },
            Step::Forget => kept.without_the_old(),
        };
        secret::write(&self.client, &self.options, Some(version), &written).await?;
        Ok(false)
    }

    async fn publish(&self, bundle: &str, configurations: &[Configuration]) -> Result<(), Error> {
        for configuration in configurations {
            published::write(&self.client, configuration, bundle)
                .await
                .or_else(|error| secret::late(error, &[409, 422]))
                .map_err(|source| Trouble::kubernetes("publishing the webhook's CA", source))?;
        }
        Ok(())
    }

    fn rotated(&self, kept: &Kept, look: &Look) -> Result<Kept, Error> {
        let rotated = kept.rotated(self.options.lifetimes.authority, look.now);
        Ok(rotated.map_err(Trouble::Making)?)
    }

    /// With another leaf, if that would be believed.
    fn renewed(&self, kept: &Kept, look: &Look) -> Option<Kept> {
        let leaf = self.options.lifetimes.leaf;
        let renewed = kept.renewed(&look.names, leaf, look.now).ok()?;
        let secret = Path::new(&self.options.secret);
        let usable = renewed.pair.check(secret, &self.provider).ok()?;
        look.is_by_newest(&usable.key, kept).then_some(renewed)
    }

    fn serve(&mut self, kept: Kept, usable: Usable, seen: &mut Seen) {
        if seen
            .serving
            .as_ref()
            .is_none_or(|serving| serving.pair != kept.pair)
        {
            self.served.replace(usable.key);
            (self.notice)(Notice::Loaded {
                not_after: usable.not_after,
            });
        }
        seen.serving = Some(kept);
    }
}
