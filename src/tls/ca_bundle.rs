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
/// And now and then while it does: who applies the configurations anew may have taken the bundles out.
const CALM: Duration = Duration::from_secs(5);

/// Whether the API server would take what is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Belief {
    /// Every webhook's `caBundle` verifies it, or there is no webhook.
    Believed,
    /// These webhooks' do not.
    Doubted(Vec<String>),
    /// Nobody does: it has ended, and nobody has brought another.
    Ended,
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
            (Some(key), Err(_)) if has_ended(&key, UnixTime::now()) => Some(Belief::Ended),
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
        if matches!(belief, Some(Belief::Doubted(_))) {
            served.doubt();
        }
        if last != belief {
            last.clone_from(&belief);
            belief.into_iter().for_each(&mut notice);
        }
        let pause = interval.min(if calm { CALM } else { IMPATIENT });
        // What was just read from a file, nobody may believe.
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = served.replaced() => {}
        }
    }
}

/// A certificate that nobody can read has not: then it would not be served.
fn has_ended(key: &CertifiedKey, now: UnixTime) -> bool {
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let leaf = key.cert.first().and_then(|leaf| validity(leaf).ok());
    leaf.is_some_and(|leaf| leaf.not_after < seconds)
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use k8s_openapi::ByteString;
    use rcgen::{CertifiedKey, KeyPair};
    use serde_json::json;
    use tokio::sync::mpsc::unbounded_channel;
    use tokio::time::Instant;

    use super::{Belief, UnixTime, has_ended, watch};
    use crate::fake_api::api_server;
    use crate::tls::pair::Pair;
    use crate::tls::watch::Served;

    const NAME: &str = "mooring-webhook.mooring-system.svc";

    fn pair() -> CertifiedKey<KeyPair> {
        rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap()
    }

    fn serve(served: &Served, pair: &CertifiedKey<KeyPair>) {
        let (certificate, key) = (pair.cert.pem(), pair.signing_key.serialize_pem());
        let pair = Pair::new(certificate.into_bytes(), key.into_bytes());
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let usable = pair.check(std::path::Path::new("tls"), &provider).unwrap();
        served.replace(usable.key);
    }

    #[test]
    fn a_certificate_that_has_ended_is_known_without_the_api_server() {
        let served = Served::default();
        serve(&served, &pair());
        let key = served.served().unwrap();
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        // What rcgen makes lasts until the year 4096.
        assert!(!has_ended(&key, at(1_800_000_000)));
        assert!(has_ended(&key, at(70_000_000_000)));
    }

    #[tokio::test(start_paused = true)]
    async fn whether_a_new_certificate_is_believed_is_known_at_once() {
        let (believed, foreign) = (pair(), pair());
        let bundle = ByteString(believed.cert.pem().into_bytes());
        let client = api_server(move |_, path, _| {
            let service = json!({"name": "mooring-webhook", "namespace": "mooring-system"});
            let hook = json!({"name": "pods.ip.wgtwo.com", "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": service, "caBundle": bundle}});
            assert!(path.ends_with("webhookconfigurations/mooring"), "{path}");
            (
                200,
                json!({"metadata": {"name": "mooring"}, "webhooks": [hook]}),
            )
        });
        let served = Arc::new(Served::default());
        let (tell, mut told) = unbounded_channel();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let (interval, notice) = (Duration::from_hours(1), move |belief| {
            tell.send(belief).unwrap();
        });
        serve(&served, &believed);
        let task = tokio::spawn(watch(
            client,
            interval,
            provider,
            Arc::clone(&served),
            notice,
        ));
        assert_eq!(told.recv().await, Some(Belief::Believed));
        let begin = Instant::now();
        serve(&served, &foreign);
        let both = vec!["pods.ip.wgtwo.com".to_owned(); 2];
        assert_eq!(told.recv().await, Some(Belief::Doubted(both)));
        assert_eq!(begin.elapsed(), Duration::ZERO, "it was not waited for");
        task.abort();
    }
}
