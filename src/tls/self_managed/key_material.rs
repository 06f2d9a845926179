//! What the Secret holds: a CA with its key, the CAs before it, and a leaf. Made with rcgen.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::ByteString;
use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData as _, SanType,
};
use rustls::pki_types::{CertificateDer, ServerName};
use time::OffsetDateTime;

use crate::tls::error::Unusable;
use crate::tls::names::{AUTHORITIES, AUTHORITY_KEY, CERTIFICATE, KEY};
use crate::tls::pair::{Pair, Validity, certificates, private_key, public_key, validity};

/// The number of CAs that are kept besides the newest.
pub(super) const OLD: usize = 2;
/// Certificates begin earlier than they are made by this time: clocks can be wrong.
pub(super) const SKEW: Duration = Duration::from_hours(24);

/// What is kept.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct KeyMaterial {
    /// The newest first; never empty.
    pub authorities: Vec<CertificateDer<'static>>,
    key: String,
    pub pair: Pair,
}

impl KeyMaterial {
    /// A new CA and a leaf by it. The CAs that are published already stay: replicas can serve certificates by them.
    pub fn new(
        names: &[ServerName<'static>],
        published: Vec<CertificateDer<'static>>,
        life: (Duration, Duration),
        now: i64,
    ) -> Result<Self, Unusable> {
        let (certificate, key) = authority(life.0, now)?;
        let mut authorities = vec![certificate];
        authorities.extend(published);
        let pair = leaf(&authorities, &key, names, life.1, now)?;
        Ok(Self {
            authorities,
            key,
            pair,
        })
    }

    /// As the Secret has it.
    pub fn read(data: &BTreeMap<String, ByteString>) -> Result<Self, Unusable> {
        let entry = |name: &'static str| {
            let found = data.get(name).filter(|bytes| !bytes.0.is_empty());
            found
                .map(|bytes| bytes.0.clone())
                .ok_or(Unusable::Missing(name))
        };
        let authorities = certificates(&entry(AUTHORITIES)?)
            .map_err(|source| Unusable::Pem(AUTHORITIES, source))?;
        let key = String::from_utf8_lossy(&entry(AUTHORITY_KEY)?).into_owned();
        let kept = Self {
            authorities,
            pair: Pair::new(entry(CERTIFICATE)?, entry(KEY)?),
            key,
        };
        let certified = public_key(kept.first()?)
            .map_err(|source| Unusable::Certificate(AUTHORITIES, source))?;
        if certified != key_pair(&kept.key)?.subject_public_key_info() {
            return Err(Unusable::Stranger);
        }
        Ok(kept)
    }

    /// As the Secret is to have it.
    pub fn data(&self) -> BTreeMap<String, ByteString> {
        let (certificate, key) = self.pair.bytes();
        [
            (AUTHORITIES, self.bundle().into_bytes()),
            (AUTHORITY_KEY, self.key.clone().into_bytes()),
            (CERTIFICATE, certificate.to_vec()),
            (KEY, key.to_vec()),
        ]
        .map(|(name, bytes)| (name.to_owned(), ByteString(bytes)))
        .into()
    }

    /// What every `caBundle` is to say.
    pub fn bundle(&self) -> String {
        self.authorities.iter().map(pem).collect()
    }

    /// Another CA, which has signed nothing yet.
    pub fn rotated(&self, life: Duration, now: i64) -> Result<Self, Unusable> {
        let (certificate, key) = authority(life, now)?;
        let mut authorities = vec![certificate];
        authorities.extend(self.authorities.iter().take(OLD).cloned());
        Ok(Self {
            authorities,
            key,
            pair: self.pair.clone(),
        })
    }

    /// With these CAs besides, which sign nothing new.
    pub fn with(&self, others: Vec<CertificateDer<'static>>) -> Self {
        let mut with = self.clone();
        for other in others {
            if !with.authorities.contains(&other) {
                with.authorities.push(other);
            }
        }
        with
    }

    /// Another leaf, by the newest CA.
    pub fn renewed(
        &self,
        names: &[ServerName<'static>],
        life: Duration,
        now: i64,
    ) -> Result<Self, Unusable> {
        Ok(Self {
            pair: leaf(&self.authorities, &self.key, names, life, now)?,
            ..self.clone()
        })
    }

    /// Without the CAs before the newest.
    pub fn without_the_old(&self) -> Self {
        Self {
            authorities: self.authorities.iter().take(1).cloned().collect(),
            ..self.clone()
        }
    }

    /// The newest CA's.
    pub fn newest(&self) -> Result<Validity, Unusable> {
        validity(self.first()?).map_err(|source| Unusable::Certificate(AUTHORITIES, source))
    }

    fn first(&self) -> Result<&CertificateDer<'static>, Unusable> {
        let first = self.authorities.first();
        first.ok_or(Unusable::Missing(AUTHORITIES))
    }
}

fn key_pair(pem: &str) -> Result<KeyPair, Unusable> {
    let key = private_key(pem.as_bytes()).map_err(|source| Unusable::Pem(AUTHORITY_KEY, source))?;
    KeyPair::try_from(&key).map_err(|_| Unusable::Key)
}

fn pem(certificate: &CertificateDer<'static>) -> String {
    pem::encode(&pem::Pem::new("CERTIFICATE", certificate.to_vec()))
}

fn moment(millis: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(millis / 1000).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

fn lasting(params: &mut CertificateParams, life: Duration, now: i64) {
    let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    params.not_before = moment(now.saturating_sub(millis(SKEW)));
    params.not_after = moment(now.saturating_add(millis(life)));
}

fn authority(life: Duration, now: i64) -> Result<(CertificateDer<'static>, String), Unusable> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    // One name each: who looks for the CA of a leaf finds one.
    params
        .distinguished_name
        .push(DnType::CommonName, format!("mooring webhook CA {now}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    lasting(&mut params, life, now);
    let certificate = params.self_signed(&key)?;
    Ok((certificate.der().clone(), key.serialize_pem()))
}

fn leaf(
    authorities: &[CertificateDer<'static>],
    authority_key: &str,
    names: &[ServerName<'static>],
    life: Duration,
    now: i64,
) -> Result<Pair, Unusable> {
    let newest = authorities.first().ok_or(Unusable::Missing(AUTHORITIES))?;
    let issuer = Issuer::from_ca_cert_der(newest, key_pair(authority_key)?)?;
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
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    lasting(&mut params, life, now);
    // It is refused once the CA has ended: it says so itself, so that it is renewed in time.
    let certifies_until = validity(newest)
        .map_err(|source| Unusable::Certificate(AUTHORITIES, source))?
        .not_after;
    params.not_after = params
        .not_after
        .min(moment(certifies_until.saturating_mul(1000)));
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(Pair::new(
        certificate.pem().into_bytes(),
        key.serialize_pem().into_bytes(),
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use k8s_openapi::ByteString;
    use rustls::pki_types::ServerName;

    use super::KeyMaterial;
    use crate::tls::error::Unusable;
    use crate::tls::pair::{Pair, certificates, validity};

    const NOW: i64 = 1_700_000_000_000;

    fn kept(authority: Duration, leaf: Duration) -> KeyMaterial {
        let name = ServerName::try_from("mooring-webhook.mooring-system.svc").unwrap();
        KeyMaterial::new(&[name], Vec::new(), (authority, leaf), NOW).unwrap()
    }

    #[test]
    fn a_leaf_does_not_outlast_its_ca() {
        let kept = kept(Duration::from_secs(20), Duration::from_mins(1));
        let leaf = certificates(kept.pair.bytes().0).unwrap().remove(0);
        let ends = kept.newest().unwrap().not_after;
        assert_eq!(ends, NOW / 1000 + 20);
        assert_eq!(validity(&leaf).unwrap().not_after, ends);
    }

    #[test]
    fn a_ca_with_the_key_of_another_signs_nothing() {
        let day = Duration::from_hours(24);
        let (mut data, other) = (kept(day, day).data(), kept(day, day).data());
        assert!(KeyMaterial::read(&data).is_ok());
        data.insert("ca.key".to_owned(), other["ca.key"].clone());
        assert!(matches!(KeyMaterial::read(&data), Err(Unusable::Stranger)));
    }

    #[test]
    fn what_is_wrong_with_a_key_does_not_quote_it() {
        let day = Duration::from_hours(24);
        let whole = kept(day, day).data();
        let text = String::from_utf8(whole["ca.key"].0.clone()).unwrap();
        let secret = text.lines().nth(1).unwrap();
        for spoil in ["", " "] {
            let mut data = whole.clone();
            let spoiled = text.replace('\n', spoil).into_bytes();
            data.insert("ca.key".to_owned(), ByteString(spoiled.clone()));
            let error = KeyMaterial::read(&data).err().unwrap();
            expect_no_trace(&error, secret);
            let pair = Pair::new(whole["tls.crt"].0.clone(), spoiled);
            let provider = rustls::crypto::aws_lc_rs::default_provider();
            let error = pair.check(Path::new("tls"), &provider).err().unwrap();
            expect_no_trace(&error, secret);
        }
    }

    /// Neither as a text nor as a list of its bytes.
    #[track_caller]
    fn expect_no_trace(error: &(dyn std::error::Error + 'static), secret: &str) {
        let said = format!("{} {error:?}", crate::telemetry::chain(error));
        let bytes: Vec<_> = secret.bytes().take(8).map(|it| it.to_string()).collect();
        assert!(!said.contains(&secret[..8]), "{said}");
        assert!(!said.contains(&bytes.join(", ")), "{said}");
    }
}
