//! Does the API server believe what is served? A replica that it does not believe refuses every pod that asks for
//! an address, and must get no requests.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;

use super::pair::validity;
use super::published;
use super::watch::Served;

/// What a `caBundle` says of a certificate changes with both: looked at often while it does not hold.
const IMPATIENT: Duration = Duration::from_secs(1);

/// Whether the API server would take what is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Belief {
    /// Every webhook's `caBundle` verifies it, or there is no webhook.
    Believed,
    /// These webhooks' do not.
    Doubted(Vec<String>),
    /// The webhook configurations cannot be read: what was known goes on.
    Unknown(String),
}

pub(super) async fn watch<N>(
    client: Client,
    interval: Duration,
    provider: Arc<CryptoProvider>,
    served: Arc<Served>,
    mut notice: N,
) where
    N: FnMut(Belief) + Send,
{
    let mut last = None;
    loop {
        let belief = match (served.served(), published::read(&client).await) {
            (None, _) => None,
            (Some(_), Err(error)) => Some(Belief::Unknown(crate::telemetry::chain(&error))),
            (Some(key), Ok(configurations)) => {
                let now = UnixTime::now();
                let hooks = configurations.iter().flat_map(|it| &it.hooks);
                let doubting = hooks.filter(|hook| {
                    let name = hook.name.as_ref();
                    !name.is_some_and(|name| verified(&key, &hook.bundle, name, now, &provider))
                });
                let doubting: Vec<String> = doubting.map(|hook| hook.webhook.clone()).collect();
                Some(if doubting.is_empty() {
                    Belief::Believed
                } else {
                    Belief::Doubted(doubting)
                })
            }
        };
        let calm = belief == Some(Belief::Believed);
        if last != belief {
            last.clone_from(&belief);
            belief.into_iter().for_each(&mut notice);
        }
        tokio::time::sleep(if calm {
            interval
        } else {
            interval.min(IMPATIENT)
        })
        .await;
    }
}

/// Would a client that believes only these CAs, and dials this name, take the certificate? Go, which the API server
/// is written in, looks at the dates of a CA as well.
pub(super) fn verified(
    key: &CertifiedKey,
    believed: &[CertificateDer<'static>],
    name: &ServerName<'_>,
    now: UnixTime,
    provider: &Arc<CryptoProvider>,
) -> bool {
    let mut roots = RootCertStore::empty();
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let lives = |certificate: &&CertificateDer<'_>| {
        validity(certificate).is_ok_and(|it| it.not_before <= seconds && seconds <= it.not_after)
    };
    roots.add_parsable_certificates(believed.iter().filter(lives).cloned());
    let Ok(verifier) =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build()
    else {
        return false;
    };
    let Some((leaf, chain)) = key.cert.split_first() else {
        return false;
    };
    verifier
        .verify_server_cert(leaf, chain, name, &[], now)
        .is_ok()
}
