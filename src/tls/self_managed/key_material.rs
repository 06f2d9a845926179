//! The contents of the Secret: the pair that is served and, before a change, the next pair. The certificate is
//! self-signed, and the API server trusts it directly. It is made with rcgen.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::ByteString;
use rcgen::string::Ia5String;
use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, SanType,
};
use rustls::pki_types::ServerName;
use time::OffsetDateTime;

use crate::tls::error::UnusableSecret;
use crate::tls::names::{CERTIFICATE, KEY, NEXT_CERTIFICATE, NEXT_KEY};
use crate::tls::pair::Pair;

/// Certificates are valid from this long before they are made, because clocks can be wrong.
const SKEW: Duration = Duration::from_hours(24);

/// The pairs in the Secret.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct KeyMaterial {
    /// The pair that is served.
    pub pair: Pair,
    /// The pair that is served next, after its certificate has been published for the settling time.
    pub next: Option<Pair>,
}

impl KeyMaterial {
    /// Reads the data of the Secret.
    pub fn read(data: &BTreeMap<String, ByteString>) -> Result<Self, UnusableSecret> {
        let entry = |name| data.get(name).map(|it| it.0.clone()).unwrap_or_default();
        let pair = |certificate, key| Pair::new(entry(certificate), entry(key));
        for name in [CERTIFICATE, KEY] {
            if entry(name).is_empty() {
                return Err(UnusableSecret::Missing(name));
            }
        }
        Ok(Self {
            pair: pair(CERTIFICATE, KEY),
            next: [NEXT_CERTIFICATE, NEXT_KEY]
                .iter()
                .any(|name| data.contains_key(*name))
                .then(|| pair(NEXT_CERTIFICATE, NEXT_KEY)),
        })
    }

    /// The data to write into the Secret.
    pub fn data(&self) -> BTreeMap<String, ByteString> {
        let entries = |names: [&str; 2], pair: &Pair| {
            let (certificate, key) = pair.bytes();
            let bytes = [certificate, key].map(|bytes| ByteString(bytes.to_vec()));
            names.map(str::to_owned).into_iter().zip(bytes)
        };
        let next = self.next.iter();
        let next = next.flat_map(|next| entries([NEXT_CERTIFICATE, NEXT_KEY], next));
        entries([CERTIFICATE, KEY], &self.pair)
            .chain(next)
            .collect()
    }
}

/// Makes a new pair for these names.
pub(super) fn make(
    names: &[ServerName<'static>],
    life: Duration,
    now: i64,
) -> Result<Pair, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, "mooring webhook");
    params.subject_alt_names = names
        .iter()
        .map(|name| match name {
            ServerName::IpAddress(address) => Ok(SanType::IpAddress((*address).into())),
            name => Ia5String::try_from(name.to_str().as_ref()).map(SanType::DnsName),
        })
        .collect::<Result<_, _>>()?;
    // Not a CA: a stolen key cannot sign a certificate for another name.
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    params.not_before = moment(now.saturating_sub(millis(SKEW)));
    params.not_after = moment(now.saturating_add(millis(life)));
    let certificate = params.self_signed(&key)?;
    Ok(Pair::new(
        certificate.pem().into_bytes(),
        key.serialize_pem().into_bytes(),
    ))
}

fn moment(millis: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(millis / 1000).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use rustls::crypto::aws_lc_rs::default_provider;
    use rustls::pki_types::ServerName;

    use super::{KeyMaterial, make};
    use crate::tls::error::UnusableSecret;
    use crate::tls::pair::Pair;

    const NOW: i64 = 1_700_000_000_000;

    fn pair() -> Pair {
        let name = ServerName::try_from("mooring-webhook.mooring-system.svc").unwrap();
        make(&[name], Duration::from_mins(1), NOW).unwrap()
    }

    #[test]
    fn a_certificate_lasts_as_long_as_was_asked_for_and_a_day_before() {
        let usable = pair().check(Path::new("tls"), &default_provider()).unwrap();
        assert_eq!(usable.not_after, NOW / 1000 + 60);
        let leaf = usable.key.cert.first().unwrap();
        let begins = crate::tls::pair::validity(leaf).unwrap().not_before;
        assert_eq!(begins, NOW / 1000 - 24 * 60 * 60);
    }

    #[test]
    fn written_key_material_is_read_again() {
        for next in [None, Some(pair())] {
            let kept = KeyMaterial { pair: pair(), next };
            assert!(KeyMaterial::read(&kept.data()).unwrap() == kept);
            let mut data = kept.data();
            data.remove("tls.key");
            let error = KeyMaterial::read(&data).err().unwrap();
            assert!(
                matches!(error, UnusableSecret::Missing("tls.key")),
                "{error}"
            );
        }
    }

    #[test]
    fn an_error_about_a_key_does_not_quote_it() {
        let whole = pair();
        let text = String::from_utf8(whole.bytes().1.to_vec()).unwrap();
        let secret = text.lines().nth(1).unwrap();
        for spoil in ["", " "] {
            let spoiled = text.replace('\n', spoil).into_bytes();
            let pair = Pair::new(whole.bytes().0.to_vec(), spoiled);
            let error = pair.check(Path::new("tls"), &default_provider());
            expect_no_trace(&error.err().unwrap(), secret);
        }
    }

    /// Checks that the error contains the secret neither as text nor as a list of bytes.
    #[track_caller]
    fn expect_no_trace(error: &(dyn std::error::Error + 'static), secret: &str) {
        let text = format!("{} {error:?}", crate::telemetry::chain(error));
        let bytes: Vec<_> = secret.bytes().take(8).map(|it| it.to_string()).collect();
        assert!(!text.contains(&secret[..8]), "{text}");
        assert!(!text.contains(&bytes.join(", ")), "{text}");
    }
}
