//! The Secret that keeps the certificate: each write is guarded by the version that was read.

use std::collections::BTreeMap;
use std::path::Path;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use rustls::crypto::CryptoProvider;

use super::kept::{Kept, Unusable};
use super::{Options, kubernetes};
use crate::tls::Error;
use crate::tls::pair::Usable;

/// A Secret's version, and what it holds.
pub(super) type Found = (String, Result<(Kept, Usable), Unusable>);

fn api(client: &Client, options: &Options) -> Api<Secret> {
    Api::namespaced(client.clone(), &options.namespace)
}

/// The Secret, if there is one.
pub(super) async fn read(
    client: &Client,
    options: &Options,
    provider: &CryptoProvider,
) -> Result<Option<Found>, Error> {
    let name = &options.secret;
    let read = api(client, options).get_opt(name).await;
    let read = read.map_err(|source| kubernetes(format!("reading Secret {name}"), source))?;
    Ok(read.map(|secret| {
        let version = secret.metadata.resource_version.clone().unwrap_or_default();
        let data = secret.data.unwrap_or_default();
        (version, usable(name, &data, provider))
    }))
}

/// Whatever cannot be served, or signed with, is made anew: nobody else would mend it.
fn usable(
    name: &str,
    data: &BTreeMap<String, ByteString>,
    provider: &CryptoProvider,
) -> Result<(Kept, Usable), Unusable> {
    let kept = Kept::read(data)?;
    let usable = kept.pair.check(Path::new(name), provider);
    let usable = usable.map_err(|error| Unusable::Pair(Box::new(error)))?;
    Ok((kept, usable))
}

/// Creates the Secret, or replaces that of this version. Who is late reads what the other wrote.
pub(super) async fn write(
    client: &Client,
    options: &Options,
    version: Option<String>,
    kept: &Kept,
) -> Result<(), Error> {
    let name = &options.secret;
    let doing = format!("writing Secret {name}");
    let create = version.is_none();
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            resource_version: version,
            labels: Some([("app.kubernetes.io/name".to_owned(), "mooring".to_owned())].into()),
            ..ObjectMeta::default()
        },
        type_: Some("kubernetes.io/tls".to_owned()),
        data: Some(kept.data()),
        ..Secret::default()
    };
    let (params, secrets) = (PostParams::default(), api(client, options));
    let written = if create {
        secrets.create(&params, &secret).await
    } else {
        secrets.replace(name, &params, &secret).await
    };
    written
        .map(drop)
        .or_else(|error| late(error, &[409]))
        .map_err(|source| kubernetes(doing, source))
}

/// Another replica was faster, as these codes say: what it did is seen at the next look. A patch whose `test` does
/// not hold any more is answered 422; so is a Secret that cannot be replaced, such as an immutable one.
pub(super) fn late(error: kube::Error, codes: &[u16]) -> Result<(), kube::Error> {
    match &error {
        kube::Error::Api(status) if codes.contains(&status.code) => Ok(()),
        _ => Err(error),
    }
}
