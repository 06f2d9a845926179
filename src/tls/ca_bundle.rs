//! Checks whether the API server trusts the certificate that is served. If not, every pod that asks for an address is
//! refused when its review goes to this replica, so the replica must not get requests.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;

use super::cert_resolver::CertResolver;
use super::pair::validity;
use super::webhook_config::{self, Configuration, Watch};

/// Check interval while the certificate is not trusted: the certificate and the `caBundle` can change.
const UNTRUSTED_INTERVAL: Duration = Duration::from_secs(1);
/// Check interval while the certificate is trusted: it can expire. To apply the configurations again can remove the
/// bundles, so the configurations are read each time if the watch does not work.
const TRUSTED_INTERVAL: Duration = Duration::from_secs(5);

/// Whether the API server trusts the certificate that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Every webhook's `caBundle` verifies it, or there is no webhook.
    Trusted,
    /// The `caBundle`s of these webhooks do not.
    Untrusted(Vec<String>),
    /// The certificate has expired and was not replaced.
    Ended,
    /// The webhook configurations cannot be read. The last result stays valid.
    Unknown(String),
}

pub(super) async fn watch<N>(
    client: Client,
    interval: Duration,
    provider: Arc<CryptoProvider>,
    resolver: Arc<CertResolver>,
    mut notice: N,
) where
    N: FnMut(Trust) + Send,
{
    let mut last = None;
    let mut watch = Watch::new(&client);
    // The configurations that were read last. While the watch works, they are read again only after a change.
    let mut read = None;
    loop {
        let configurations = match read.take().filter(|_| watch.is_at_work()) {
            Some(known) => Ok(known),
            None => webhook_config::read(&client).await,
        };
        let trust = match (resolver.current(), &configurations) {
            (None, _) => None,
            // No `caBundle` verifies it then, so the bundles say nothing.
            (Some(key), _) if has_ended(&key, UnixTime::now()) => Some(Trust::Ended),
            (Some(_), Err(error)) => Some(Trust::Unknown(crate::telemetry::chain(error))),
            (Some(key), Ok(configurations)) => Some(trust_in(&key, configurations, &provider)),
        };
        let trusted = trust == Some(Trust::Trusted);
        if matches!(trust, Some(Trust::Untrusted(_) | Trust::Ended)) {
            resolver.report_untrusted();
        }
        if last != trust {
            last.clone_from(&trust);
            trust.into_iter().for_each(&mut notice);
        }
        let pause = interval.min(if trusted {
            TRUSTED_INTERVAL
        } else {
            UNTRUSTED_INTERVAL
        });
        // While the certificate is not trusted, the configurations are read each time.
        read = configurations.ok().filter(|_| trusted);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            // A new certificate may be untrusted.
            () = resolver.replaced() => {}
            () = watch.changed() => read = None,
        }
    }
}

fn trust_in(
    key: &CertifiedKey,
    configurations: &[Configuration],
    provider: &Arc<CryptoProvider>,
) -> Trust {
    let now = UnixTime::now();
    let hooks = configurations.iter().flat_map(|it| &it.hooks);
    let untrusting = hooks.filter(|hook| {
        let name = hook.name.as_ref();
        !name.is_some_and(|name| verified(key, &hook.bundle, name, now, provider))
    });
    let untrusting: Vec<String> = untrusting.map(|hook| hook.webhook.clone()).collect();
    if untrusting.is_empty() {
        Trust::Trusted
    } else {
        Trust::Untrusted(untrusting)
    }
}

/// Whether the certificate has expired. False if it cannot be parsed: then it is not served anyway.
fn has_ended(key: &CertifiedKey, now: UnixTime) -> bool {
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let leaf = key.cert.first().and_then(|leaf| validity(leaf).ok());
    leaf.is_some_and(|leaf| leaf.not_after < seconds)
}

/// Whether a client that trusts only these CAs and connects to this name accepts the certificate. The API server is
/// written in Go, which also checks the validity period of the CA.
pub(super) fn verified(
    key: &CertifiedKey,
    cas: &[CertificateDer<'static>],
    name: &ServerName<'_>,
    now: UnixTime,
    provider: &Arc<CryptoProvider>,
) -> bool {
    let mut roots = RootCertStore::empty();
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let lives = |certificate: &&CertificateDer<'_>| {
        validity(certificate).is_ok_and(|it| it.not_before <= seconds && seconds <= it.not_after)
    };
    roots.add_parsable_certificates(cas.iter().filter(lives).cloned());
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

    use futures::FutureExt as _;
    use k8s_openapi::ByteString;
    use rcgen::{CertifiedKey, KeyPair};
    use serde_json::json;
    use tokio::sync::mpsc::unbounded_channel;
    use tokio::time::Instant;

    use super::{Trust, UnixTime, has_ended, watch};
    use crate::fake_api::{api_server, failure};
    use crate::tls::cert_resolver::CertResolver;
    use crate::tls::pair::Pair;

    const NAME: &str = "mooring-webhook.mooring-system.svc";

    fn pair() -> CertifiedKey<KeyPair> {
        rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap()
    }

    fn serve(resolver: &CertResolver, pair: &CertifiedKey<KeyPair>) {
        let (certificate, key) = (pair.cert.pem(), pair.signing_key.serialize_pem());
        let pair = Pair::new(certificate.into_bytes(), key.into_bytes());
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let usable = pair.check(std::path::Path::new("tls"), &provider).unwrap();
        resolver.replace(usable.key);
    }

    #[test]
    fn a_certificate_that_has_ended_is_known_without_the_api_server() {
        let resolver = CertResolver::default();
        serve(&resolver, &pair());
        let key = resolver.current().unwrap();
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        // A certificate of rcgen is valid until the year 4096.
        assert!(!has_ended(&key, at(1_800_000_000)));
        assert!(has_ended(&key, at(70_000_000_000)));
    }

    /// An API server whose webhook configurations have this certificate as `caBundle`.
    fn trusting(pair: &CertifiedKey<KeyPair>) -> kube::Client {
        let bundle = ByteString(pair.cert.pem().into_bytes());
        api_server(move |_, path, _| {
            let service = json!({"name": "mooring-webhook", "namespace": "mooring-system"});
            let hook = json!({"name": "pods.ip.wgtwo.com", "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": service, "caBundle": bundle}});
            if path.ends_with("webhookconfigurations") {
                return failure(403);
            }
            assert!(path.ends_with("webhookconfigurations/mooring"), "{path}");
            (
                200,
                json!({"metadata": {"name": "mooring"}, "webhooks": [hook]}),
            )
        })
    }

    #[tokio::test(start_paused = true)]
    async fn the_trust_in_a_new_certificate_is_checked_at_once() {
        let (trusted, foreign) = (pair(), pair());
        let client = trusting(&trusted);
        let resolver = Arc::new(CertResolver::default());
        let (sender, mut receiver) = unbounded_channel();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let (interval, notice) = (Duration::from_hours(1), move |trust| {
            sender.send(trust).unwrap();
        });
        serve(&resolver, &trusted);
        let task = tokio::spawn(watch(
            client,
            interval,
            provider,
            Arc::clone(&resolver),
            notice,
        ));
        assert_eq!(receiver.recv().await, Some(Trust::Trusted));
        let begin = Instant::now();
        serve(&resolver, &foreign);
        let both = vec!["pods.ip.wgtwo.com".to_owned(); 2];
        assert_eq!(receiver.recv().await, Some(Trust::Untrusted(both)));
        assert_eq!(begin.elapsed(), Duration::ZERO, "it was not waited for");
        task.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn an_expired_certificate_is_reported_as_that_and_is_to_be_replaced() {
        let signing_key = KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec![NAME.to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        let cert = params.self_signed(&signing_key).unwrap();
        let expired = CertifiedKey { cert, signing_key };
        let unreadable = api_server(|_, _, _| failure(403));
        for client in [trusting(&expired), unreadable] {
            let resolver = Arc::new(CertResolver::default());
            let (sender, mut receiver) = unbounded_channel();
            let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
            serve(&resolver, &expired);
            let (interval, notice) = (Duration::from_hours(1), move |trust| {
                sender.send(trust).unwrap();
            });
            let task = tokio::spawn(watch(
                client,
                interval,
                provider,
                Arc::clone(&resolver),
                notice,
            ));
            assert_eq!(receiver.recv().await, Some(Trust::Ended));
            assert_eq!(resolver.untrusted().now_or_never(), Some(()));
            task.abort();
        }
    }
}
