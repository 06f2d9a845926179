//! Reads and writes the Secret of the certificate. Each write is guarded by the version that was read.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;

use super::key_material::KeyMaterial;
use super::options::Options;
use crate::api::request::in_time;
use crate::tls::error::{Error, SelfManagedError, UnusableSecret};
use crate::tls::pair::Usable;

/// The type of a Secret that Mooring creates.
const TYPE: &str = "kubernetes.io/tls";

/// The version of the Secret that a write replaces.
#[derive(Clone, Debug)]
pub(super) struct Version {
    resource: Option<String>,
    /// The type of the Secret. A Secret that was created by others can have another type, which cannot be changed.
    kind: Option<String>,
}

/// The usable contents of a Secret.
pub(super) struct SecretContents {
    pub kept: KeyMaterial,
    pub usable: Usable,
    /// The next pair. None: there is none that can be served.
    pub next: Option<Arc<CertifiedKey>>,
}

impl SecretContents {
    /// The certificates to publish, the newest first.
    pub fn certificates(&self) -> Vec<CertificateDer<'static>> {
        let keys = self.next.iter().chain([&self.usable.key]);
        keys.filter_map(|key| key.cert.first().cloned()).collect()
    }
}

fn api(client: &Client, options: &Options) -> Api<Secret> {
    Api::namespaced(client.clone(), &options.namespace)
}

/// Reads the Secret. None: it does not exist.
pub(super) async fn read(
    client: &Client,
    options: &Options,
    provider: &CryptoProvider,
) -> Result<Option<(Version, Result<SecretContents, UnusableSecret>)>, Error> {
    let name = &options.secret;
    let read = in_time(api(client, options).get_opt(name)).await;
    let read = read
        .map_err(|source| SelfManagedError::kubernetes(format!("reading Secret {name}"), source))?;
    Ok(read.map(|secret| {
        let version = Version {
            resource: secret.metadata.resource_version,
            kind: secret.type_,
        };
        let data = secret.data.unwrap_or_default();
        (version, usable(name, &data, provider))
    }))
}

/// Parses the contents. Contents that cannot be served are replaced, because nothing else would repair them.
fn usable(
    name: &str,
    data: &BTreeMap<String, ByteString>,
    provider: &CryptoProvider,
) -> Result<SecretContents, UnusableSecret> {
    let kept = KeyMaterial::read(data)?;
    let usable = kept.pair.check(Path::new(name), provider);
    let usable = usable.map_err(|error| UnusableSecret::Pair(Box::new(error)))?;
    let next = kept.next.as_ref();
    let next = next.and_then(|next| next.check(Path::new(name), provider).ok());
    let next = next.map(|usable| usable.key);
    Ok(SecretContents { kept, usable, next })
}

/// Creates the Secret, or replaces this version of it. If another replica was faster, nothing is written, and the next
/// observation shows its result.
pub(super) async fn write(
    client: &Client,
    options: &Options,
    replaced: Option<Version>,
    kept: &KeyMaterial,
) -> Result<(), Error> {
    let name = &options.secret;
    let doing = format!("writing Secret {name}");
    let create = replaced.is_none();
    let replaced = replaced.unwrap_or_else(|| Version {
        resource: None,
        kind: Some(TYPE.to_owned()),
    });
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            resource_version: replaced.resource,
            labels: Some([("app.kubernetes.io/name".to_owned(), "mooring".to_owned())].into()),
            ..ObjectMeta::default()
        },
        type_: replaced.kind,
        data: Some(kept.data()),
        ..Secret::default()
    };
    let (params, secrets) = (PostParams::default(), api(client, options));
    let written = if create {
        in_time(secrets.create(&params, &secret)).await
    } else {
        in_time(secrets.replace(name, &params, &secret)).await
    };
    let written = written.map(drop).or_else(|error| late(error, &[409]));
    Ok(written.map_err(|source| SelfManagedError::kubernetes(doing, source))?)
}

/// Ignores an error with one of these codes: another replica was faster, and the next observation shows its result. 422
/// answers a patch whose `test` fails, but also the replacement of an immutable Secret, so the caller names the codes.
pub(super) fn late(error: kube::Error, codes: &[u16]) -> Result<(), kube::Error> {
    match &error {
        kube::Error::Api(status) if codes.contains(&status.code) => Ok(()),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use axum::http::Method;
    use rustls::pki_types::ServerName;
    use serde_json::{Value, json};

    use super::{Version, write};
    use crate::fake_api::{api_server, failure};
    use crate::tls::self_managed::key_material::{KeyMaterial, make};
    use crate::tls::{Lifetimes, SelfManaged};

    /// The request of a write that loses against another replica: method and body.
    async fn written(version: Option<&str>) -> (Method, Value) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let client = api_server(move |method, _, body| {
            seen.lock().unwrap().push((method.clone(), body));
            failure(409)
        });
        let hour = Duration::from_hours(1);
        let options = SelfManaged {
            namespace: "mooring-system".to_owned(),
            secret: "certificate".to_owned(),
            interval: hour,
            lifetimes: Lifetimes {
                certificate: hour,
                settling: hour,
                overlap: hour,
            },
        };
        let name = ServerName::try_from("localhost").unwrap();
        let pair = make(&[name], hour, 0).unwrap();
        let kept = KeyMaterial { pair, next: None };
        let version = version.map(|version| Version {
            resource: Some(version.to_owned()),
            kind: Some("Opaque".to_owned()),
        });
        write(&client, &options, version, &kept).await.unwrap();
        let [asked] = asked.lock().unwrap().clone().try_into().unwrap();
        asked
    }

    #[tokio::test]
    async fn a_write_names_the_version_that_was_read() {
        let (method, secret) = written(Some("7")).await;
        let version = &secret["metadata"]["resourceVersion"];
        assert_eq!((method, version), (Method::PUT, &json!("7")));
        assert_eq!(secret["type"], "Opaque", "as it was");
        let (method, secret) = written(None).await;
        let version = &secret["metadata"]["resourceVersion"];
        assert_eq!((method, version), (Method::POST, &Value::Null));
        assert_eq!(secret["type"], "kubernetes.io/tls");
    }
}
