//! A CA and a certificate of our own, kept in a Secret and published in our webhook configurations. Any replica
//! does what is due, and none has to lead: each write is guarded by the version that it was decided from, so
//! that of any number that start together one is first, and the others take what it made.

mod decide;
mod kept;
mod secret;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;

use super::believed::verified;
use super::pair::{Usable, validity};
use super::published::{self, Configuration};
use super::watch::{Served, complain};
use super::{Error, Notice};
use decide::{Known, Step, next};
use kept::{Kept, SKEW};

pub use decide::Lifetimes;
pub use kept::Unusable;

/// While there is nothing to serve, and after a write that was refused.
const IMPATIENT: Duration = Duration::from_secs(1);
/// More steps than a start from nothing takes: whatever goes round in circles rests in between.
const STEPS: usize = 8;

/// Where the certificate is kept, and how long things last.
#[derive(Clone, Debug)]
pub struct Options {
    /// Namespace of the Secret.
    pub namespace: String,
    /// Its name.
    pub secret: String,
    /// How often it is looked at.
    pub interval: Duration,
    /// How long things last.
    pub lifetimes: Lifetimes,
}

/// Why there is no certificate, or none that may be served yet.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The API server did not do it.
    #[error("{doing}")]
    Kubernetes {
        /// What it was asked for.
        doing: String,
        /// What it said.
        #[source]
        source: kube::Error,
    },
    /// The Secret holds something else; it is made anew.
    #[error("Secret {secret} cannot be used and is made anew")]
    Secret {
        /// Its name.
        secret: String,
        /// Why.
        #[source]
        source: Unusable,
    },
    /// A certificate cannot be made.
    #[error("making the webhook's certificate")]
    Making(#[from] Unusable),
    /// Nobody dials us.
    #[error(
        "there is no webhook configuration named mooring, so that nobody asks: apply config/webhook"
    )]
    Unasked,
    /// The others change what this one writes.
    #[error(
        "the webhook's certificate is changed as soon as it is written: does anything else write Secret or caBundle?"
    )]
    Contended,
}

pub(super) struct Keeper<N> {
    pub client: Client,
    pub options: Options,
    pub provider: Arc<CryptoProvider>,
    pub served: Arc<Served>,
    pub notice: N,
}

/// What this process has seen, besides the objects.
#[derive(Default)]
struct Seen {
    /// Since when the bundle is published, and which.
    published: Option<(String, i64)>,
    /// What is served.
    serving: Option<Kept>,
    complaint: Option<String>,
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
            tokio::time::sleep(pause).await;
        }
    }

    async fn round(&mut self, seen: &mut Seen) -> Result<(), Error> {
        for _ in 0..STEPS {
            let now = jiff::Timestamp::now().as_millisecond();
            let configurations = published::read(&self.client).await.map_err(|source| {
                kubernetes("reading the webhook configurations named mooring", source)
            })?;
            let names = names(&configurations);
            if names.is_empty() {
                return Err(Trouble::Unasked.into());
            }
            let done = match secret::read(&self.client, &self.options, &self.provider).await? {
                None => self.begin(None, &names, &configurations, now).await?,
                Some((version, Err(source))) => {
                    let secret = self.options.secret.clone();
                    let trouble = Trouble::Secret { secret, source };
                    complain(&mut seen.complaint, trouble.into(), &mut self.notice);
                    self.begin(Some(version), &names, &configurations, now)
                        .await?
                }
                Some((version, Ok((kept, usable)))) => {
                    let found = (kept, usable);
                    self.step(version, found, &names, &configurations, seen, now)
                        .await?
                }
            };
            if done {
                return Ok(());
            }
        }
        Err(Trouble::Contended.into())
    }

    /// Makes a CA and a leaf where there are none. The CAs that are believed already stay so.
    async fn begin(
        &self,
        version: Option<String>,
        names: &[ServerName<'static>],
        configurations: &[Configuration],
        now: i64,
    ) -> Result<bool, Error> {
        let lifetimes = &self.options.lifetimes;
        let mut believed: Vec<CertificateDer<'static>> = Vec::new();
        for hook in configurations.iter().flat_map(|it| &it.hooks) {
            for certificate in &hook.bundle {
                let lives = validity(certificate).is_ok_and(|it| it.not_after * 1000 > now);
                if lives && !believed.contains(certificate) && believed.len() < 2 {
                    believed.push(certificate.clone());
                }
            }
        }
        let life = (lifetimes.authority, lifetimes.leaf);
        let kept = Kept::new(names, believed, life, now).map_err(Trouble::Making)?;
        secret::write(&self.client, &self.options, version, &kept).await?;
        Ok(false)
    }

    /// One step; whether it was the last for now.
    async fn step(
        &mut self,
        version: String,
        (kept, usable): (Kept, Usable),
        names: &[ServerName<'static>],
        configurations: &[Configuration],
        seen: &mut Seen,
        now: i64,
    ) -> Result<bool, Error> {
        let wanted: BTreeSet<&[u8]> = kept.authorities.iter().map(AsRef::as_ref).collect();
        let mut hooks = configurations.iter().flat_map(|it| &it.hooks);
        let published = hooks.all(|hook| {
            let bundle: BTreeSet<&[u8]> = hook.bundle.iter().map(AsRef::as_ref).collect();
            bundle == wanted
        });
        let bundle = kept.bundle();
        seen.published = published.then(|| match seen.published.take() {
            Some((before, since)) if before == bundle => (before, since),
            _ => (bundle.clone(), now),
        });
        let lifetimes = self.options.lifetimes;
        let newest = kept.newest().map_err(Trouble::Making)?;
        let (all, first) = (kept.authorities.as_slice(), kept.authorities.get(..1));
        let good =
            |key: &CertifiedKey, believed: &[CertificateDer<'static>], name: &ServerName<'_>| {
                let now = UnixTime::since_unix_epoch(Duration::from_millis(now.unsigned_abs()));
                verified(key, believed, name, now, &self.provider)
            };
        let other = seen
            .serving
            .as_ref()
            .is_some_and(|serving| serving.pair != kept.pair);
        let served = self.served.served().filter(|_| other);
        let known = Known {
            authority: (newest.not_before * 1000, newest.not_after * 1000),
            authorities: kept.authorities.len(),
            leaf: (
                (usable.not_before.saturating_add_unsigned(SKEW.as_secs())) * 1000,
                usable.not_after * 1000,
            ),
            by_newest: names
                .iter()
                .any(|name| good(&usable.key, first.unwrap_or_default(), name)),
            names_fit: names.iter().all(|name| good(&usable.key, all, name)),
            published: seen.published.as_ref().map(|(_, since)| *since),
            other_served: served
                .as_ref()
                .is_some_and(|served| names.iter().all(|name| good(served, all, name))),
        };
        let step = next(&known, &lifetimes, now);
        if !matches!(step, Step::Serve | Step::Rest) {
            tracing::info!(?step, "keeping the webhook's certificate");
        }
        match step {
            Step::Publish => {
                for configuration in configurations {
                    published::write(&self.client, configuration, &bundle)
                        .await
                        .or_else(|error| secret::late(error, &[409, 422]))
                        .map_err(|source| kubernetes("publishing the webhook's CA", source))?;
                }
            }
            Step::Rotate => {
                let rotated = kept.rotated(lifetimes.authority, now);
                self.write(version, &rotated.map_err(Trouble::Making)?)
                    .await?;
            }
            Step::Renew => {
                let renewed = kept.renewed(names, lifetimes.leaf, now);
                self.write(version, &renewed.map_err(Trouble::Making)?)
                    .await?;
            }
            Step::Forget => self.write(version, &kept.without_the_old()).await?,
            Step::Serve => {
                self.serve(kept, usable, seen);
                return Ok(true);
            }
            Step::Rest => return Ok(true),
        }
        Ok(false)
    }

    /// Replaces the Secret that this was decided from.
    async fn write(&self, version: String, kept: &Kept) -> Result<(), Error> {
        secret::write(&self.client, &self.options, Some(version), kept).await
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

fn kubernetes(doing: impl Into<String>, source: kube::Error) -> Error {
    let doing = doing.into();
    Trouble::Kubernetes { doing, source }.into()
}

fn names(configurations: &[Configuration]) -> Vec<ServerName<'static>> {
    let mut names: Vec<ServerName<'static>> = Vec::new();
    for name in configurations
        .iter()
        .flat_map(|it| &it.hooks)
        .filter_map(|hook| hook.name.as_ref())
    {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}
